"""The recursion of JavaScript: the operations of later parts that an earlier part of the interpreter calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from evalward.guard.domain.atoms import BOTTOM, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.domain.heap import Activation
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.span import Span


class Recursion(Protocol):
    """Operations through which an earlier part of the interpreter calls a later one: Get, Call, Construct."""

    def get(self, owner: Value, name: str, span: Span) -> Value:
        """Return a read by a known name (ECMA-262 §7.3.2)."""
        ...

    def call(
        self, callee: Value, this: Value, args: Sequence[Value], span: Span, rest: Value = BOTTOM
    ) -> Value:
        """Return the result of a call (ECMA-262 §7.3.13)."""
        ...

    def construct(self, callee: Value, args: Sequence[Value], span: Span, rest: Value = BOTTOM) -> Value:
        """Return the result of ``new`` (ECMA-262 §7.3.14)."""
        ...


class Running(Protocol):
    """The instructions' handlers, by the number of the operation, and the run of a unit."""

    operations: list[Callable[[Instruction], Value]]

    def execute_now(self, unit: Activation) -> None:
        """Run a unit that has just been called, so that its caller continues with its result."""
        ...
