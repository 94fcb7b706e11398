"""One request from its bytes to its answer: read, judge, record, and only then an envelope.

Nothing here knows gRPC. A failure of any kind comes back as an ``Answer`` whose envelope denies; what travels
as an outcome and what as a status is for the service to tell from the code's row in the registry.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalward.audit import AuditRecord, AuditUnavailable, Kind, Outcome, decision_record
from evalward.errors import REGISTRY, Code, CodedError, Meta, Provenance, Repair, verdict_envelope
from evalward.server.executor import Job, Overloaded
from evalward.server.requests import Reading
from evalward.server.wire import binding_message

if TYPE_CHECKING:
    from evalward.audit import AuditSink
    from evalward.guard.rules import Rules
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy
    from evalward.server.executor import Executor
    from evalward.server.requests import Question
    from evalward.v1 import evalward_pb2 as pb

LOG = logging.getLogger("evalward.server")

# The part of the caller's remaining time that may be spent waiting, so that an answer still arrives in time.
PATIENCE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: ``code`` is None if and only if the payload may run."""

    code: Code | None
    envelope: dict[str, Any]
    binding: pb.VerdictBinding
    would_block: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Case:
    """The parts of one decision that every step needs."""

    decision_id: str
    started: float
    reading: Reading

    @property
    def elapsed_us(self) -> int:
        return int((time.perf_counter() - self.started) * 1e6)

    @property
    def elapsed_ms(self) -> float:
        return self.elapsed_us / 1000


class Decider:
    """Answers requests under one policy, in one audit log, with one executor.

    Without a sink that keeps its records (``NullAuditLog``) nothing is ever allowed.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        audit_log: AuditSink,
        executor: Executor,
        provenance: Provenance,
    ) -> None:
        self._policy = policy
        self._digest = policy.digest
        self._allowed_targets = [*policy.allowed_targets]
        self._audit_log = audit_log
        self._executor = executor
        self._provenance = provenance

    def decide(self, wire: bytes, *, remaining: float | None, stopping: bool = False) -> Answer:
        """Answer the serialised ValidateRequest ``wire``; never raises.

        ``remaining`` is the caller's time in seconds (None: unlimited), ``stopping`` whether the server
        drains.
        """
        case = _Case(secrets.token_hex(16), time.perf_counter(), Reading(wire))
        try:
            return self._judged(case, remaining, stopping=stopping)
        except CodedError as refusal:
            return self._refused(case, refusal)
        except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
            # Where, and of which type, but not its text: an exception's text may hold payload.
            frame = traceback.extract_tb(failure.__traceback__, limit=-1)[0]
            LOG.error(  # noqa: TRY400
                "decision %s failed: %s at %s:%s",
                case.decision_id,
                type(failure).__name__,
                Path(frame.filename).name,
                frame.lineno,
            )
            return self._refused(case, CodedError(Code.INTERNAL, "The request could not be judged."))

    def _judged(self, case: _Case, remaining: float | None, *, stopping: bool) -> Answer:
        if stopping:
            raise CodedError(Code.SHUTTING_DOWN, "The service is shutting down.")
        if remaining is not None and remaining <= 0:
            raise CodedError(Code.DEADLINE_EXCEEDED, "The caller's deadline has passed.")
        question = case.reading.question()
        job = Job(question.code, question.target, question.shape, self._rules(question))
        patience = None if remaining is None else remaining * PATIENCE_SHARE
        try:
            verdict = self._executor.submit(job, patience=patience)
        except Overloaded as full:
            raise CodedError(
                Code.OVERLOADED,
                "The service has no room for another request.",
                repair=Repair(limit=full.limit, allowed=full.allowed),
            ) from None
        return self._recorded(case, verdict, question)

    def _rules(self, question: Question) -> Rules:
        limits = None
        if question.limits:
            limits = replace(self._policy.limits.compiled(), **question.limits)
        return self._policy.rules_for(
            question.target,
            profile=question.profile,
            limits=limits,
            bindings=question.bindings,
        )

    def _recorded(self, case: _Case, verdict: Verdict, question: Question) -> Answer:
        record = decision_record(
            verdict,
            decision_id=case.decision_id,
            provenance=self._provenance,
            elapsed_us=case.elapsed_us,
            session=question.session_id or None,
            request_id=question.request_id or None,
        )
        audited = self._append(record)
        if verdict.allowed and not audited:
            raise CodedError(
                Code.AUDIT_UNAVAILABLE,
                "The payload may not run, since its audit record could not be written.",
            )
        envelope = verdict_envelope(
            verdict,
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=question.session_id or None,
            allowed_targets=self._allowed_targets,
        )
        binding = binding_message(
            code_hash=verdict.code_hash,
            target=verdict.target,
            shape=verdict.shape,
            profile=verdict.profile,
            policy_digest=self._digest,
            decision_id=case.decision_id,
            request_id=question.request_id,
        )
        return Answer(verdict.code, envelope, binding, tuple(finding.construct for finding in verdict.shadow))

    def _refused(self, case: _Case, refusal: CodedError) -> Answer:
        received = case.reading.received
        code_hash = hashlib.sha256(received.code).hexdigest()
        # A flood of refusals for want of room must not fill the disk, and without a sink there is nothing to
        # try.
        audited = refusal.code not in {Code.OVERLOADED, Code.AUDIT_UNAVAILABLE} and self._append(
            self._refusal_record(case, refusal.code, code_hash),
        )
        meta = Meta(
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=received.session_id or None,
        )
        binding = binding_message(
            code_hash=code_hash,
            target=received.target,
            shape=received.shape,
            profile=None,
            policy_digest=self._digest,
            decision_id=case.decision_id,
            request_id=received.request_id,
        )
        return Answer(refusal.code, refusal.envelope(meta), binding)

    def _refusal_record(self, case: _Case, code: Code, code_hash: str) -> AuditRecord:
        received = case.reading.received
        return AuditRecord(
            kind=Kind.DECISION,
            decision_id=case.decision_id,
            session=received.session_id or None,
            request_id=received.request_id or None,
            target=received.target,
            shape=received.shape,
            outcome=Outcome.ERROR if REGISTRY[code].is_infrastructure else Outcome.DENY,
            code=code,
            code_hash=code_hash,
            code_length=len(received.code),
            policy_digest=self._digest,
            ruleset=self._provenance.ruleset_digest,
            grammar=self._provenance.grammar_version,
            version=self._provenance.service_version,
            elapsed_us=case.elapsed_us,
        )

    def _append(self, record: AuditRecord) -> bool:
        try:
            self._audit_log.append(record)
        except AuditUnavailable as failure:
            LOG.error("%s", failure)  # noqa: TRY400 - the cause is in the text
            return False
        return self._audit_log.audits
