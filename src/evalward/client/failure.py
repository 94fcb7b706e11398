"""Whatever goes wrong between a question and its verdict, as the denial that it is (contract.md §3, §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no py.typed

from evalward.client.decision import Decision, Unproven, denial, read_envelope
from evalward.errors import Code
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.client.address import Link

STATUS_DETAILS: Final = "grpc-status-details-bin"
AWAY: Final = "Nothing runs while the guard is away; check that it is up, then send the same request again."

RESTARTED: Final = "The guard's process ended while it was asked, and has been started again."

# For statuses that arrive without an envelope of their own, from gRPC itself or from something on the way.
CODES: Final[Mapping[grpc.StatusCode, Code]] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: Code.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNAUTHENTICATED: Code.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED: Code.PERMISSION_DENIED,
}


def unbuilt(error: Exception) -> Decision:
    """Return the denial for a request that cannot be built; the text of ``error`` may hold payload."""
    return denial(Code.INVALID_INPUT, f"The request cannot be built ({type(error).__name__}).")


def unreachable(message: str) -> Decision:
    """Return the denial for a guard that is not there, ``message`` saying which."""
    return denial(Code.SHUTTING_DOWN, message, hint=AWAY, grpc_status="UNAVAILABLE")


def failed(error: Exception) -> Decision:
    """Return the denial for ``error``, whatever it is."""
    if isinstance(error, grpc.RpcError):
        try:
            return _from_status(error)
        except Exception as doubt:  # noqa: BLE001 - a status that cannot be read is a failure like any other
            error = doubt
    if isinstance(error, Unproven):
        return denial(Code.INTERNAL, f"The guard's reply is no verdict on this payload: {error}.")
    return denial(Code.INTERNAL, f"The guard could not be asked ({type(error).__name__}).")


def is_unavailable(error: Exception) -> bool:
    """Return whether the connection is the trouble, so that the next call has to wait for one."""
    return isinstance(error, grpc.RpcError) and _status(error) is grpc.StatusCode.UNAVAILABLE


def is_from_next_run(error: Exception, link: Link, run: int) -> bool:
    """Return whether a process that took the place of run ``run`` of ``link`` refused that run's token.

    Such a refusal passes: the same question with the token of the new run is answered.
    """
    if not isinstance(error, grpc.RpcError) or _status(error) is not grpc.StatusCode.UNAUTHENTICATED:
        return False
    return link.run != run or link.absence() is not None


def _from_status(failure: Any) -> Decision:
    attached = _attached_envelope(failure)
    if attached is not None:
        envelope = read_envelope(attached, ok=False)
        decision_id = str(envelope["_meta"].get("decision_id", ""))
        return Decision(allowed=False, code=envelope["code"], envelope=envelope, decision_id=decision_id)
    status = _status(failure)
    message = f"The guard answered with the gRPC status {status.name}."
    if status is grpc.StatusCode.UNAVAILABLE:
        return unreachable(message)
    return denial(CODES.get(status, Code.INTERNAL), message, grpc_status=status.name)


def _status(failure: Any) -> grpc.StatusCode:
    status: grpc.StatusCode = failure.code()
    return status


def _attached_envelope(failure: Any) -> bytes | None:
    """Return the envelope among a status's details, None when there is none."""
    for key, value in failure.trailing_metadata() or ():
        if key == STATUS_DETAILS:
            envelope = pb.ErrorEnvelope()
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(envelope):
                    return bytes(envelope.envelope)
    return None
