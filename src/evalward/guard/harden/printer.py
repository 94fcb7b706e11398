"""Printing: from the tree to the text of P'.

``Printer`` holds the state; the modules ``print_*`` have a function for each class of the tree, and ``printing`` joins
their tables. The text of an expression is an operand of every operator: a name, a literal, a call or something in
brackets. A mark for each statement's line is in the text until ``synchronised`` replaces it by line ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from evalward.guard.harden.function_tree import Class, Function
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.tree import Expression, Paren, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from evalward.guard.harden.scopes import Scopes
    from evalward.guard.harden.travel import Programs

    # Each function takes the class that it stands for in its table.
    ExpressionPrinter: TypeAlias = Callable[["Printer", Any], str]
    StatementPrinter: TypeAlias = Callable[["Printer", Any], str]

_SIMPLE_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_MARK = re.compile("\x01([0-9]+);")


@dataclass(slots=True, eq=False)
class Frame:
    """The function that is being printed.

    ``temporaries`` are the names to declare in it. ``completion`` is the variable for a script's completion value.
    ``awaits`` and ``yields`` count what was printed.
    """

    completion: str | None = None
    temporaries: list[str] = field(default_factory=list)
    base: str | None = None
    key: str | None = None
    awaits: int = 0
    yields: int = 0


class _Used(dict[str, str]):
    """The functions of the run-time that P' uses, with their names there: each is added when it is first asked for."""

    prefix = ""

    def __missing__(self, name: str) -> str:
        found = self[name] = self.prefix + name
        return found


class Printer:
    """The state of printing one program."""

    __slots__ = (
        "_expressions",
        "_statements",
        "bound",
        "frame",
        "has_arguments",
        "iterators",
        "prefix",
        "programs",
        "run",
        "scopes",
        "sites",
        "used",
        "uses_arguments",
    )

    def __init__(
        self,
        scopes: Scopes,
        expressions: Mapping[type[Expression], ExpressionPrinter],
        statements: Mapping[type[Statement], StatementPrinter],
        bound: Container[str],
        programs: Programs | None = None,
    ) -> None:
        self.scopes = scopes
        self.prefix = scopes.prefix
        self.frame = Frame()
        self.bound = bound
        self.programs = programs
        self.used = _Used()
        self.used.prefix = scopes.prefix
        # The name in P' of a function of the run-time.
        self.run = self.used.__getitem__
        self.has_arguments = self.uses_arguments = False
        self.iterators: list[str] = []
        self.sites = 0
        self._expressions = expressions
        self._statements = statements

    def expression(self, node: Expression) -> str:
        """Return the text of an expression."""
        return self._expressions[type(node)](self, node)

    def statement(self, node: Statement) -> str:
        """Return the text of a statement, with a mark for its line."""
        return self._statements[type(node)](self, node)

    def temporary(self) -> str:
        """Return a variable of the function that is being printed, which nothing else uses."""
        name = self.scopes.fresh()
        self.frame.temporaries.append(name)
        return name

    def base(self) -> str:
        """Return the variable for the object of a call: it is read before anything else can assign it."""
        frame = self.frame
        if frame.base is None:
            frame.base = self.temporary()
        return frame.base

    def key(self) -> str:
        """Return the variable for the key of a read: it is read at once after it is assigned."""
        frame = self.frame
        if frame.key is None:
            frame.key = self.temporary()
        return frame.key

    def named(self, node: Expression, name: str) -> str:
        """Return the text of an expression whose function or class gets a name if it has none (ECMA-262 §8.4.5)."""
        inner = node
        while type(inner) is Paren:
            inner = inner.inner
        if isinstance(inner, Function | Class) and inner.name is None:
            inner.given = name
        return self.expression(inner if inner is not node and isinstance(inner, Function | Class) else node)


def takes_name(node: Expression) -> bool:
    """Say whether an expression is a function or class without a name (ECMA-262 §8.4.5)."""
    while type(node) is Paren:
        node = node.inner
    return isinstance(node, Function | Class) and node.name is None


def property_text(name: str) -> str:
    """Return a property's name as it stands in an object literal."""
    return name if _is_simple(name) and name != "__proto__" else string_text(name)


def member_text(base: str, name: str) -> str:
    """Return a member read of ``base``."""
    return f"{base}.{name}" if _is_simple(name) else f"{base}[{string_text(name)}]"


def _is_simple(name: str) -> bool:
    return (name.isascii() and name.isidentifier()) or _SIMPLE_NAME.match(name) is not None


def mark(line: int) -> str:
    """Return the mark of a line."""
    return f"\x01{line};"


def synchronised(text: str, first: int = 1) -> str:
    """Return ``text`` with line ends instead of marks, so that each statement begins on its line.

    ``first`` is the line on which the text begins.
    """
    pieces = _MARK.split(text)
    out = [pieces[0]]
    current = first
    for line, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        wanted = int(line)
        if wanted > current:
            out.append("\n" * (wanted - current))
            current = wanted
        out.append(piece)
    return "".join(out)
