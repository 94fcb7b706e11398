"""``evalward explain``: the page of one construct, or the table of all constructs."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Column, Table
from rich.text import Text

from evalward.construct_pages import (
    SCHEMA_VERSION,
    as_document,
    as_object,
    body,
    default_of,
    markdown,
    shown,
    where,
)
from evalward.guard.constructs import CONSTRUCTS, Construct, construct_of
from evalward.guard.constructs.labels import is_known_label
from evalward.similar import did_you_mean

_WIDTH = 110


class Format(StrEnum):
    """How the page or the table is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def complete_label(incomplete: str) -> list[str]:
    """Return the labels that begin with the typed text."""
    return [label for label in CONSTRUCTS if label.startswith(incomplete)]


def explain(
    construct: Annotated[
        str | None,
        typer.Argument(help="A label, such as process.exit or 'eval()'.", autocompletion=complete_label),
    ] = None,
    *,
    all_of_them: Annotated[bool, typer.Option("--list", help="Show the table of all constructs.")] = False,
    output: Annotated[
        Format,
        typer.Option("--format", help="text, json, or (with --list) markdown: docs/reference/constructs.md."),
    ] = Format.TEXT,
) -> None:
    """Explain a construct: why it is dangerous and what to use instead, with examples.

    \b
    Examples:
      evalward explain process.exit
      evalward explain "eval()" --format json
      evalward explain --list
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if (construct is None) is not all_of_them:
        raise typer.BadParameter("give either a construct or --list")
    if construct is None:
        _print_all(output)
        return
    found = _find(construct)
    if output is Format.JSON:
        typer.echo(_json({"schema": {"constructs": SCHEMA_VERSION}, **as_object(found)}))
    elif output is Format.MARKDOWN:
        raise typer.BadParameter("markdown requires --list")
    else:
        _print_page(found)


def _print_all(output: Format) -> None:
    if output is Format.JSON:
        typer.echo(_json(as_document()))
    elif output is Format.MARKDOWN:
        typer.echo(markdown(), nl=False)
    else:
        table = Table(Column("construct", no_wrap=True), "what", "default", "targets")
        for each in CONSTRUCTS.values():
            table.add_row(Text(each.label), each.title, default_of(each), " ".join(each.targets))
        Console(highlight=False).print(table)


def _json(document: object) -> str:
    return json.dumps(document, indent=2)


def _print_page(construct: Construct) -> None:
    console = Console(highlight=False)
    width = min(console.width, _WIDTH)
    console.print(Text.assemble((construct.label, "bold"), f"  {construct.title}"))
    console.print(Text(f"default: {default_of(construct)}; targets: {', '.join(construct.targets)}", "dim"))
    console.print()
    console.print(Markdown(body(construct)), width=width)
    console.print()
    for action in construct.use_instead:
        console.print(Text(f"next: {action}"))
    for twins in construct.examples:
        console.print()
        console.print(Text(where(construct, twins), "dim"))
        console.print(Text.assemble(("blocked  ", "bold red"), _indented(twins.blocked)), soft_wrap=True)
        console.print(Text.assemble(("allowed  ", "bold green"), _indented(twins.allowed)), soft_wrap=True)


def _indented(code: str) -> str:
    return shown(code).replace("\n", "\n         ")


def _find(label: str) -> Construct:
    """Return the construct of a label, brackets optional; raise BadParameter with similar labels."""
    if (is_known_label(label) or label in CONSTRUCTS) and (found := construct_of(label)):
        return found
    plain = {_plain(each): each for each in reversed([*CONSTRUCTS])}
    if _plain(label) in plain:
        return CONSTRUCTS[plain[_plain(label)]]
    meant = did_you_mean(label, CONSTRUCTS)
    raise typer.BadParameter(
        f"there is no construct {label[:80]!a}{meant}; evalward explain --list shows all"
    )


def _plain(label: str) -> str:
    return re.sub(r"[^a-z0-9]", "", label.lower())
