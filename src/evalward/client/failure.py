"""Turns every failure of a call into a denial (contract.md §3, §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no py.typed

from evalward.challenge import PROOF
from evalward.client.diagnosis import FINDINGS, Reason, reason_of
from evalward.client.guard_reply import Decision, Unproven, denial, read_envelope
from evalward.client.peer import WrongPeer
from evalward.client.request_fields import Unsendable
from evalward.client.too_large import TooLarge, refused_message
from evalward.errors import Code, Repair
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.challenge import Challenge
    from evalward.client.address import Link

STATUS_DETAILS: Final = "grpc-status-details-bin"

RESTARTED: Final = "The guard's process ended during the call, and was started again."
CLOSED: Final = "This client has been closed."
FORGED: Final = "The reply does not prove knowledge of the token, so it is not from the guard"
MISUNDERSTOOD: Final = (
    "The guard has another token, or its version does not support signed calls over plain TCP: connect over TLS"
    " or a Unix socket."
)

# For statuses without an envelope, which come from gRPC itself or from an intermediary.
CODES: Final[Mapping[grpc.StatusCode, Code]] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: Code.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNAUTHENTICATED: Code.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED: Code.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Code.OVERLOADED,
}


def unbuilt(error: Exception) -> Decision:
    """Return the denial for a request that cannot be built, without the text of an unknown ``error``."""
    if not isinstance(error, Unsendable):
        return denial(Code.INVALID_INPUT, f"The request cannot be built ({type(error).__name__}).")
    if isinstance(error, TooLarge):
        return denial(error.code, f"The request is not sent: {error}.", repair=error.repair)
    repair = Repair(field=error.pointer, allowed=error.allowed or None)
    return denial(error.code, f"The request cannot be built: {error}.", repair=repair)


def unreachable(target: str, reason: Reason) -> Decision:
    """Return the denial for the guard at ``target``, which cannot be reached because of ``reason``."""
    found = FINDINGS[reason]
    message = f"The guard at {target} cannot be reached: {found.message} (gRPC status UNAVAILABLE)."
    return denial(found.code, message, hint=found.hint, grpc_status="UNAVAILABLE", reason=reason.value)


def absent(message: str) -> Decision:
    """Return the denial for a guard that is known to be unavailable; ``message`` says why."""
    found = FINDINGS[Reason.STOPPED]
    return denial(
        found.code, message, hint=found.hint, grpc_status="UNAVAILABLE", reason=Reason.STOPPED.value
    )


def unproven_peer(why: str) -> Decision:
    """Return the denial for a peer that is not proven to be the guard."""
    return denial(Code.SERVICE_UNPROVEN, f"{why}.")


def refused_socket(error: OSError | WrongPeer, target: str) -> Decision:
    """Return the denial for a socket that does not belong to ``peer_uid``, or cannot be checked."""
    if isinstance(error, WrongPeer):
        return unproven_peer(f"The socket may not be the guard's: {error}")
    return unreachable(target, reason_of(error) or Reason.NO_ANSWER)


def failed(error: Exception, signed: Challenge | None = None) -> Decision:
    """Return the denial for any ``error``; with ``signed`` the envelope of a status counts only if it is signed."""
    if isinstance(error, grpc.RpcError):
        try:
            return _from_status(error, signed)
        except Exception as doubt:  # noqa: BLE001 - a status that cannot be read is handled like any failure
            error = doubt
    if isinstance(error, Unproven):
        return denial(Code.INTERNAL, f"The guard's reply is not a verdict on this payload: {error}.")
    return denial(Code.INTERNAL, f"The guard could not be asked ({type(error).__name__}).")


def is_unavailable(error: Exception, signed: Challenge | None = None) -> bool:
    """Return whether the connection failed, and the guard gave no envelope."""
    if not isinstance(error, grpc.RpcError) or _status(error) is not grpc.StatusCode.UNAVAILABLE:
        return False
    try:
        return _attached_envelope(error, signed) is None
    except Exception:  # noqa: BLE001 - invalid details say nothing about the connection
        return False


def is_from_next_run(error: Exception, link: Link, run: int) -> bool:
    """Return whether the process that replaced run ``run`` of ``link`` rejected that run's token.

    The rejection is temporary: the same request succeeds with the token of the new run.
    """
    if not isinstance(error, grpc.RpcError) or _status(error) is not grpc.StatusCode.UNAUTHENTICATED:
        return False
    return link.run != run or link.absence() is not None


def _from_status(failure: Any, signed: Challenge | None) -> Decision:
    attached = _attached_envelope(failure, signed)
    if attached is not None:
        envelope = read_envelope(attached, ok=False)
        decision_id = str(envelope["_meta"].get("decision_id", ""))
        return Decision(allowed=False, code=envelope["code"], envelope=envelope, decision_id=decision_id)
    status = _status(failure)
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        too_large = refused_message(failure.details())
        if too_large is not None:
            return too_large
    message = f"The guard answered with the gRPC status {status.name}."
    hint = MISUNDERSTOOD if signed is not None and status is grpc.StatusCode.UNAUTHENTICATED else None
    return denial(CODES.get(status, Code.INTERNAL), message, hint=hint, grpc_status=status.name)


def _status(failure: Any) -> grpc.StatusCode:
    status: grpc.StatusCode = failure.code()
    return status


def _attached_envelope(failure: Any, signed: Challenge | None) -> bytes | None:
    """Return the envelope in the details of a status, None when there is none or it is not proven."""
    trailing = failure.trailing_metadata() or ()
    for key, value in trailing:
        if key == STATUS_DETAILS:
            if signed is not None and not _is_proven(trailing, value, signed):
                return None
            envelope = pb.ErrorEnvelope()
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(envelope):
                    return bytes(envelope.envelope)
    return None


def _is_proven(trailing: Any, details: bytes, signed: Challenge) -> bool:
    proofs = [value for key, value in trailing if key == PROOF and isinstance(value, str)]
    return len(proofs) == 1 and signed.proves_status(proofs[0], details)
