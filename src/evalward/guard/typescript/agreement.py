"""Whether the JavaScript that is left has the structure that TypeScript's grammar sees.

Without it a line that ends in an erased type could continue in the next one: ``a as B`` and ``(c)`` would be a call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final

from evalward.guard.typescript.erasure import TRANSPARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.typescript.erasure import Erasure

_SAME: Final = {
    "abstract_class_declaration": "class_declaration",
    "public_field_definition": "field_definition",
    "type_identifier": "identifier",
}
_PASSED_OVER: Final = (TRANSPARENT - _SAME.keys()) | {
    "assignment_pattern",
    "class_heritage",
    "comment",
    "empty_statement",
}
# The grammar of TypeScript reads `await f<T>(x)` as a call of `await f`: these two are counted, wherever they begin.
_COUNTED: Final = frozenset({"await_expression", "call_expression"})


class _Spans:
    """Spans of bytes, none of which overlap."""

    def __init__(self, erased: Sequence[Erasure]) -> None:
        spans = sorted((each.start, each.end) for each in erased)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def hold(self, start: int, end: int) -> bool:
        """Whether one of the spans holds the bytes from ``start`` to ``end``."""
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and end <= self._ends[place]


def disagreement(typed: Node, erased: Sequence[Erasure], plain: Node) -> int | None:
    """Return the first byte at which the two trees differ; None if they have the same nodes at the same places."""
    differ = _nodes(typed, _Spans(erased))
    differ.subtract(_nodes(plain, _Spans([])))
    return min((start for (_, start), count in differ.items() if count), default=None)


def _nodes(root: Node, erased: _Spans) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.start_byte < node.end_byte and erased.hold(node.start_byte, node.end_byte):
            continue
        kind = node.type
        if kind in _COUNTED:
            found[kind, 0] += 1
        elif node.is_named and kind not in _PASSED_OVER:
            found[_SAME.get(kind, kind), _start(node, erased)] += 1
        stack.extend(node.children)
    return found


def _start(node: Node, erased: _Spans) -> int:
    """Return where a node begins without what is erased at its beginning."""
    while (first := _first_left(node, erased)) is not None:
        if first.start_byte == node.start_byte:
            return node.start_byte
        node = first
    return node.start_byte


def _first_left(node: Node, erased: _Spans) -> Node | None:
    for child in node.children:
        if child.start_byte == child.end_byte or not erased.hold(child.start_byte, child.end_byte):
            return child
    return None
