"""Envelopes and registry rows as protobuf messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.errors import ErrorRow
    from evalward.sandbox import Evaluation


def typed_error(envelope: dict[str, Any]) -> pb.Error:
    """Return the typed fields of an error envelope."""
    details = envelope.get("details", {})
    error = pb.Error(
        code=envelope["code"],
        number=envelope["number"],
        domain=envelope["domain"],
        category=envelope["category"],
        cause=envelope["cause"],
        message=envelope["error"],
        hint=envelope["hint"],
        retryable=envelope["retryable"],
        http=envelope["http"],
        next_actions=envelope.get("next_actions", ()),
        recovery_hints=envelope["recovery_hints"],
        similar_refs=envelope.get("similar_refs", ()),
        construct=details.get("construct") or "",
        keyword=details.get("keyword") or "",
    )
    _add_repair(error, details)
    place = details.get("location") or details.get("where")
    if place:
        error.location.CopyFrom(_location(place))
    error.findings.extend(
        pb.Finding(
            construct=each.get("construct", ""),
            keyword=each.get("keyword", ""),
            location=_location(each["location"]) if each["location"] else None,
        )
        for each in details.get("findings", ())
    )
    return error


def _add_repair(error: pb.Error, details: dict[str, Any]) -> None:
    """Set the self-repair fields (``evalward.errors.self_repair``), which have the same names and types there."""
    error.field = details.get("field", "")
    error.allowed.extend(details.get("allowed", ()))
    error.required.extend(details.get("required", ()))
    error.limit = details.get("limit", "")
    error.pattern = details.get("pattern", "")
    error.types.extend(details.get("types", ()))
    if "limit_value" in details:
        error.limit_value = details["limit_value"]
    if "actual" in details:
        error.actual = details["actual"]
    for bound, number in details.get("range", {}).items():
        setattr(error.range, bound, number)


def _location(place: dict[str, int]) -> pb.Location:
    return pb.Location(
        line=place["line"], column=place["column"], start=place.get("start", 0), end=place.get("end", 0)
    )


def evaluated_message(evaluation: Evaluation) -> pb.Evaluated:
    """Return the outcome of a completed run."""
    return pb.Evaluated(
        result_json=evaluation.result or b"",
        console=[line.text for line in evaluation.console],
        console_truncated=evaluation.console_dropped > 0,
    )


def usage_message(evaluation: Evaluation, elapsed_us: int) -> pb.EvaluateUsage:
    """Return the resource usage of a run."""
    return pb.EvaluateUsage(fuel=evaluation.fuel, memory_bytes=evaluation.memory, elapsed_us=elapsed_us)


def code_message(row: ErrorRow) -> pb.ErrorCode:
    """Return one row of the registry."""
    return pb.ErrorCode(
        code=row.code,
        number=row.number,
        domain=row.domain,
        category=row.category,
        cause=row.cause,
        http=row.http,
        grpc_status=row.grpc_status or "",
        retryable=row.retryable,
        hint=row.hint,
        recovery_hints=row.recovery_hints,
        next_actions=row.next_actions,
    )
