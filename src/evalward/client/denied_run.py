"""A hardened program that stopped at a denial: how drivers deliver it, and the envelope that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evalward.client.guard_reply import UNKNOWN, Decision, Unproven, read_envelope
from evalward.client.proof import check_error
from evalward.errors import Meta, Provenance, denied_construct, run_time_denial

if TYPE_CHECKING:
    from evalward.v1 import evalward_pb2 as pb

_NAMED: Final = "EvalwardDenied: "
_MOST_TEXT: Final = 4_096


@dataclass(frozen=True, slots=True)
class DenialReport:
    """The guard's answer to a report. ``recorded`` is true if and only if the audit log has it.

    ``code`` is None exactly when ``recorded`` is true; ``envelope`` is the answer as JSON data.
    """

    recorded: bool
    code: str | None
    envelope: dict[str, Any]

    @classmethod
    def denied(cls, denial: Decision) -> DenialReport:
        """Return ``denial`` as a report that was not recorded."""
        return cls(recorded=False, code=denial.code, envelope=denial.envelope)


def report_from(decision_id: str, response: pb.ReportDenialResponse) -> DenialReport:
    """Return the answer in ``response``; raise Unproven when it is not one about ``decision_id``."""
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    recorded = outcome == "reported"
    envelope = read_envelope(response.envelope, ok=recorded)
    if not recorded:
        check_error(response.error, envelope)
        return DenialReport(recorded=False, code=str(envelope["code"]), envelope=envelope)
    if envelope["_meta"].get("decision_id") != decision_id:
        raise Unproven("the reply is about another decision")
    return DenialReport(recorded=True, code=None, envelope=envelope)


def construct_in_error(error: BaseException) -> str | None:
    """Return the construct whose denial ``error`` tells, which a driver raised; None for any other error.

    Playwright and Puppeteer tell the error's name and message, chromedriver the message alone.
    """
    return denied_construct(str(error)[:_MOST_TEXT])


def construct_in_result(result: Any) -> str | None:
    """Return the construct whose denial a sink returned as data; None for any other result.

    Data of this kind are an exception, its text, the ``exceptionDetails`` of the DevTools protocol, with or without the
    frame of its message, and an envelope: ``{ok: false, error}`` with the text of the error.
    """
    if isinstance(result, BaseException):
        return construct_in_error(result)
    if isinstance(result, str):
        return denied_construct(result[:_MOST_TEXT]) if result.startswith(_NAMED) else None
    if not isinstance(result, Mapping):
        return None
    error = result.get("error")
    if result.get("ok") is False and isinstance(error, str):
        return denied_construct(error[:_MOST_TEXT])
    inner = result.get("result")
    found = _thrown(result)
    return found if found is not None or not isinstance(inner, Mapping) else _thrown(inner)


def _thrown(reply: Mapping[Any, Any]) -> str | None:
    details = reply.get("exceptionDetails")
    if not isinstance(details, Mapping):
        return None
    thrown = details.get("exception")
    description = thrown.get("description") if isinstance(thrown, Mapping) else None
    text = description if isinstance(description, str) else details.get("text")
    return denied_construct(text[:_MOST_TEXT]) if isinstance(text, str) else None


def denied_run(allow: Decision, construct: str, *, is_reported: bool) -> Decision:
    """Return the denial of the program that ``allow`` carried; ``is_reported``: the audit log has it."""
    stated = allow.envelope.get("_meta", {})
    try:
        provenance = Provenance(**stated["provenance"])
    except (KeyError, TypeError):
        provenance = UNKNOWN
    meta = Meta(
        elapsed_ms=0,
        decision_id=allow.decision_id,
        provenance=provenance,
        audited=is_reported,
        session_id=stated.get("session_id"),
    )
    details = {"code_hash": allow.code_hash, "hardened_hash": allow.hardened_hash}
    envelope = run_time_denial(construct, meta=meta, details=details)
    return Decision(
        allowed=False,
        code=str(envelope["code"]),
        envelope=dict(envelope),
        code_hash=allow.code_hash,
        decision_id=allow.decision_id,
    )
