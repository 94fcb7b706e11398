"""``evalward audit``: query the audit log, and verify that it is unchanged."""

import json
from hashlib import sha256
from typing import Annotated

import typer

from evalward.audit.fingerprint import fingerprint, fnv1a
from evalward.audit.line_schema import audit_schema
from evalward.cli.audit_options import Key
from evalward.cli.audit_query import query_command, summary_command, tail_command
from evalward.cli.audit_report import report_command
from evalward.cli.audit_verify import head_command, verify_command
from evalward.cli.payload import read_payload

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Query the audit log, and verify that it is unchanged.",
)


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


def schema_command() -> None:
    """Print the JSON Schema of a record."""
    typer.echo(json.dumps(audit_schema(), indent=2))


app.command("verify")(verify_command)
app.command("head")(head_command)
app.command("hash")(hash_command)
app.command("tail")(tail_command)
app.command("query")(query_command)
app.command("summary")(summary_command)
app.command("report")(report_command)
app.command("schema")(schema_command)
