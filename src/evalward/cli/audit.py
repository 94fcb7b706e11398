"""``evalward audit``: what became of the payloads, and whether the log is still what the service wrote."""

import json
import resource
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from evalward.audit import load_key
from evalward.audit.chain import Head
from evalward.audit.files import LogFile, read_files
from evalward.audit.fingerprint import fingerprint, fnv1a
from evalward.audit.key import AuditKey
from evalward.audit.line_schema import audit_schema
from evalward.audit.read import matching, records, since, summary
from evalward.audit.verification_result import Findings, KeyMissingError
from evalward.audit.verify import verify
from evalward.cli import filters
from evalward.cli.audit_place import default_audit_log
from evalward.cli.payload import read_payload
from evalward.errors import CodedError

FAULTY = 1
INFRASTRUCTURE_FAILURE = 3
FOLLOW_SECONDS = 0.2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What became of the payloads, and whether the log is still what the service wrote.",
)


def _age(text: str) -> datetime:
    try:
        return since(text, now=datetime.now(UTC))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither an age such as 24h nor a time such as 2026-11-22T08:00:00Z"
        ) from None


def _head(text: str) -> Head:
    try:
        return Head.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _key(path: str) -> AuditKey:
    try:
        return load_key(path)
    except CodedError as error:
        raise _failed(error.message) from None


Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="The log and the files set aside from it, in any order; default: the log of `evalward serve`.",
    ),
]
Key = Annotated[
    AuditKey | None,
    typer.Option("--audit-key", parser=_key, metavar="FILE", envvar="EVALWARD_AUDIT_KEY", help="Its key."),
]
Since = Annotated[
    datetime | None,
    typer.Option("--since", parser=_age, metavar="AGE|TIME", help="30s, 15m, 24h, 7d, or RFC 3339."),
]


