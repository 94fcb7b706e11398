"""``evalward codes``: the registry of codes, for people and for programs."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from evalward.errors import REGISTRY

SCHEMA_VERSION = 1


def codes(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every field.")] = False,
) -> None:
    """List every code that Evalward answers with, and what a caller can do about it.

    \b
    Examples:
      evalward codes
      evalward codes --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if as_json:
        document = {
            "schema": {"errorCodes": SCHEMA_VERSION},
            "codes": [row.as_json() for row in REGISTRY.values()],
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    table = Table("number", Column("code", no_wrap=True), "http", "retry", "hint")
    for row in REGISTRY.values():
        table.add_row(
            str(row.number),
            row.code.value,
            str(row.http),
            "yes" if row.retryable else "no",
            row.hint,
        )
    Console(highlight=False).print(table)
