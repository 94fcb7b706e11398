"""From syntax tree to instructions: composes the handlers of all node kinds, and lowers one payload.

Lowering runs on an explicit stack of generators (``lowering.run``), never on Python's own: a payload may nest as
deeply as the depth limit allows, and a chain of calls counts as one level however long it is (guard.md §4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.guard.lower import (
    call_expressions,
    declarations,
    destructuring,
    expressions,
    function_bodies,
    iteration_statements,
    operator_expressions,
    statements,
)
from evalward.guard.lower.builder import Builder
from evalward.guard.lower.lowering import unmodelled
from evalward.guard.lower.node_kinds import KINDS, is_named
from evalward.guard.lower.stretches import Stretches
from evalward.guard.lower.top_level import lower_program

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tree_sitter import Node

    from evalward.guard.domain.instructions import Lowered
    from evalward.guard.lower.lowering import Handler, Steps, Work

_BY_NAME: Final[dict[str, Handler]] = {
    **call_expressions.HANDLERS,
    **expressions.HANDLERS,
    **operator_expressions.HANDLERS,
    **function_bodies.HANDLERS,
    **statements.HANDLERS,
    **declarations.HANDLERS,
    **iteration_statements.HANDLERS,
}
# By node kind; a kind without a handler is not modelled.
_HANDLERS: Final[list[Handler]] = [
    _BY_NAME.get(name, unmodelled) if is_named(kind) else unmodelled for kind, name in enumerate(KINDS)
]


class _PayloadLowering:
    """One payload being lowered (``lowering.Lowering``)."""

    __slots__ = ("build", "stretches")

    def __init__(self, source: bytes, *, module: bool, script: bool) -> None:
        self.build = Builder(source, module=module, script=script)
        self.stretches = Stretches(self.build)

    def lower(self, node: Node) -> Work:
        return _HANDLERS[node.kind_id](self, node)

    def bind(self, target: Node, register: int, node: Node, declare: str) -> Work:
        return destructuring.bind(self, target, register, node, declare)

    def named_function(self, node: Node, name: str) -> Work:
        return function_bodies.named_function(self, node, name)

    def method(self, node: Node) -> Generator[Any, int, tuple[str, str | int, int]]:
        return function_bodies.method(self, node)

    def statements(self, nodes: list[Node]) -> Steps:
        return statements.lower_statements(self, nodes)


def lower(source: bytes, nodes: Sequence[Node], *, expression: bool, module: bool, script: bool) -> Lowered:
    """Return the instructions of a payload.

    ``nodes`` are its statements, or its one expression when ``expression`` is set; ``script`` says that its top-level
    declarations become globals. The source is the wrapped text that the nodes' offsets refer to.
    """
    lowering = _PayloadLowering(source, module=module, script=script)
    return lower_program(lowering, nodes, expression=expression)
