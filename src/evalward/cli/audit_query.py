"""``evalward audit tail``, ``query`` and ``summary``: read the records of a log."""

import json
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from evalward.audit.files import LogFile
from evalward.audit.read import matching, records, summary
from evalward.cli import filters
from evalward.cli.audit_options import Files, Since, read_logs

FOLLOW_SECONDS = 0.2


def tail_command(
    files: Files = None,
    *,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many records.")] = 10,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing appended records.")] = False,
) -> None:
    """Print the last records unchanged.

    \b
    Examples:
      evalward audit tail -n 3
      evalward audit tail -f audit.jsonl
    """  # noqa: D301 - as above
    read = read_logs(files)
    for record in deque(_records(read), maxlen=lines):
        _print(record)
    if follow and read:
        for record in _appended(Path(read[-1].name), read[-1].size):
            _print(record)


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
        typer.Option(
            parser=filters.shadow, metavar="LABEL", help="A construct that would have been blocked."
        ),
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
        typer.Option(
            parser=filters.hex_digits(32), metavar="HEX", help="The trace id of the caller's traceparent."
        ),
    ] = None,
    decision_id: Annotated[
        str | None,
        typer.Option(parser=filters.hex_digits(32), metavar="HEX", help="The decision id of the reply."),
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
    for record in matching(_records(read_logs(files)), wanted, begin=begin):
        _print(record)


def summary_command(files: Files = None, *, begin: Since = None) -> None:
    """Print counts as one JSON object: decisions, their reasons, audited findings, and events of the service.

    \b
    Examples:
      evalward audit summary --since 24h
    """  # noqa: D301 - as above
    found = matching(_records(read_logs(files)), {}, begin=begin)
    typer.echo(json.dumps(summary(found), indent=2))


def _records(files: Iterable[LogFile]) -> Iterator[dict[str, Any]]:
    return (record for file in files for record in records(file.lines()))


def _appended(path: Path, position: int) -> Iterator[dict[str, Any]]:
    """Yield the records appended to the file after ``position``, until the command is interrupted."""
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
