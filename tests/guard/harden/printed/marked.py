"""P' with the place of each part of the emitter's tree in it.

The printer's text of an expression or statement is marked while it is printed: behind its first character, because the
printer asks what a text begins with, and at its end. Without the marks the text is P', which the caller may check.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from evalward.guard.harden import Hardened, emit, harden_payload
from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.printer import Printer
from evalward.guard.harden.tree import (
    Array,
    Binary,
    Conditional,
    Expression,
    Literal,
    Name,
    Paren,
    Sequence,
    Statement,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.target import Shape, Target

PREFIX = "R7_"
_MARK = re.compile("([\x04\x05])([0-9]+);")
_FIRST = re.compile("(?:\x01[0-9]+;)*.", re.DOTALL)


class Part(NamedTuple):
    """A part of the emitter's tree: its kind, where its text is in P', and what is known of it."""

    kind: str
    start: int
    end: int
    facts: dict[str, Any]


class Marked(NamedTuple):
    """P' without the run-time, and its parts in the order in which they were printed."""

    text: str
    parts: list[Part]


class _Marking(Printer):
    """Marks what it prints. Programs within a program are texts in it, and are printed as ever."""

    __slots__ = ("nodes",)
    first: _Marking | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.nodes: list[Expression | Statement] = []
        if _Marking.first is None:
            _Marking.first = self

    def expression(self, node: Expression) -> str:
        return self._marked(node, super().expression(node))

    def statement(self, node: Statement) -> str:
        return self._marked(node, super().statement(node))

    def _marked(self, node: Expression | Statement, text: str) -> str:
        begins = _FIRST.match(text)
        if begins is None or self is not _Marking.first:
            return text
        number = len(self.nodes)
        self.nodes.append(node)
        at = begins.end()
        return f"{text[:at]}\x04{number};{text[at:]}\x05{number};"


@contextmanager
def _marking() -> Iterator[None]:
    _Marking.first = None
    with patch.object(emit, "Printer", _Marking):
        yield


def marked(code: str, target: Target, shape: Shape, bindings: dict[str, str] | None = None) -> Marked | None:
    """Return P' and its parts, None where the payload cannot be hardened."""
    made = harden_payload(code.encode(), target=target, shape=shape, prefix=PREFIX, bindings=bindings)
    if not isinstance(made, Hardened):
        return None
    with _marking():
        again = harden_payload(code.encode(), target=target, shape=shape, prefix=PREFIX, bindings=bindings)
    assert isinstance(again, Hardened)
    printer = _Marking.first
    assert printer is not None
    found = _parts(again.body.decode(), printer.nodes)
    assert found.text == made.body.decode(), "the marks change what is printed"
    return found


def _parts(text: str, nodes: list[Expression | Statement]) -> Marked:
    pieces: list[str] = []
    starts: dict[int, int] = {}
    parts: list[Part] = []
    at = copied = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[copied : mark.start()])
        at += len(pieces[-1])
        copied = mark.end()
        number = int(mark[2])
        if mark[1] == "\x04":
            starts[number] = at - 1
        else:
            node = nodes[number]
            parts.append(Part(type(node).__name__, starts[number], at, facts(node)))
    return Marked("".join([*pieces, text[copied:]]), parts)


def facts(node: Expression | Statement) -> dict[str, Any]:
    """Return what acorn must say of a node, by the name that ``acorn_tree.mjs`` has for it."""
    while type(node) is Paren:
        node = node.inner
    match node:
        case Name(binding=binding) if binding is not None:
            # Where an arguments object shares its value, it is judged at each read: a call, as of a free name.
            found: dict[str, Any] = {} if binding.mapped else {"name": binding.printed}
        case Literal():
            found = {"raw": node.text}
        case Text():
            found = {"value": node.value}
        case Binary():
            found = {"operators": [operator for operator, _ in node.rest]}
        case Sequence():
            found = {"count": len(node.expressions)}
        case Conditional():
            found = {"arms": len(node.arms)}
        case Array():
            found = {"elements": len(node.elements)}
        case Function():
            found = {"function": [node.asynchronous, node.generator]}
        case _:
            found = {}
    return found
