"""The limits and the outcome of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from evalward.codes import Code
from evalward.errors import denied_construct
from evalward.sandbox.engine import MAX_MEMORY, MIN_MEMORY, MIN_STACK, STACK_BYTES

if TYPE_CHECKING:
    from evalward.guard.target import Shape

MAX_ARGUMENT: Final = 1 << 20
"""The largest JSON argument, in bytes."""


class ArgumentError(ValueError):
    """The argument is not JSON, or too large."""


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """Limits of one evaluation, by the names that requests, errors, metrics and flags use.

    The code's size is the guard's limit.

    ``fuel`` counts wasm instructions and binds first, ``deadline_ms`` is wall time; ``memory_bytes`` is the guest's
    whole memory, ``stack_bytes`` its wasm stack (in steps: ``stack_of``), ``result_bytes`` the result's JSON and
    ``console_bytes`` the text of the console. Raises ValueError for a value out of range, naming the range.
    """

    fuel: int = 400_000_000
    deadline_ms: int = 1_000
    memory_bytes: int = 64 << 20
    stack_bytes: int = STACK_BYTES
    result_bytes: int = 1 << 20
    console_bytes: int = 64 << 10

    def __post_init__(self) -> None:
        for field in fields(self):
            lowest, highest = RANGES[field.name]
            value = getattr(self, field.name)
            if not lowest <= value <= highest:
                raise ValueError(f"{field.name} must be between {lowest} and {highest}, not {value}")


RANGES: Final[dict[str, tuple[int, int]]] = {
    "fuel": (1_000_000, 4_000_000_000),
    "deadline_ms": (1, 5_000),
    "memory_bytes": (MIN_MEMORY, MAX_MEMORY),
    "stack_bytes": (MIN_STACK, STACK_BYTES),
    "result_bytes": (1, 4 << 20),
    "console_bytes": (0, 1 << 20),
}


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One call of ``console``: level is log, info, warn, error, debug or trace."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of one evaluation.

    ``code`` is None when it succeeded; then ``result`` is the result's JSON, or None when the result is ``undefined``
    or a function. Otherwise ``message`` describes the failure (for EVAL_RUNTIME_ERROR, with ``error_name``, the
    payload's exception, on one line and without control characters: never log it), and ``limit`` is the (name, value)
    of the exceeded limit. ``construct`` is what EVAL_DENIED_AT_RUN_TIME denies. ``fuel`` is the amount used, ``memory``
    the final size in bytes, ``console_dropped`` the lines past the console's limit.
    """

    code: Code | None
    shape: Shape
    result: bytes | None = None
    console: tuple[ConsoleLine, ...] = ()
    console_dropped: int = 0
    fuel: int = 0
    memory: int = 0
    error_name: str | None = None
    message: str = ""
    limit: tuple[str, int] | None = None
    construct: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the payload ran to its end and returned a result."""
        return self.code is None


def denial_of(evaluation: Evaluation) -> Evaluation:
    """Return the ``evaluation`` of a hardened program; an error that is a denial has the code of one."""
    if evaluation.code is not Code.EVAL_RUNTIME_ERROR:
        return evaluation
    construct = denied_construct(evaluation.message, name=evaluation.error_name)
    if construct is None:
        return evaluation
    return replace(evaluation, code=Code.EVAL_DENIED_AT_RUN_TIME, construct=construct)
