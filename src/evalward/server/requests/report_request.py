"""Decode and check a ReportDenialRequest; an invalid one raises CodedError."""

from __future__ import annotations

from typing import NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.server.requests.validate_request import CALLER_TEXT, Received, RequestReader
from evalward.v1 import evalward_pb2 as pb


class DenialReport(NamedTuple):
    """The decision that the report is about, and the label that it names."""

    decision_id: str
    construct: str


class ReportReader(RequestReader):
    """A ReportDenialRequest during reading: it has neither a target nor a payload."""

    __slots__ = ()
    target_field = None
    payload_field = None

    def report(self) -> DenialReport:
        """Read the whole request; raise CodedError for the first error."""
        message = self.message(pb.ReportDenialRequest)
        self.received = Received(arguments=b"")
        for name in ("decision_id", "construct"):
            if not getattr(message, name):
                raise CodedError(
                    Code.MISSING_FIELD, f"The report has no {name}.", repair=Repair.missing(f"/{name}")
                )
        if CALLER_TEXT.fullmatch(message.decision_id) is None:
            raise CodedError(
                Code.INVALID_INPUT,
                "The report's decision_id is not the id of a decision.",
                repair=Repair(field="/decision_id", pattern=CALLER_TEXT.pattern),
            )
        return DenialReport(message.decision_id, message.construct)
