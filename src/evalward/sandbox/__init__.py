"""The sandbox: run an allowed payload in QuickJS on WebAssembly, with no I/O and hard limits (sandbox.md).

Known gaps: no ``Intl``, no regular expressions with the ``v`` flag, and deep recursion ends the evaluation
(EVAL_STACK_LIMIT) rather than throwing ``RangeError``. The clock does not advance, so that waiting for a time never
ends.
"""

from evalward.guard.syntax.run_shape import choose_shape
from evalward.sandbox.engine import STACK_BYTES
from evalward.sandbox.evaluate import DEFAULT_LIMITS, Sandbox, evaluate
from evalward.sandbox.evaluation_envelope import evaluation_envelope
from evalward.sandbox.outcome import (
    MAX_ARGUMENT,
    RANGES,
    ArgumentError,
    ConsoleLine,
    Evaluation,
    EvaluationLimits,
    denial_of,
)
from evalward.sandbox.pool import SandboxBusyError, SandboxPool

__all__ = [
    "DEFAULT_LIMITS",
    "MAX_ARGUMENT",
    "RANGES",
    "STACK_BYTES",
    "ArgumentError",
    "ConsoleLine",
    "Evaluation",
    "EvaluationLimits",
    "Sandbox",
    "SandboxBusyError",
    "SandboxPool",
    "choose_shape",
    "denial_of",
    "evaluate",
    "evaluation_envelope",
]
