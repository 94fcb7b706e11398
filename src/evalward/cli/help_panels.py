"""``--help`` as panels for a terminal of 80 columns, with every text verbatim.

Typer's own help puts names, types and texts side by side, which leaves a third of the line for the text, and treats
``[…]`` in a text as markup. Here an option's text is below its name.
"""

from __future__ import annotations

import shutil
import textwrap
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text
from typer.core import TyperArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typer.core import TyperCommand

_WIDEST: Final = 100
_INDENT: Final = 4
_VERBATIM: Final = "\b"
"""Marks a paragraph whose line breaks are kept: the examples."""


def help_text(command: TyperCommand, ctx: Any, panels: Mapping[str, tuple[str, ...]]) -> str:
    """Return the help of ``command``: usage, description, then its arguments and options by panel.

    It has colours, which the caller removes if there is no terminal.
    """
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    out = StringIO()
    console = Console(file=out, width=width, highlight=False, force_terminal=True, legacy_windows=False)
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    console.print(Text.assemble("\n Usage: ", (usage, "bold")))
    for line in _paragraphs(command.help or "", width - 2):
        console.print(Text(f" {line}".rstrip()))
    console.print()
    for title, parameters in _panels(command, ctx, panels).items():
        console.print(
            Panel(Group(*parameters), title=title, title_align="left", border_style="dim", box=box.ROUNDED)
        )
    return out.getvalue().rstrip("\n")


def _panels(
    command: TyperCommand, ctx: Any, named: Mapping[str, tuple[str, ...]]
) -> dict[str, list[Text | Padding]]:
    panels: dict[str, list[Text | Padding]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        name, text = record
        kind = "Arguments" if isinstance(parameter, TyperArgument) else "Options"
        own = (title for title, begins in named.items() if (parameter.name or "").startswith(begins))
        title = next(own, kind)
        panels.setdefault(title, []).append(Text(name, "bold cyan"))
        if text:
            panels[title].append(Padding(Text(text), (0, 0, 0, _INDENT)))
    return panels


def _paragraphs(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a docstring: paragraphs wrapped, examples only if they are too long."""
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        yield ""
        if not paragraph.startswith(_VERBATIM):
            yield from _wrapped(" ".join(paragraph.split()), width)
            continue
        for line in paragraph.removeprefix(_VERBATIM).strip("\n").split("\n"):
            begin = " " * (len(line) - len(line.lstrip()))
            yield from _wrapped(line.strip(), width, first=begin, rest=f"{begin}    ")


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
