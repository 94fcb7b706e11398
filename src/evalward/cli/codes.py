"""``evalward codes``: the registry of codes as a table, JSON or Markdown."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from evalward.errors import REGISTRY, ErrorRow

SCHEMA_VERSION = 1


def codes(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every field.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/reference/codes.md.")] = False,
) -> None:
    """List every code of Evalward, with the actions that a caller can take.

    \b
    Examples:
      evalward codes
      evalward codes --json
      evalward codes --markdown > docs/reference/codes.md
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if as_json:
        document = {
            "schema": {"errorCodes": SCHEMA_VERSION},
            "codes": [row.as_json() for row in REGISTRY.values()],
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    if as_markdown:
        typer.echo(markdown(), nl=False)
        return
    table = Table("number", Column("code", no_wrap=True), "http", "retry", "hint")
    for row in REGISTRY.values():
        table.add_row(
            str(row.number),
            str(row.code),
            str(row.http),
            "yes" if row.retryable else "no",
            row.hint,
        )
    Console(highlight=False).print(table)


def markdown() -> str:
    """Return ``docs/reference/codes.md``: the table, and what a caller can do about each code."""
    rows = sorted(REGISTRY.values(), key=lambda row: row.number)
    table = [
        f"| {row.number} | [`{row.code}`](#{row.code.lower()}) | {row.domain} | {row.category} | {row.cause}"
        f" | {row.http} | {row.grpc_status or ''} | {'yes' if row.retryable else 'no'} |"
        for row in rows
    ]
    return "\n".join([_HEAD, *table, "", *(_section(row) for row in rows)])


_HEAD = """# Codes

Every code that Evalward answers with. This page is generated from `src/evalward/errors/registry.py`:
`evalward codes --markdown > docs/reference/codes.md`. Branch on the code, never on the text of an error: texts may
change.

A code without a gRPC status is a domain failure: the RPC succeeds and its outcome is the error. One with a status is an
infrastructure failure. *Retry* says whether the identical request may succeed later.

| number | code | domain | category | cause | HTTP | gRPC status | retry |
|--:|---|---|---|---|--:|---|---|"""


def _section(row: ErrorRow) -> str:
    lists = (("Guidance", row.recovery_hints), ("Next actions", row.next_actions))
    parts = [f"## `{row.code}`\n\n{row.hint}\n"]
    parts += [f"{title}:\n\n" + "".join(f"- {text}\n" for text in texts) for title, texts in lists if texts]
    return "\n".join(parts)
