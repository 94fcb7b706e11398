"""``evalward policy suggest``: exceptions drafted from an audit log."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from evalward.audit.key import AuditKey, load_key
from evalward.cli.exit_codes import USAGE
from evalward.errors import CodedError
from evalward.policy import utc_day
from evalward.policy.suggest import suggestion

KEYED = "hmac-sha256:"


def _key(path: str) -> AuditKey:
    try:
        return load_key(path)
    except CodedError as error:
        raise typer.BadParameter(error.message) from None


def policy_suggest(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Audit logs (JSON Lines).", dir_okay=False, exists=True),
    ],
    *,
    least: Annotated[int, typer.Option(min=1, help="The least number of denials for a draft.")] = 1,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long the drafts are valid.")] = 90,
    audit_key: Annotated[
        AuditKey | None,
        typer.Option(
            parser=_key, metavar="FILE", envvar="EVALWARD_AUDIT_KEY", help="The log's key, if it has one."
        ),
    ] = None,
    payloads: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Payloads, or folders of them, for a log with a key. Repeatable."),
    ] = None,
) -> None:
    """Print a section of exceptions with an entry for each payload that was denied according to a LOG.

    These payloads are not vetted: look each one up by its hash, read it, and fill in owner and reason.

    A log with a key names payloads by a keyed hash, an exception by the SHA-256. The payloads themselves connect the
    two: give them with --payloads, such as the folder in which a client keeps denied payloads, and the key.

    Exit code: 0, 2 usage or a log that cannot be read.

    \b
    Examples:
      evalward policy suggest audit.jsonl --least 10
      evalward policy suggest audit.jsonl* --audit-key audit.key --payloads triage/
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    known = {} if audit_key is None else _known(audit_key, payloads or [])
    found = suggestion((record for log in logs for record in _records(log)), least=least, known=known)
    for algorithm, hashes in found.unnamed.items():
        typer.echo(_unnamed(algorithm, len(hashes), audit_key), err=True)
    if not found.drafts:
        typer.echo("no payload was found that an exception can permit", err=True)
        if found.unnamed:
            raise typer.Exit(USAGE)
        return
    expires = (utc_day() + timedelta(days=days)).isoformat()
    entries = []
    for draft in found.drafts:
        text = yaml.safe_dump([draft.as_yaml_data(expires)], sort_keys=False, default_flow_style=False)
        entries.append(f"# denied {draft.count} times\n{text}")
    typer.echo("exceptions:\n" + "".join(entries), nl=False)


def _unnamed(algorithm: str, count: int, key: AuditKey | None) -> str:
    """Report payloads that cannot be drafted, and what is missing."""
    what = f"{count} denied payload{'s' * (count > 1)}"
    if key is None:
        return (
            f"{what}: the log names them under the key {algorithm.removeprefix(KEYED)}, and an exception needs the "
            "SHA-256; give --audit-key FILE and --payloads FOLDER, with the payloads themselves"
        )
    if algorithm != f"{KEYED}{key.id}":
        return f"{what}: the log names them under {algorithm}, and --audit-key has the id {key.id}"
    return f"{what}: not in --payloads, so that their SHA-256 is not known"


def _known(key: AuditKey, payloads: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each payload by its keyed hash."""
    known = {}
    for place in payloads:
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            if file.is_file():
                try:
                    with file.open("rb") as stream:
                        digest = hashlib.file_digest(stream, "sha256")
                except OSError as error:
                    raise typer.BadParameter(f"{file}: {error.strerror}") from None
                known[key.payload_hash(digest.digest())] = digest.hexdigest()
    return known


def _records(log: Path) -> Iterator[dict[str, Any]]:
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError:
                typer.echo(f"{log}: line {number} is not a record and is skipped", err=True)
                continue
            if isinstance(record, dict):
                yield record
