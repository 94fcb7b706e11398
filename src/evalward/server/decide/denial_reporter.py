"""ReportDenial: a caller tells that the program of its allow was denied something while it ran."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evalward.errors import Code, CodedError, Meta, Repair, success_envelope
from evalward.guard.constructs.labels import catalogue_label, is_known_label
from evalward.server.decide.decisions import Decision
from evalward.server.decide.load_shedding import check_open, overloaded
from evalward.server.decide.reportable import BURST
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.requests.report_request import ReportReader

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.server.decide.audit_trail import AuditTrail
    from evalward.server.decide.decider import Decider
    from evalward.server.decide.reportable import ReportableDecisions
    from evalward.server.requests.caller import Caller


class DenialReporter:
    """Decides ReportDenial requests. A refused report gets no record of its own: a flood cannot fill the log."""

    def __init__(
        self,
        decider: Decider,
        audit_trail: AuditTrail,
        provenance: Provenance,
        decisions: ReportableDecisions,
    ) -> None:
        self._decider = decider
        self._audit_trail = audit_trail
        self._provenance = provenance
        self._decisions = decisions

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = UNKNOWN_CALLER
    ) -> Decision:
        """Decide the serialised ReportDenialRequest ``wire``; never raises. Parameters as in ``Decider.decide``."""
        reader = ReportReader(wire)
        request = RequestContext(reader, remaining, caller)
        return self._decider.guarded(
            request,
            lambda: self._reported(request, reader, remaining, stopping=stopping),
            is_recorded=False,
        )

    def _reported(
        self, request: RequestContext, reader: ReportReader, remaining: float | None, *, stopping: bool
    ) -> Decision:
        check_open(remaining, stopping=stopping)
        caller = request.caller.requester.caller
        if not self._decisions.has_room(caller):
            raise overloaded("denial_reports", BURST)
        report = reader.report()
        if not is_known_label(report.construct):
            raise CodedError(
                Code.INVALID_INPUT,
                "The report names no construct of the catalogue.",
                repair=Repair(field="/construct"),
            )
        record = self._decisions.find(caller, report.decision_id)
        if record is None:
            raise CodedError(
                Code.INVALID_INPUT,
                "No decision of this caller with a hardened program has this id, or it is too old.",
                repair=Repair(field="/decision_id"),
            )
        label = catalogue_label(report.construct)
        if not self._decisions.is_reported(report.decision_id):
            made = replace(
                record, construct=label, trace_id=request.caller.trace_id, elapsed_us=request.elapsed_us
            )
            self._audit_trail.report(request, made)
            self._decisions.reported(report.decision_id, label)
        meta = Meta(
            elapsed_ms=request.elapsed_ms,
            decision_id=report.decision_id,
            provenance=self._provenance,
            audited=True,
        )
        body = success_envelope({"construct": label}, meta=meta)
        return Decision(None, body, self._decider.request_binding(request), denied=label)
