"""Printing calls: each asks the run-time before it is made (harden.md §2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.tree import Expression, Link, New, Spread, Template

if TYPE_CHECKING:
    from evalward.guard.harden.printer import ExpressionPrinter, Printer


_NUMBERED_CALLS: Final = 3


@dataclass(slots=True)
class Callee:
    """A function that is about to be called: its raw text, and the text of ``this`` for it."""

    function: str
    self: str


def is_nullish(printer: Printer, text: str, conditions: list[str]) -> str:
    """Keep ``text`` in a variable, and end the chain if it is null or undefined; return the variable."""
    held = printer.temporary()
    conditions.append(f"(({held}={text})===null||{held}===void 0)")
    return held


def call(printer: Printer, callee: Callee, link: Link, conditions: list[str]) -> str:
    """Print a call; a link with ``?.`` adds its condition to ``conditions``."""
    function, self = callee.function, callee.self
    if link.optional:
        function = is_nullish(printer, function, conditions)
        if printer.frame.base is not None and self == printer.frame.base:
            # Another call may stand between the condition and the call.
            self = printer.temporary()
            conditions[-1] = conditions[-1].replace(f"({printer.frame.base}=", f"({self}=", 1)
    if link.quasi is not None:
        return _tag(printer, function, self, link.quasi)
    given = link.arguments or []
    many = len(given) > _NUMBERED_CALLS or Spread in map(type, given)
    word = "c" if many else f"c{len(given)}"
    text = ",".join([function, self, *[printer.expression(each) for each in given]])
    return f"{printer.run(word)}({text})"


def _tag(printer: Printer, function: str, self: str, quasi: Template) -> str:
    site = printer.sites
    printer.sites += 1
    cooked = ",".join("void 0" if each is None else string_text(each) for each in quasi.cooked)
    raw = ",".join(string_text(each) for each in quasi.raw)
    pieces = [function, self, f"{printer.run('tpl')}({site},[{cooked}],[{raw}])"]
    pieces += (printer.expression(each) for each in quasi.expressions)
    return f"{printer.run('ct')}({','.join(pieces)})"


def arguments_text(printer: Printer, given: list[Expression]) -> str:
    """Print arguments."""
    return ",".join([printer.expression(each) for each in given])


def _spread(printer: Printer, node: Spread) -> str:
    return f"...{printer.run('sp')}({printer.expression(node.argument)})"


def _new(printer: Printer, node: New) -> str:
    given = [printer.expression(node.callee), *(printer.expression(each) for each in node.arguments)]
    return f"{printer.run('n')}({','.join(given)})"


HANDLERS: Final[dict[type[Expression], ExpressionPrinter]] = {Spread: _spread, New: _new}
