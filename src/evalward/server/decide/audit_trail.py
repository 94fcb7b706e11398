"""The audit records of requests: decisions, evaluations, and refusals.

If a record cannot be written, an ALLOW or a result is withheld; a denial is still returned, marked as not audited
(service.md, Audit log).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.audit import AllowForm, AuditRecord, AuditUnavailable, Kind, Outcome, decision_record
from evalward.errors import REGISTRY, Code, CodedError
from evalward.guard.constructs.labels import catalogue_label
from evalward.server.decide.load_shedding import PATIENCE_SHARE

if TYPE_CHECKING:
    from evalward.audit import AllowRecord, AuditSink
    from evalward.errors import Provenance
    from evalward.guard.verdict import Verdict
    from evalward.sandbox import Evaluation
    from evalward.server.decide.reportable import ReportableDecisions
    from evalward.server.decide.request_context import RequestContext


class AuditTrail:
    """Writes the records of one service to one audit log; each method returns whether the record was written."""

    def __init__(
        self,
        audit_log: AuditSink,
        provenance: Provenance,
        *,
        decisions: ReportableDecisions | None = None,
        manifest_digest: str | None = None,
    ) -> None:
        self._audit_log = audit_log
        self._provenance = provenance
        self._manifest_digest = manifest_digest
        self._allows = AllowForm(provenance)
        self._reportable = decisions

    def verdict(self, request: RequestContext, verdict: Verdict) -> bool:
        """Record ``verdict``; raise CodedError (AUDIT_UNAVAILABLE) when it allows and cannot be recorded."""
        audited = self.keep(request, self.verdict_record(request, verdict))
        self.check(verdict, audited=audited)
        return audited

    @staticmethod
    def check(verdict: Verdict, *, audited: bool) -> None:
        """Raise CodedError (AUDIT_UNAVAILABLE) for a ``verdict`` that allows and is not recorded."""
        if verdict.allowed and not audited:
            raise CodedError(
                Code.AUDIT_UNAVAILABLE,
                "The payload may not run, since its audit record could not be written.",
            )

    def verdict_record(self, request: RequestContext, verdict: Verdict) -> AuditRecord | AllowRecord:
        """Return the record of ``verdict`` without writing it."""
        received, caller = request.reader.received, request.caller
        fingerprint = self._audit_log.fingerprint(verdict.code_hash, received.code)
        plain = None
        if request.tool is None and request.field_path is None:
            plain = self._allows.record(
                verdict,
                decision_id=request.decision_id,
                fingerprint=fingerprint,
                elapsed_us=request.elapsed_us,
                trace_id=caller.trace_id,
                principal=caller.principal,
                session=received.session_id or None,
                request_id=received.request_id or None,
            )
        return plain or decision_record(
            verdict,
            decision_id=request.decision_id,
            provenance=self._provenance,
            elapsed_us=request.elapsed_us,
            trace_id=caller.trace_id,
            principal=caller.principal,
            session=received.session_id or None,
            request_id=received.request_id or None,
            fingerprint=fingerprint,
            tool=request.tool,
            field_path=request.field_path,
            manifest_digest=self._manifest_digest if request.tool else None,
        )

    def evaluation(
        self,
        request: RequestContext,
        verdict: Verdict,
        evaluation: Evaluation,
        *,
        argument: bytes,
        elapsed_us: int,
    ) -> bool:
        """Record the outcome of the run that ``verdict`` allowed: sizes, fuel and time, no content.

        Raise CodedError (AUDIT_UNAVAILABLE) when the run returned a result and cannot be recorded.
        """
        code = evaluation.code
        outcome = Outcome.COMPLETED
        if code is not None:
            outcome = Outcome.ERROR if REGISTRY[code].is_infrastructure else Outcome.FAILED
        fingerprint = self._audit_log.fingerprint(verdict.code_hash, request.reader.received.code)
        audited = self.keep(
            request,
            AuditRecord(
                kind=Kind.EVALUATION,
                decision_id=request.decision_id,
                trace_id=request.caller.trace_id,
                principal=request.caller.principal,
                session=request.reader.received.session_id or None,
                request_id=request.reader.received.request_id or None,
                target=verdict.target,
                shape=evaluation.shape,
                profile=verdict.profile,
                enforcement=verdict.enforcement,
                outcome=outcome,
                code=code,
                hash_alg=fingerprint.hash_alg,
                code_hash=fingerprint.code_hash,
                fnv1a32=fingerprint.fnv1a32,
                code_length=verdict.code_length,
                construct=None if evaluation.construct is None else catalogue_label(evaluation.construct),
                hardened_hash=None if verdict.hardened is None else verdict.hardened.sha256,
                policy_digest=self._provenance.policy_digest,
                ruleset=self._provenance.ruleset_digest,
                grammar=self._provenance.grammar_version,
                version=self._provenance.service_version,
                elapsed_us=elapsed_us,
                argument_bytes=len(argument),
                result_bytes=len(evaluation.result or b""),
                console_bytes=sum(len(line.text.encode()) for line in evaluation.console),
                fuel=evaluation.fuel,
                memory_bytes=evaluation.memory,
            ),
        )
        if code is None and not audited:
            raise CodedError(
                Code.AUDIT_UNAVAILABLE,
                "The result is withheld, since the evaluation's audit record could not be written.",
            )
        return audited

    def remember(self, request: RequestContext, verdict: Verdict) -> None:
        """Let the caller of an allow with a program report what the program is denied."""
        if self._reportable is None or verdict.hardened is None:
            return
        received, caller = request.reader.received, request.caller
        fingerprint = self._audit_log.fingerprint(verdict.code_hash, received.code)
        self._reportable.add(
            caller.requester.caller,
            AuditRecord(
                kind=Kind.RUN_TIME_DENIAL,
                decision_id=request.decision_id,
                principal=caller.principal,
                session=received.session_id or None,
                request_id=received.request_id or None,
                tool=request.tool,
                target=verdict.target,
                shape=verdict.shape,
                sink=verdict.sink,
                profile=verdict.profile,
                enforcement=verdict.enforcement,
                outcome=Outcome.DENY,
                code=Code.EVAL_DENIED_AT_RUN_TIME,
                hash_alg=fingerprint.hash_alg,
                code_hash=fingerprint.code_hash,
                fnv1a32=None if received.arguments is not None else fingerprint.fnv1a32,
                code_length=verdict.code_length,
                hardened_hash=verdict.hardened.sha256,
                policy_digest=self._provenance.policy_digest,
                manifest_digest=self._manifest_digest if request.tool else None,
                ruleset=self._provenance.ruleset_digest,
                grammar=self._provenance.grammar_version,
                version=self._provenance.service_version,
            ),
        )

    def report(self, request: RequestContext, record: AuditRecord) -> None:
        """Write the ``record`` of a report; raise CodedError (AUDIT_UNAVAILABLE) when it cannot be written."""
        if not self.keep(request, record):
            raise CodedError(Code.AUDIT_UNAVAILABLE, "The report could not be written to the audit log.")

    def tally(self, code: Code) -> None:
        """Count a refusal that gets no record of its own."""
        self._audit_log.tally(code)

    def command(self, request: RequestContext) -> bool:
        """Record an allowed call that evaluates nothing; raise CodedError when it cannot be recorded.

        The arguments are not recorded, not even as a digest: the digest of a short word can be guessed.
        """
        audited = self.keep(
            request,
            AuditRecord(
                kind=Kind.DECISION,
                decision_id=request.decision_id,
                trace_id=request.caller.trace_id,
                principal=request.caller.principal,
                session=request.reader.received.session_id or None,
                request_id=request.reader.received.request_id or None,
                tool=request.tool,
                outcome=Outcome.ALLOW,
                policy_digest=self._provenance.policy_digest,
                manifest_digest=self._manifest_digest,
                ruleset=self._provenance.ruleset_digest,
                grammar=self._provenance.grammar_version,
                version=self._provenance.service_version,
                elapsed_us=request.elapsed_us,
            ),
        )
        if not audited:
            raise CodedError(
                Code.AUDIT_UNAVAILABLE,
                "The call may not proceed, since its audit record could not be written.",
            )
        return audited

    def refusal(self, request: RequestContext, code: Code, code_hash: str) -> bool:
        """Record that the request ended with ``code``, without a verdict or without a result."""
        record = self.refusal_record(request, code, code_hash)
        return record is not None and self.keep(request, record)

    def refusal_record(self, request: RequestContext, code: Code, code_hash: str) -> AuditRecord | None:
        """Return the record of a refusal without writing it; None: a refusal without a record."""
        # The sink has just failed.
        if code is Code.AUDIT_UNAVAILABLE:
            return None
        # A flood of overload rejections must not fill the disk; after an ALLOW each one is recorded.
        if code is Code.OVERLOADED and request.stage is Kind.DECISION:
            self._audit_log.tally(code)
            return None
        refused = Outcome.DENY if request.stage is Kind.DECISION else Outcome.FAILED
        received = request.reader.received
        is_call = received.arguments is not None
        fingerprint = None if is_call else self._audit_log.fingerprint(code_hash, received.code)
        return AuditRecord(
            kind=request.stage,
            decision_id=request.decision_id,
            trace_id=request.caller.trace_id,
            principal=request.caller.principal,
            session=received.session_id or None,
            request_id=received.request_id or None,
            tool=request.tool,
            target=received.target,
            shape=received.shape,
            outcome=Outcome.ERROR if REGISTRY[code].is_infrastructure else refused,
            code=code,
            hash_alg=fingerprint and fingerprint.hash_alg,
            code_hash=fingerprint and fingerprint.code_hash,
            fnv1a32=fingerprint and fingerprint.fnv1a32,
            code_length=None if is_call else len(received.code),
            count=received.items,
            manifest_digest=self._manifest_digest if request.tool else None,
            policy_digest=self._provenance.policy_digest,
            ruleset=self._provenance.ruleset_digest,
            grammar=self._provenance.grammar_version,
            version=self._provenance.service_version,
            elapsed_us=request.elapsed_us,
        )

    def keep(self, request: RequestContext, *records: AuditRecord | AllowRecord) -> bool:
        """Write ``records`` in one append before the deadline of ``request``; return whether all are written."""
        left = request.left
        # After the deadline no caller waits for the reply, but the record is still needed.
        patience = left * PATIENCE_SHARE if left is not None and left > 0 else None
        try:
            self._audit_log.append(*records, patience=patience)
        except AuditUnavailable:
            return False
        return self._audit_log.audits
