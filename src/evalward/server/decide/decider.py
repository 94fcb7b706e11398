"""One request from its bytes to its answer: read, judge, record, and only then an envelope.

Nothing here knows gRPC. A failure of any kind comes back as an ``Decision`` whose envelope denies; what travels
as an outcome and what as a status is for the service to tell from the code's row in the registry.
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
    """A decision before its record is kept: a verdict, or the refusal that there is instead of one."""

    request: RequestContext
    record: AuditRecord | AllowRecord | None
    verdict: Verdict | None = None
    refusal: CodedError | None = None
    context: bytes | None = None

    @property
    def allows(self) -> bool:
        """Whether the payload may run, once the record is kept."""
        return self.verdict is not None and self.verdict.allowed


class Decider:
    """Answers requests under one policy, in one audit log, with one executor.

    ``verbose`` is how many stack frames the envelope of an INTERNAL failure shows. Without
    a sink that keeps its records (``NullAuditLog``) nothing is ever allowed.
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
        """Answer the serialised ValidateRequest ``wire``; never raises.

        ``remaining`` is the caller's time in seconds (None: unlimited), ``stopping`` whether the server
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
        """Answer the request of which ``reader`` is the road, as ``decide`` does; never raises."""
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
        """Decide the request of which ``reader`` is the road, and record nothing yet; never raises."""
        request = RequestContext(reader, remaining, caller)

        def judged() -> tuple[ValidationRequest, Verdict]:
            check_open(remaining, stopping=stopping)
            validation_request = reader.validation_request()
            return validation_request, self._judging.judge(request, validation_request, remaining)

        return self._pending(request, judged)

    def decide_together(
        self, readers: Sequence[RequestReader], *, remaining: float | None, caller: Caller = UNKNOWN_CALLER
    ) -> list[PendingDecision]:
        """Decide requests as ``decide_unrecorded`` does, judged together if there is room; never raises."""
        requests = [RequestContext(reader, remaining, caller) for reader in readers]
        judged = self._judging.judge_together(requests, remaining)
        return [self._pending(request, outcome) for request, outcome in zip(requests, judged, strict=True)]

    def _pending(
        self, request: RequestContext, judged: Callable[[], tuple[ValidationRequest, Verdict]]
    ) -> PendingDecision:
        try:
            validation_request, verdict = judged()
            record = self._audit_trail.verdict_record(request, verdict)
        except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
            refusal = self._refusal_of(request, failure)
            digest = self.request_binding(request).code_hash
            return PendingDecision(
                request,
                self._audit_trail.refusal_record(request, Code(refusal.code), digest),
                refusal=refusal,
            )
        return PendingDecision(
            request,
            record,
            verdict,
            context=validation_request.code if validation_request.include_context else None,
        )

    def keep(self, unrecorded: Sequence[PendingDecision]) -> bool:
        """Write the records of ``unrecorded`` together, as one; return whether all are kept. Never raises."""
        records = [pending.record for pending in unrecorded if pending.record is not None]
        request = unrecorded[0].request
        try:
            return self._audit_trail.keep(request, *records)
        except Exception as failure:  # noqa: BLE001 - what it was is logged, and nothing counts as written
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
            if brief and verdict.allowed:
                return self._decisions.brief(request, verdict)
            return self._decisions.of_verdict(request, verdict, audited=audited, context=pending.context)

        return self.guarded(request, settled)

    def guarded(self, request: RequestContext, step: Callable[[], Decision]) -> Decision:
        """Return what ``step`` returns, or the denial that its failure is; never raises."""
        try:
            return step()
        except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
            return self.refused(request, self._refusal_of(request, failure))

    def _refusal_of(self, request: RequestContext, failure: Exception) -> CodedError:
        """Return ``failure`` as what the caller is told; the log gets where it happened and of which type it is.

        Not its text: an exception's text may hold payload.
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
        """Return the verdict on ``validation_request``, unrecorded; raise CodedError when there is none.

        With ``shape_from_text`` a question without a shape is judged in the one that its text would run in.
        """
        return self._judging.judge(request, validation_request, remaining, shape_from_text=shape_from_text)

    def verdict_answer(
        self, request: RequestContext, verdict: Verdict, *, audited: bool, context: bytes | None = None
    ) -> Decision:
        """Return ``verdict``, whose record was tried, as an answer; ``context`` is the payload to quote from."""
        return self._decisions.of_verdict(request, verdict, audited=audited, context=context)

    def binding(self, request: RequestContext, verdict: Verdict) -> pb.VerdictBinding:
        """Return what ``verdict`` is about."""
        return self._decisions.binding(request, verdict)

    def request_binding(self, request: RequestContext) -> pb.VerdictBinding:
        """Return what an answer is about that rests on no verdict."""
        return self._decisions.request_binding(request)

    def refused(self, request: RequestContext, refusal: CodedError) -> Decision:
        """Record ``refusal`` and return it as an answer."""
        binding = self.request_binding(request)
        audited = self._audit_trail.refusal(request, Code(refusal.code), binding.code_hash)
        return self._decisions.of_refusal(request, refusal, audited=audited, binding=binding)
