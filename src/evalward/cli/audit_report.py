"""``evalward audit report``: one file for those who sign for a deployment."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evalward.audit import AuditKey
from evalward.audit.activity import Activity
from evalward.audit.chain import Head
from evalward.audit.files import LogFile
from evalward.audit.read import matching, records
from evalward.audit.report.facts import Facts, facts_of
from evalward.audit.report.proof import Proof, proof_of, unverified
from evalward.audit.verification_result import KeyMissingError
from evalward.audit.verify import verify
from evalward.cli.audit_options import Files, Key, Since, failure, head_option, read_logs
from evalward.errors import CodedError
from evalward.policy import load_policy


def report_command(  # noqa: PLR0913 - one parameter per option
    files: Files = None,
    *,
    begin: Since = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="Write HTML; - is standard output.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--md", metavar="OUT", help="Write Markdown; - is standard output.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="The policy file: it has the owner and the end of each exception.")
    ] = None,
    audit_key: Key = None,
    expect_head: Annotated[
        list[Head] | None,
        typer.Option(parser=head_option, metavar="HEAD", help="A head kept elsewhere; repeatable."),
    ] = None,
) -> None:
    """Report a period: denials over time, tools, exceptions, gaps, and what the chain proves.

    The whole log is verified; the figures are those of the records since --since.

    Exit code: 0 written, 1 written, but the log is not whole, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward audit report --since 30d --html report.html --policy policy.yaml --audit-key audit.key
      evalward audit report audit.jsonl* --md -
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if html is None and markdown is None:
        raise typer.BadParameter("give --html OUT, --md OUT, or both")
    try:
        exceptions = None if policy is None else load_policy(policy).exceptions
    except CodedError as error:
        raise failure(f"{error.code}: {error.message}") from None
    read = read_logs(files)
    activity, proof = _read(read, audit_key, expect_head or (), begin)
    facts = facts_of(
        activity,
        proof,
        files=[Path(file.name).name for file in read],
        now=datetime.now(UTC),
        begin=begin,
        exceptions=exceptions,
    )
    _write(facts, html, markdown)
    if proof.whole is False:
        raise typer.Exit(1)


def _read(
    files: Sequence[LogFile], key: AuditKey | None, heads: Sequence[Head], begin: datetime | None
) -> tuple[Activity, Proof]:
    """Return the activity of the period and the state of the chain; a whole log is read once."""
    activity = Activity()

    def seen(record: dict[str, object]) -> None:
        for each in matching((record,), {}, begin=begin):
            activity.add(each)

    try:
        found = verify(files, key=key, expect_heads=heads, seen=seen)
        if found.fault is None:
            return activity, proof_of(found, heads_given=bool(heads))
        proof = proof_of(found, heads_given=bool(heads))
    except KeyMissingError as missing:
        proof = unverified(missing.key_id)
    activity = Activity()
    for file in files:
        for record in records(file.lines()):
            seen(record)
    return activity, proof


def _write(facts: Facts, html: Path | None, markdown: Path | None) -> None:
    from evalward.audit.report.markdown import markdown as as_markdown  # noqa: PLC0415 - only needed here
    from evalward.audit.report.page import page  # noqa: PLC0415

    for path, render in ((html, page), (markdown, as_markdown)):
        if path is None:
            continue
        text = render(facts)
        if str(path) == "-":
            typer.echo(text, nl=False)
            continue
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise failure(f"cannot write {path}: {error.strerror}") from None
