"""Evaluate: judge for the sandbox, record, run what was allowed in the shape that was judged, record again.

Imported with the first request that needs it, since wasmtime takes time and memory that a service without a
sandbox does not spend.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from evalward.audit import Kind
from evalward.errors import Code, CodedError, Meta, Repair, would_block
from evalward.sandbox import (
    ArgumentError,
    EvaluationLimits,
    SandboxBusyError,
    evaluation_envelope,
)
from evalward.server.answers import Answer
from evalward.server.caller import NOBODY
from evalward.server.case import Case
from evalward.server.evaluate_request import EvaluateReading
from evalward.server.room import PATIENCE_SHARE, check_open, overloaded

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.guard.target import Shape
    from evalward.guard.verdict import Verdict
    from evalward.sandbox import Evaluation
    from evalward.server.caller import Caller
    from evalward.server.decision import Decider
    from evalward.server.evaluate_request import EvaluateQuestion
    from evalward.server.ledger import Ledger


class Runner(Protocol):
    """Runs payloads; ``SandboxPool`` does it on threads of this process."""

    def warm_up(self) -> None:
        """Make ready what the first run would wait for."""
        ...

    def evaluate(  # noqa: PLR0913 - as SandboxPool.evaluate
        self,
        code: bytes,
        *,
        arg: bytes | None,
        shape: Shape | None,
        limits: EvaluationLimits,
        seed: int,
        patience: float | None,
    ) -> Evaluation:
        """Run ``code``; raise SandboxBusyError, or ArgumentError."""
        ...


class Evaluator:
    """Answers Evaluate; the guard's part is the same ``Decider`` that answers Validate."""

    def __init__(
        self,
        decider: Decider,
        ledger: Ledger,
        provenance: Provenance,
        *,
        deadline_ms: int,
        runner: Runner,
    ) -> None:
        self._decider = decider
        self._ledger = ledger
        self._provenance = provenance
        self._limits = EvaluationLimits(deadline_ms=deadline_ms)
        self._runner = runner

    def evaluate(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = NOBODY
    ) -> Answer:
        """Answer the serialised EvaluateRequest ``wire``; never raises. As ``Decider.decide``."""
        reading = EvaluateReading(wire)
        case = Case(reading, remaining, caller)
        return self._decider.answer(
            case, lambda: self._evaluated(case, reading, remaining, stopping=stopping)
        )

    def _evaluated(
        self, case: Case, reading: EvaluateReading, remaining: float | None, *, stopping: bool
    ) -> Answer:
        check_open(remaining, stopping=stopping)
        asked = reading.evaluation(self._limits)
        try:
            verdict = self._decider.judge(case, asked.question, remaining, shape_from_text=True)
        except CodedError as refusal:
            raise _about_guard_limits(refusal) from None
        audited = self._ledger.verdict(case, verdict)
        if not verdict.allowed:
            return self._decider.verdict_answer(case, verdict, audited=audited)
        case.stage = Kind.EVALUATION
        return self._ran(case, verdict, asked, case.left_of(remaining))

    def _ran(self, case: Case, verdict: Verdict, asked: EvaluateQuestion, left: float | None) -> Answer:
        check_open(left, stopping=False)
        begin = time.perf_counter()
        try:
            evaluation = self._runner.evaluate(
                asked.question.code,
                arg=asked.argument or None,
                shape=verdict.shape,
                limits=_within(asked.limits, left),
                seed=asked.seed,
                patience=None if left is None else left * PATIENCE_SHARE,
            )
        except SandboxBusyError as full:
            # The guard's own queue has another name: an operator must see which one to widen.
            raise overloaded(f"evaluation_{full.limit}", full.allowed) from None
        except ArgumentError as refusal:
            raise CodedError(
                Code.INVALID_INPUT,
                f"The request cannot run: {refusal}.",
                repair=Repair(field="/argument_json"),
            ) from None
        elapsed_us = int((time.perf_counter() - begin) * 1e6)
        audited = self._ledger.evaluation(
            case, verdict, evaluation, argument=asked.argument, elapsed_us=elapsed_us
        )
        meta = Meta(
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=asked.question.session_id or None,
            would_block=would_block(verdict),
        )
        return Answer(
            evaluation.code,
            evaluation_envelope(evaluation, verdict, meta=meta),
            self._decider.binding(case, verdict),
            evaluation=evaluation,
            run_us=elapsed_us,
        )


def _about_guard_limits(refusal: CodedError) -> CodedError:
    """Return ``refusal`` with the name that Evaluate has for the limits of the guard."""
    repair = refusal.repair
    if repair is not None and repair.field is not None and repair.field.startswith("/limits/"):
        refusal.repair = replace(repair, field=repair.field.replace("/limits/", "/guard_limits/", 1))
    return refusal


def _within(limits: EvaluationLimits, left: float | None) -> EvaluationLimits:
    """Return ``limits`` with a deadline that passes before the caller gives up."""
    if left is None:
        return limits
    return replace(limits, deadline_ms=min(limits.deadline_ms, max(1, int(left * PATIENCE_SHARE * 1000))))
