"""``evalward policy suggest``: exceptions drafted from an audit log."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from evalward.policy import utc_day
from evalward.policy.suggest import drafts

USAGE = 2


def policy_suggest(
    log: Annotated[Path, typer.Argument(help="An audit log (JSON Lines).", dir_okay=False, exists=True)],
    *,
    least: Annotated[int, typer.Option(min=1, help="Leave out what was denied less often.")] = 1,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long the drafts hold.")] = 90,
) -> None:
    """Print a section of exceptions with an entry for each payload that LOG says was denied.

    Nobody has vetted these payloads: look each one up by its hash, read it, and write down who did and why.

    Exit code: 0, 2 usage or a log that cannot be read.

    \b
    Example:
      evalward policy suggest audit.jsonl --least 10
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    found = drafts(_records(log), least=least)
    if not found:
        typer.echo("no payload was denied for what an exception can permit", err=True)
        return
    expires = (utc_day() + timedelta(days=days)).isoformat()
    entries = []
    for draft in found:
        text = yaml.safe_dump([draft.as_yaml_data(expires)], sort_keys=False, default_flow_style=False)
        entries.append(f"# denied {draft.count} times\n{text}")
    typer.echo("exceptions:\n" + "".join(entries), nl=False)


def _records(log: Path) -> Iterator[dict[str, Any]]:
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError:
                typer.echo(f"line {number} is no record and is left out", err=True)
                continue
            if isinstance(record, dict):
                yield record
