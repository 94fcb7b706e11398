"""``evalward sinks``: the known sinks, and how each evaluates a text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from evalward.cli.serverless import complete_sink, sink_option
from evalward.guard.sinks import Frame, sinks

if TYPE_CHECKING:
    from evalward.guard.sinks import Reading, Sink

SCHEMA_VERSION: Final = 1
_HOW: Final = {
    Frame.SCRIPT: "a script",
    Frame.REPL: "a script with `await` at its top level",
    Frame.EXPRESSION: "an expression in parentheses",
    Frame.BODY: "the body of a function",
}


def sinks_command(
    sink: Annotated[str | None, typer.Argument(help="One sink.", autocompletion=complete_sink)] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/reference/sinks.md.")] = False,
) -> None:
    """List the sinks: what a driver does with a text that it evaluates.

    \b
    Examples:
      evalward sinks
      evalward sinks playwright.evaluate
      evalward check -e "document.title" --sink playwright.evaluate
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    named = [*sinks().values()] if sink is None else [sink_option(sink, target=None, shape=None, bindings={})]
    if as_json:
        document = {"schema": {"sinks": SCHEMA_VERSION}, "sinks": [as_object(each) for each in named]}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=True))
    elif as_markdown:
        typer.echo(markdown(), nl=False)
    elif sink is not None:
        typer.echo(_section(named[0]).replace("`", "").removeprefix("## "), nl=False)
    else:
        _print_table()


def _print_table() -> None:
    from rich.console import Console  # noqa: PLC0415 - only needed here
    from rich.table import Column, Table  # noqa: PLC0415

    table = Table(Column("sink", no_wrap=True), "target", "the text is")
    for each in sinks().values():
        table.add_row(each.id, each.target, each.summary.replace("`", ""))
    Console(highlight=False).print(table)


def as_object(sink: Sink) -> dict[str, Any]:
    """Return a sink as JSON data, with every field of it."""
    return {
        "id": sink.id,
        "target": sink.target.value,
        "summary": sink.summary,
        "proof": sink.proof,
        "this": sink.this,
        "parameters": [*sink.parameters],
        "rest": sink.rest,
        "bindings": dict(sink.bindings),
        "trims": sink.trims,
        "drops": sink.drops,
        "without_return": sink.without_return,
        "emit": sink.emit,
        "readings": [_reading(each) for each in sink.readings],
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "frame": reading.frame.value,
        "prefix": reading.prefix,
        "suffix": reading.suffix,
        "when": None if reading.when is None else reading.when.pattern,
        "also": reading.also,
        "optional": reading.optional,
        "called": reading.called,
    }


def markdown() -> str:
    """Return ``docs/reference/sinks.md``: the table, and a section for each sink."""
    table = [
        f"| [`{each.id}`](#{each.id.replace('.', '')}) | {each.target} | {each.summary} |"
        for each in sinks().values()
    ]
    return "\n".join([_HEAD, *table, "", "\n".join(_section(each) for each in sinks().values())])


_HEAD: Final = """# Sinks

A sink is what evaluates a text. The same bytes are two programs: `{}/P/g` is a block and a pattern as a script, and a
division that runs `P` in parentheses. So say which sink gets the text, by name: `sink` in a request, in a tool of a
manifest, in `guarded()`, or `--sink` on the command line. The guard judges the text in every way in which that sink
reads it, and denies if one of them is denied. A sink has a target and bindings of its own; a shape or another target
together with it is rejected. For a sink without a name, declare `target` and `shape`.

This page is generated from `src/evalward/guard/sinks/sinks.toml`:
`evalward sinks --markdown > docs/reference/sinks.md`. Each sink whose driver is installed is run in a test with texts
of two meanings, and what ran is compared with this page.

| sink | target | the text is |
|---|---|---|"""


def _section(sink: Sink) -> str:
    lines = [f"## `{sink.id}`", "", f"{sink.summary}.", "", f"- target: `{sink.target}`"]
    if sink.trims:
        dropped = f", and then one `{sink.drops}` off its end" if sink.drops else ""
        lines.append(f"- takes white space off both ends of the text{dropped}")
    if sink.without_return:
        lines.append(
            "- takes white space off both ends, and the word `return` off the beginning of the last line"
        )
    lines += [f"- reads it as {_told(each)}" for each in sink.readings]
    lines.append(f"- `this`: {_kind(sink.this)}")
    if any(each.called for each in sink.readings) or Frame.BODY in {each.frame for each in sink.readings}:
        given = ", ".join(_kind(each) for each in sink.parameters) or "nothing"
        lines.append(f"- arguments: {given}")
    lines += [f"- binds `{name}`: {_kind(kind)}" for name, kind in sink.bindings.items()]
    lines += [f"- a program for it is written `{_shown(sink.emit)}`", f"- seen in: {sink.proof}", ""]
    return "\n".join(lines) + "\n"


def _told(reading: Reading) -> str:
    told = _HOW[reading.frame]
    if reading.prefix or reading.suffix:
        told += f" (`{_shown(reading.prefix)}` TEXT `{_shown(reading.suffix)}`)"
    if reading.called:
        told += ", and calls what it gives if that is a function"
    if reading.when is not None:
        told += (
            ", where the text begins as it does to a function"
            if not reading.also
            else ", where it begins with `{`"
        )
    if reading.also and reading.when is None:
        told += ", too"
    return told


def _kind(kind: str) -> str:
    return " or ".join(f"`{each}`" for each in kind.split("|"))


def _shown(text: str) -> str:
    return text.replace("\n", "\\n").replace("|", "\\|")
