"""``evalward audit verify`` and ``head``: check the chain of a log, and keep its head elsewhere."""

from typing import Annotated

import typer

from evalward.audit.chain import Head
from evalward.audit.verification_result import Findings, KeyMissingError
from evalward.audit.verify import verify
from evalward.cli.audit_options import Files, Key, failure, head_option, read_logs

FAULTY = 1


def verify_command(
    files: Files = None,
    *,
    audit_key: Key = None,
    expect_head: Annotated[
        list[Head] | None,
        typer.Option(
            parser=head_option,
            metavar="HEAD",
            help="A head kept elsewhere, which must be in the log; repeatable.",
        ),
    ] = None,
    start_head: Annotated[
        Head | None,
        typer.Option(parser=head_option, metavar="HEAD", help="The head of older files that were removed."),
    ] = None,
) -> None:
    """Check every record and the chain between them. Exit code: 0 intact, 1 not intact, 3 not verifiable.

    The first bad line is printed as FILE:LINE, with its fault: edited, inserted, removed, reordered, truncated;
    unfinished is a chain without a stop record that another one follows. Records cut off at the very end are detected
    only with a head that was kept elsewhere.

    \b
    Examples:
      evalward audit verify
      evalward audit verify audit.jsonl* --audit-key audit.key --expect-head "$(cat kept-head)"
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        found = verify(read_logs(files), key=audit_key, expect_heads=expect_head or (), start_head=start_head)
    except KeyMissingError as missing:
        raise failure(f"{missing}: --audit-key FILE") from None
    if found.fault is not None:
        typer.echo(f"{found.place}: {found.fault}: {found.text}")
        raise typer.Exit(FAULTY)
    typer.echo(_whole(found))


def _whole(found: Findings) -> str:
    parts = [
        f"whole: {found.records} records in {len(found.chains)} chain{'s' * (len(found.chains) != 1)}",
        f"{found.torn} torn lines recovered",
        f"{found.gaps} gaps",
        f"{found.integrity}",
    ]
    heads = "".join(f"\nhead {head}" for head in found.chains)
    return ", ".join(parts) + heads


def head_command(files: Files = None) -> None:
    """Print the head of the log, to be kept where writers of the log have no access.

    \b
    Examples:
      evalward audit head audit.jsonl > kept-head
    """  # noqa: D301 - as above
    ends = (file.last() for file in reversed(read_logs(files)))
    last = next((line for line in ends if line is not None), None)
    if last is None:
        raise failure("the log has no record")
    typer.echo(str(last.head))
