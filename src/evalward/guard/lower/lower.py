"""From syntax tree to instructions: one idea per module, all methods of one builder.

Lowering runs on an explicit stack of generators (``builder.run``), never on Python's own: a payload may nest as
deeply as the depth limit allows, and a chain of calls counts as one level however long it is (guard.md §4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.lower.destructuring import Patterns
from evalward.guard.lower.expressions import Expressions
from evalward.guard.lower.function_bodies import Functions
from evalward.guard.lower.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.domain.instructions import Lowered


class _Lowering(Statements, Functions, Patterns, Expressions):
    """The whole builder."""


def lower(source: bytes, nodes: Sequence[Node], *, expression: bool, module: bool, script: bool) -> Lowered:
    """Return the instructions of a payload.

    ``nodes`` are its statements, or its one expression when ``expression`` is set; ``script`` says that its top-level
    declarations become globals. The source is the wrapped text that the nodes' offsets refer to.
    """
    return _Lowering(source, module=module, script=script).lower_program(nodes, expression=expression)
