"""A denied payload's tree, as rewrites read it: nodes with those around them, constants, calls and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.guard.lower.node_kinds import KINDS
from evalward.guard.syntax.literals import template_chunk, unescape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

_COMMENT: Final = "comment"
_MEMBERS: Final = frozenset({"member_expression"})


class Edit(NamedTuple):
    """The bytes of the payload from ``start`` to ``end`` become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A node with the nodes around it, the nearest last; ``note`` is the last step of the finding inside it."""

    node: Node
    around: tuple[Node, ...]
    note: str


class Reading:
    """One parsed payload."""

    def __init__(self, program: ParsedProgram) -> None:
        self._program = program

    @property
    def roots(self) -> Sequence[Node]:
        """The nodes that the payload consists of, without comments."""
        return [node for node in self._program.roots if kind_of(node) != _COMMENT]

    def text(self, node: Node) -> str:
        """Return the source of ``node``."""
        return self._program.text(node).decode("utf-8", "replace")

    def edit(self, first: Node, text: str, last: Node | None = None) -> Edit:
        """Return the edit that replaces ``first``, or everything from it to ``last``."""
        end = (last or first).end_byte
        return Edit(first.start_byte - self._program.offset, end - self._program.offset, text)

    def after(self, node: Node, text: str) -> Edit:
        """Return the edit that puts ``text`` behind ``node``."""
        end = node.end_byte - self._program.offset
        return Edit(end, end, text)

    def constant(self, node: Node | None) -> str | None:
        """Return the value of a string or of a template without substitutions, None for any other node."""
        if node is None or kind_of(node) not in {"string", "template_string"}:
            return None
        if any(kind_of(child) == "template_substitution" for child in node.children):
            return None
        body = self.text(node)[1:-1]
        return template_chunk(body) if kind_of(node) == "template_string" else unescape(body)

    def callee(self, node: Node) -> tuple[Node | None, str]:
        """Return receiver and name of what ``node`` calls: ``(None, "eval")``, ``(page, "evaluate")``."""
        function = node.child_by_field_name(
            "function" if kind_of(node) == "call_expression" else "constructor"
        )
        if function is None:
            return None, ""
        if kind_of(function) == "identifier":
            return None, self.text(function)
        return self.member(function)

    def member(self, node: Node) -> tuple[Node | None, str]:
        """Return object and name of a member expression, ``(None, "")`` for any other node."""
        if kind_of(node) not in _MEMBERS:
            return None, ""
        owner, name = node.child_by_field_name("object"), node.child_by_field_name("property")
        return owner, "" if name is None else self.text(name)

    def nodes(self) -> Iterator[tuple[Node, tuple[Node, ...]]]:
        """Yield each named node with those around it, outer nodes first."""
        pending: list[tuple[Node, tuple[Node, ...]]] = [(root, ()) for root in reversed(self.roots)]
        while pending:
            node, around = pending.pop()
            yield node, around
            inner = (*around[-_MOST_AROUND:], node)
            pending += [(child, inner) for child in reversed(node.named_children)]

    def holds(self, node: Node, place: int) -> bool:
        """Whether the payload offset ``place`` lies in ``node``."""
        return node.start_byte <= place + self._program.offset < node.end_byte


_MOST_AROUND: Final = 3
_LISTS: Final = frozenset(
    {"program", "statement_block", "class_static_block", "switch_case", "switch_default"}
)


def kind_of(node: Node) -> str:
    """Return the name of a node's kind."""
    return KINDS[node.kind_id]


def arguments_of(node: Node) -> list[Node]:
    """Return the arguments of a call or construction."""
    given = node.child_by_field_name("arguments")
    found = [] if given is None else given.named_children
    return [child for child in found if kind_of(child) != _COMMENT]


def is_among_statements(placed: Placed, statement: Node) -> bool:
    """Whether another statement may follow ``statement`` there, which the body of a loop without braces forbids."""
    at = next((place for place, outer in enumerate(placed.around) if outer == statement), 0)
    return kind_of(placed.around[at - 1]) in _LISTS if at else len(placed.around) <= _MOST_AROUND


def statement_around(placed: Placed) -> Node | None:
    """Return the statement, or the body of an arrow function, that consists of the node alone, perhaps awaited."""
    inner = placed.node
    for outer in reversed(placed.around):
        if kind_of(outer) == "await_expression":
            inner = outer
            continue
        if kind_of(outer) == "expression_statement":
            return outer
        is_body = kind_of(outer) == "arrow_function" and outer.child_by_field_name("body") == inner
        return inner if is_body else None
    return inner if not placed.around else None
