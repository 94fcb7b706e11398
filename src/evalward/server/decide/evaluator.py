"""Evaluate: judge for the sandbox, record, run the allowed payload in the judged shape, record again.

Imported by the first request that needs it, since wasmtime takes time and memory that a service without a sandbox does
not need.
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
    denial_of,
    evaluation_envelope,
)
from evalward.server.decide.decisions import Decision
from evalward.server.decide.load_shedding import PATIENCE_SHARE, check_open, overloaded
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.requests.evaluate_request import EvaluateReader

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.guard.target import Shape
    from evalward.guard.verdict import Verdict
    from evalward.sandbox import Evaluation
    from evalward.server.decide.audit_trail import AuditTrail
    from evalward.server.decide.decider import Decider
    from evalward.server.requests.caller import Caller
    from evalward.server.requests.evaluate_request import EvaluationRequest


class Runner(Protocol):
    """Runs payloads; ``SandboxPool`` does it on threads of this process."""

    def warm_up(self) -> None:
        """Build what the first run would otherwise wait for."""
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
    """Decides Evaluate requests; the same ``Decider`` that serves Validate judges them."""

    def __init__(
        self,
        decider: Decider,
        audit_trail: AuditTrail,
        provenance: Provenance,
        *,
        deadline_ms: int,
        runner: Runner,
    ) -> None:
        self._decider = decider
        self._audit_trail = audit_trail
        self._provenance = provenance
        self._limits = EvaluationLimits(deadline_ms=deadline_ms)
        self._runner = runner

    def evaluate(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = UNKNOWN_CALLER
    ) -> Decision:
        """Decide the serialised EvaluateRequest ``wire``; never raises. Parameters as in ``Decider.decide``."""
        reader = EvaluateReader(wire)
        request = RequestContext(reader, remaining, caller)
        return self._decider.guarded(
            request, lambda: self._evaluated(request, reader, remaining, stopping=stopping)
        )

    def _evaluated(
        self, request: RequestContext, reader: EvaluateReader, remaining: float | None, *, stopping: bool
    ) -> Decision:
        check_open(remaining, stopping=stopping)
        asked = reader.evaluation(self._limits)
        try:
            verdict = self._decider.judge(request, asked.validation_request, remaining, shape_from_text=True)
        except CodedError as refusal:
            raise _about_guard_limits(refusal) from None
        audited = self._audit_trail.verdict(request, verdict)
        if not verdict.allowed:
            return self._decider.verdict_answer(request, verdict, audited=audited)
        request.stage = Kind.EVALUATION
        return self._ran(request, verdict, asked, request.left_of(remaining))

    def _ran(
        self, request: RequestContext, verdict: Verdict, asked: EvaluationRequest, left: float | None
    ) -> Decision:
        check_open(left, stopping=False)
        begin = time.perf_counter()
        try:
            evaluation = self._runner.evaluate(
                verdict.hardened.text if verdict.hardened else asked.validation_request.code,
                arg=asked.argument or None,
                shape=verdict.shape,
                limits=_within(asked.limits, left),
                seed=asked.seed,
                patience=None if left is None else left * PATIENCE_SHARE,
            )
        except SandboxBusyError as full:
            # The guard's queue has a different name, so that an operator sees which queue to enlarge.
            raise overloaded(f"evaluation_{full.limit}", full.allowed) from None
        except ArgumentError as refusal:
            raise CodedError(
                Code.INVALID_INPUT,
                f"The request cannot run: {refusal}.",
                repair=Repair(field="/argument_json"),
            ) from None
        if verdict.hardened is not None:
            evaluation = denial_of(evaluation)
        elapsed_us = int((time.perf_counter() - begin) * 1e6)
        audited = self._audit_trail.evaluation(
            request, verdict, evaluation, argument=asked.argument, elapsed_us=elapsed_us
        )
        meta = Meta(
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=asked.validation_request.session_id or None,
            would_block=would_block(verdict),
        )
        return Decision(
            evaluation.code,
            evaluation_envelope(evaluation, verdict, meta=meta),
            self._decider.binding(request, verdict),
            evaluation=evaluation,
            run_us=elapsed_us,
            program=verdict.hardened,
        )


def _about_guard_limits(refusal: CodedError) -> CodedError:
    """Return ``refusal`` with the field name that Evaluate uses for guard limits."""
    repair = refusal.repair
    if repair is not None and repair.field is not None and repair.field.startswith("/limits/"):
        refusal.repair = replace(repair, field=repair.field.replace("/limits/", "/guard_limits/", 1))
    return refusal


def _within(limits: EvaluationLimits, left: float | None) -> EvaluationLimits:
    """Return ``limits`` with a deadline that ends before the caller's."""
    if left is None:
        return limits
    return replace(limits, deadline_ms=min(limits.deadline_ms, max(1, int(left * PATIENCE_SHARE * 1000))))
