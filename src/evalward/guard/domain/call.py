"""One call of a built-in function, as its transfer function sees it."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - a compiled class reads its annotations
from dataclasses import dataclass

from evalward.guard.domain.atoms import V_UNDEFINED, Value
from evalward.guard.domain.span import Span  # noqa: TC001 - the same
from evalward.guard.domain.values import join


@dataclass(slots=True)
class Call:
    """One call of a built-in function: ``rest`` joins what may follow ``args``, at positions that are not known."""

    path: str
    this: Value
    args: Sequence[Value]
    rest: Value
    span: Span
    constructing: bool = False

    def arg(self, index: int) -> Value:
        """Return an argument, undefined when it is absent."""
        return self.args[index] if index < len(self.args) else self.rest or V_UNDEFINED

    def all(self, first: int = 0) -> Value:
        """Return the join of the arguments from one on."""
        result = self.rest
        for value in self.args[first:]:
            result = join(result, value)
        return result
