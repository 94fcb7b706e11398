"""Decide one request: read it, judge it, write its audit record, and only then build the envelope.

Independent of gRPC. Every failure becomes a ``Decision`` whose envelope denies. The service decides from the code's
registry row whether the decision is sent as an outcome or as a status.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from evalward.errors import (
    Code,
    CodedError,
)
from evalward.errors.stack import frames
from evalward.server.decide.decisions import Decision, DecisionBuilder
from evalward.server.decide.load_shedding import check_open
from evalward.server.decide.policy_judge import PolicyJudge
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.requests.validate_request import RequestReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.audit import AllowRecord, AuditRecord
    from evalward.errors import Provenance
    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Executor
    from evalward.policy import Policy
    from evalward.server.decide.audit_trail import AuditTrail
    from evalward.server.requests.caller import Caller
    from evalward.server.requests.validate_request import ValidationRequest
    from evalward.v1 import evalward_pb2 as pb

T = TypeVar("T")

LOG = logging.getLogger("evalward.server")


class PendingDecision(NamedTuple):
    """A decision before its audit record is written: a verdict, or the refusal that replaces it."""

    request: RequestContext
    record: AuditRecord | AllowRecord | None
    verdict: Verdict | None = None
    refusal: CodedError | None = None
    context: bytes | None = None

    @property
    def allows(self) -> bool:
        """Whether the payload may run once the record is written."""
        return self.verdict is not None and self.verdict.allowed


class Decider:
    """Decides requests under one policy, with one executor and one audit log.

    ``verbose`` is the number of stack frames in the envelope of an INTERNAL failure. Nothing is allowed without a sink
    that keeps its records (``NullAuditLog`` does not).
    """

    def __init__(
        self,
        *,
        policy: Policy,
        audit_trail: AuditTrail,
        executor: Executor,
        provenance: Provenance,
        verbose: int = 0,
    ) -> None:
        self._verbose = verbose
        self._audit_trail = audit_trail
        self._decisions = DecisionBuilder(policy, provenance)
        self._judging = PolicyJudge(policy, executor)

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = UNKNOWN_CALLER
    ) -> Decision:
        """Decide the serialised ValidateRequest ``wire``; never raises.

        ``remaining`` is the seconds until the caller's deadline (None: no deadline), ``stopping`` whether the server
        drains.
        """
        return self.decide_read(RequestReader(wire), remaining=remaining, stopping=stopping, caller=caller)

    def decide_read(
        self,
        reader: RequestReader,
        *,
        remaining: float | None,
        stopping: bool = False,
        caller: Caller = UNKNOWN_CALLER,
    ) -> Decision:
        """Decide the request that ``reader`` reads, as ``decide`` does; never raises."""
        pending = self.decide_unrecorded(reader, remaining=remaining, stopping=stopping, caller=caller)
        return self.finish(pending, audited=self.keep([pending]))

    def decide_unrecorded(
        self,
        reader: RequestReader,
        *,
        remaining: float | None,
        stopping: bool = False,
        caller: Caller = UNKNOWN_CALLER,
    ) -> PendingDecision:
        """Decide the request that ``reader`` reads without writing a record; never raises."""
        request = RequestContext(reader, remaining, caller)

        def judged() -> tuple[ValidationRequest, Verdict]:
            check_open(remaining, stopping=stopping)
            validation_request = reader.validation_request()
            return validation_request, self._judging.judge(request, validation_request, remaining)

        return self._pending(request, judged)

    def decide_together(
        self, readers: Sequence[RequestReader], *, remaining: float | None, caller: Caller = UNKNOWN_CALLER
    ) -> list[PendingDecision]:
        """Decide requests as ``decide_unrecorded`` does, judged together if a worker is free; never raises."""
        requests = [RequestContext(reader, remaining, caller) for reader in readers]
        judged = self._judging.judge_together(requests, remaining)
        return [self._pending(request, outcome) for request, outcome in zip(requests, judged, strict=True)]

    def _pending(
        self, request: RequestContext, judged: Callable[[], tuple[ValidationRequest, Verdict]]
    ) -> PendingDecision:
        try:
            validation_request, verdict = judged()
            record = self._audit_trail.verdict_record(request, verdict)
        except Exception as failure:  # noqa: BLE001 - every failure denies
            return self.withdrawn(PendingDecision(request, None), self._refusal_of(request, failure))
        return PendingDecision(
            request,
            record,
            verdict,
            context=validation_request.code if validation_request.include_context else None,
        )

    def withdrawn(self, pending: PendingDecision, refusal: CodedError) -> PendingDecision:
        """Return ``pending`` with ``refusal`` instead of its verdict."""
        request = pending.request
        digest = self.request_binding(request).code_hash
        record = self._audit_trail.refusal_record(request, Code(refusal.code), digest)
        return PendingDecision(request, record, refusal=refusal)

    def keep(self, unrecorded: Sequence[PendingDecision]) -> bool:
        """Write the records of ``unrecorded`` in one append; return whether all are written. Never raises."""
        records = [pending.record for pending in unrecorded if pending.record is not None]
        request = unrecorded[0].request
        try:
            return self._audit_trail.keep(request, *records)
        except Exception as failure:  # noqa: BLE001 - logged; nothing counts as written
            self._refusal_of(request, failure)
            return False

    def finish(self, pending: PendingDecision, *, audited: bool, brief: bool = False) -> Decision:
        """Return the decision of ``pending``, ``audited`` or not; never raises. ``brief``: an allow has no envelope."""
        request, verdict = pending.request, pending.verdict
        if verdict is None:
            refusal = cast("CodedError", pending.refusal)
            return self._decisions.of_refusal(
                request, refusal, audited=audited and pending.record is not None
            )

        def settled() -> Decision:
            self._audit_trail.check(verdict, audited=audited)
            if verdict.hardened is not None:
                self._audit_trail.remember(request, verdict)
            if brief and verdict.allowed:
                return self._decisions.brief(request, verdict)
            return self._decisions.of_verdict(request, verdict, audited=audited, context=pending.context)

        return self.guarded(request, settled)

    def guarded(
        self, request: RequestContext, step: Callable[[], Decision], *, is_recorded: bool = True
    ) -> Decision:
        """Return the result of ``step``, or the denial for its failure; never raises.

        A refusal that is not ``is_recorded`` is only counted in the audit log.
        """
        try:
            return step()
        except Exception as failure:  # noqa: BLE001 - every failure denies
            refusal = self._refusal_of(request, failure)
            if is_recorded:
                return self.refused(request, refusal)
            self._audit_trail.tally(Code(refusal.code))
            return self._decisions.of_refusal(request, refusal, audited=False)

    def _refusal_of(self, request: RequestContext, failure: Exception) -> CodedError:
        """Return ``failure`` as the error that the caller gets; log its type and location.

        The exception's text is not logged, since it may contain payload.
        """
        if isinstance(failure, CodedError):
            return failure
        frame = traceback.extract_tb(failure.__traceback__, limit=-1)[0]
        LOG.error(
            "decision %s failed: %s at %s:%s",
            request.decision_id,
            type(failure).__name__,
            Path(frame.filename).name,
            frame.lineno,
            extra={"fields": {"decision_id": request.decision_id, "trace_id": request.caller.trace_id}},
        )
        stack = frames(failure.__traceback__, self._verbose) if self._verbose else []
        details = {"failure": type(failure).__name__, "stack": stack} if self._verbose else None
        return CodedError(Code.INTERNAL, "The request could not be judged.", details=details)

    def judge(
        self,
        request: RequestContext,
        validation_request: ValidationRequest,
        remaining: float | None,
        *,
        shape_from_text: bool = False,
    ) -> Verdict:
        """Return the verdict on ``validation_request`` without recording it; raise CodedError if there is none.

        With ``shape_from_text`` a request without a shape is judged in the shape in which the sandbox would run its
        text.
        """
        return self._judging.judge(request, validation_request, remaining, shape_from_text=shape_from_text)

    def verdict_answer(
        self, request: RequestContext, verdict: Verdict, *, audited: bool, context: bytes | None = None
    ) -> Decision:
        """Return ``verdict``, whose record was attempted, as a decision; ``context`` is the payload to quote from."""
        return self._decisions.of_verdict(request, verdict, audited=audited, context=context)

    def binding(self, request: RequestContext, verdict: Verdict) -> pb.VerdictBinding:
        """Return the binding of ``verdict``: what it applies to."""
        return self._decisions.binding(request, verdict)

    def request_binding(self, request: RequestContext) -> pb.VerdictBinding:
        """Return the binding of a decision without a verdict."""
        return self._decisions.request_binding(request)

    def refused(self, request: RequestContext, refusal: CodedError) -> Decision:
        """Record ``refusal`` and return it as a decision."""
        binding = self.request_binding(request)
        audited = self._audit_trail.refusal(request, Code(refusal.code), binding.code_hash)
        return self._decisions.of_refusal(request, refusal, audited=audited, binding=binding)