@app.command("verify")
def verify_command(
    files: Files = None,
    *,
    audit_key: Key = None,
    expect_head: Annotated[
        list[Head] | None,
        typer.Option(
            parser=_head, metavar="HEAD", help="A head kept elsewhere, which must be in the log; repeatable."
        ),
    ] = None,
    start_head: Annotated[
        Head | None,
        typer.Option(parser=_head, metavar="HEAD", help="The head of files that are no longer there."),
    ] = None,
) -> None:
    """Check every record and the chain between them. Exit code: 0 whole, 1 not, 3 cannot tell.

    The first bad line is named as FILE:LINE, and what was done there: edited, inserted, removed, reordered,
    truncated; unfinished is a chain that another one follows though it has no stop record. Records cut off at the
    very end show only against a head that was kept elsewhere.

    \b
    Examples:
      evalward audit verify
      evalward audit verify audit.jsonl* --audit-key audit.key --expect-head "$(cat kept-head)"
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        found = verify(_read(files), key=audit_key, expect_heads=expect_head or (), start_head=start_head)
    except KeyMissingError as missing:
        raise _failed(f"{missing}: --audit-key FILE") from None
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


@app.command("head")
def head_command(files: Files = None) -> None:
    """Print the head of the log, to be kept where who can write the log cannot.

    \b
    Examples:
      evalward audit head audit.jsonl > kept-head
    """  # noqa: D301 - as above
    ends = (file.last() for file in reversed(_read(files)))
    last = next((line for line in ends if line is not None), None)
    if last is None:
        raise _failed("the log has no record")
    typer.echo(str(last.head))


@app.command("hash")
def hash_command(
    file: Annotated[str | None, typer.Argument(metavar="[FILE | -]", help="The payload's file.")] = None,
    *,
    code: Annotated[str | None, typer.Option("-e", "--code", help="The payload itself.")] = None,
    audit_key: Key = None,
) -> None:
    """Print the digests under which a log names a payload: SHA-256, keyed with a key, and FNV-1a.

    \b
    Examples:
      evalward audit hash payload.js --audit-key audit.key
      evalward audit query --code-hash "$(evalward audit hash payload.js | awk '/^sha256/ {print $2}')"
    """  # noqa: D301 - as above
    payload = read_payload(file, code)
    digest = sha256(payload).hexdigest()
    typer.echo(f"sha256 {digest}")
    if audit_key is not None:
        keyed = fingerprint(digest, payload, key=audit_key)
        typer.echo(f"{keyed.hash_alg} {keyed.code_hash}")
    typer.echo(f"fnv1a32 {fnv1a(payload)}")


@app.command("tail")
def tail_command(
    files: Files = None,
    *,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many records.")] = 10,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what is appended.")] = False,
) -> None:
    """Print the last records as they are.

    \b
    Examples:
      evalward audit tail -n 3
      evalward audit tail -f audit.jsonl
    """  # noqa: D301 - as above
    read = _read(files)
    for record in deque(_records(read), maxlen=lines):
        _print(record)
    if follow and read:
        for record in _appended(Path(read[-1].name), read[-1].size):
            _print(record)


@app.command("query")
def query_command(  # noqa: PLR0913 - one parameter per option
    files: Files = None,
    *,
    begin: Since = None,
    kind: Annotated[
        str | None,
        typer.Option(parser=filters.kind, metavar="KIND", help="Such as decision, evaluation, gap."),
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(
            parser=filters.outcome, metavar="OUTCOME", help="allow, deny, error, completed, failed."
        ),
    ] = None,
    code: Annotated[
        str | None, typer.Option(parser=filters.code, metavar="CODE", help="A code of the registry.")
    ] = None,
    construct: Annotated[
        str | None,
        typer.Option(parser=filters.construct, metavar="LABEL", help="A label of the catalogue."),
    ] = None,
    keyword: Annotated[str | None, typer.Option(help="The id of a keyword.")] = None,
    shadow: Annotated[
        str | None,
        typer.Option(parser=filters.shadow, metavar="LABEL", help="A construct that would have blocked."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(parser=filters.target, metavar="TARGET", help="main, renderer, node, sandbox."),
    ] = None,
    tool: Annotated[str | None, typer.Option(help="A tool's name.")] = None,
    session: Annotated[str | None, typer.Option(help="A session id.")] = None,
    principal: Annotated[str | None, typer.Option(help="Such as cert:dispatcher or token:3f0c...")] = None,
    trace_id: Annotated[
        str | None,
        typer.Option(parser=filters.hex_digits(32), metavar="HEX", help="As in the caller's traceparent."),
    ] = None,
    decision_id: Annotated[
        str | None,
        typer.Option(parser=filters.hex_digits(32), metavar="HEX", help="As the reply gives it."),
    ] = None,
    code_hash: Annotated[
        str | None,
        typer.Option(
            parser=filters.hex_digits(64), metavar="HEX", help="As `evalward audit hash` prints it."
        ),
    ] = None,
    fnv1a32: Annotated[
        str | None,
        typer.Option(parser=filters.hex_digits(8), metavar="HEX", help="As `evalward audit hash` prints it."),
    ] = None,
) -> None:
    """Print the records that have all of the given values. A value that no record can have is a usage error.

    \b
    Examples:
      evalward audit query --since 24h --outcome deny --construct process.exit
      evalward audit query audit.jsonl* --decision-id 3f0c... | jq .code
    """  # noqa: D301 - as above
    asked = {
        "kind": kind,
        "outcome": outcome,
        "code": code,
        "construct": construct,
        "keyword": keyword,
        "shadow": shadow,
        "target": target,
        "tool": tool,
        "session": session,
        "principal": principal,
        "trace_id": trace_id,
        "decision_id": decision_id,
        "code_hash": code_hash,
        "fnv1a32": fnv1a32,
    }
    wanted = {name: value for name, value in asked.items() if value is not None}
    for record in matching(_records(_read(files)), wanted, begin=begin):
        _print(record)


@app.command("summary")
def summary_command(files: Files = None, *, begin: Since = None) -> None:
    """Print counts as one JSON object: decisions, what denied them, what would have, and the service's life.

    \b
    Examples:
      evalward audit summary --since 24h
    """  # noqa: D301 - as above
    found = matching(_records(_read(files)), {}, begin=begin)
    typer.echo(json.dumps(summary(found), indent=2))


@app.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of a record."""
    typer.echo(json.dumps(audit_schema(), indent=2))


def _read(files: list[Path] | None) -> list[LogFile]:
    # Each file stays open, so that a rotation meanwhile changes nothing; a log may have more than the usual 1,024.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        return read_files(files or [default_audit_log()])
    except OSError as error:
        hint = (
            ""
            if files
            else "; this is the log of `evalward serve` without --audit-log, name another one as FILE"
        )
        raise _failed(f"cannot read {error.filename}: {error.strerror}{hint}") from None


def _records(files: Iterable[LogFile]) -> Iterator[dict[str, Any]]:
    return (record for file in files for record in records(file.lines()))


def _appended(path: Path, position: int) -> Iterator[dict[str, Any]]:
    """Yield what is appended to the file from ``position`` on, until the command is interrupted."""
    with path.open("rb") as stream:
        stream.seek(position)
        rest = b""
        while True:
            whole, newline, rest = (rest + stream.read()).rpartition(b"\n")
            yield from records((whole + newline).splitlines())
            time.sleep(FOLLOW_SECONDS)


def _print(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _failed(text: str) -> typer.Exit:
    typer.echo(f"evalward audit: {text}", err=True)
    return typer.Exit(INFRASTRUCTURE_FAILURE)
