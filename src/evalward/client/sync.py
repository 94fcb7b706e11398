"""The synchronous client, which fails closed: no answer, and no lack of one, allows by default."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any, Self, TypeVar

import grpc
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no py.typed

from evalward.client.decision import Decision, Unproven, denial, read_envelope
from evalward.client.evaluation import EvaluationReply, evaluate_request, reply_from, seconds_for
from evalward.client.proof import decision_from
from evalward.errors import Code
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

T = TypeVar("T")

DEFAULT_ADDRESS = "127.0.0.1:7443"
CONNECT_SECONDS = 2.0
VALIDATE_SECONDS = 0.25
FULL_BUDGET_BYTES = 128 * 1024  # a payload above the default size limit gets proportionally more time
CHANNEL_OPTIONS = [
    # A proxy from the environment must not see payloads, nor answer in the guard's place.
    ("grpc.enable_http_proxy", 0),
    # A result comes twice, typed and in its envelope, and escaped in the second.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
]
STATUS_DETAILS = "grpc-status-details-bin"

# For statuses that arrive without an envelope of their own, from gRPC itself or from something on the way.
CODES = {
    grpc.StatusCode.DEADLINE_EXCEEDED: Code.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNAVAILABLE: Code.SHUTTING_DOWN,
    grpc.StatusCode.UNAUTHENTICATED: Code.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED: Code.PERMISSION_DENIED,
}


class GuardClient:
    """A client of one service at ``HOST:PORT`` or ``unix:PATH``.

    The address defaults to EVALWARD_ADDRESS, then to 127.0.0.1:7443.

    ``connect_timeout`` and ``timeout`` are in seconds and count separately: the first for a channel that is
    not ready, the second for each call on one that is, beside the run of an ``evaluate``. With
    ``policy_digest`` only verdicts under that policy count. Safe to share between threads; close it, or use
    it as a context manager.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        timeout: float = VALIDATE_SECONDS,
        connect_timeout: float = CONNECT_SECONDS,
        policy_digest: str | None = None,
    ) -> None:
        self.address = address or os.environ.get("EVALWARD_ADDRESS") or DEFAULT_ADDRESS
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._policy_digest = policy_digest
        self._channel = grpc.insecure_channel(self.address, options=CHANNEL_OPTIONS)
        self._stub = GuardServiceStub(self._channel)
        self._is_ready = False
        self._is_closed = False

    def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        if self._is_closed:
            return False
        if not self._is_ready:
            try:
                grpc.channel_ready_future(self._channel).result(timeout=self._connect_timeout)
            except grpc.FutureTimeoutError:
                return False
            self._is_ready = True
        return True

    def validate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        target: str,
        shape: str | None = None,
        bindings: Mapping[str, str] | None = None,
        profile: str | None = None,
        session_id: str = "",
    ) -> Decision:
        """Ask whether ``target`` may run ``code`` in ``shape``; whatever goes wrong is a denial."""
        try:
            request = _request(code, target, shape, profile, bindings)
            request.session_id = session_id
            request.request_id = secrets.token_hex(8)
        except (TypeError, ValueError) as error:
            return _unbuilt(error)
        return self._closed(lambda: self._ask(request))

    def evaluate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        arg_json: bytes | None = None,
        shape: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        seed: int | None = None,
        session_id: str = "",
    ) -> EvaluationReply:
        """Have ``code`` judged for the sandbox and run there; whatever goes wrong is a reply without result.

        ``arg_json`` is the argument as JSON text; ``limits`` are those of EvaluateLimits, and may only be
        smaller than the server's.
        """
        try:
            request = evaluate_request(
                code, arg_json=arg_json, shape=shape, profile=profile, limits=limits, seed=seed
            )
            request.session_id = session_id
            request.request_id = secrets.token_hex(8)
        except (TypeError, ValueError) as error:
            return EvaluationReply.denied(_unbuilt(error))
        answer = self._closed(lambda: self._have_run(request))
        return EvaluationReply.denied(answer) if isinstance(answer, Decision) else answer

    def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._is_closed = True
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _closed(self, step: Callable[[], T]) -> T | Decision:
        """Return what ``step`` returns, or the denial that its failure is."""
        try:
            return step()
        except Unproven as doubt:
            return denial(Code.INTERNAL, f"The guard's reply is no verdict on this payload: {doubt}.")
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return denial(Code.INTERNAL, f"The guard could not be asked ({type(error).__name__}).")

    def _ask(self, request: pb.ValidateRequest) -> Decision:
        if not self.ready():
            return self._away()
        try:
            response = self._stub.Validate(request, timeout=self._budget(request.code))
        except grpc.RpcError as failure:
            return self._failed(failure)
        return decision_from(request, response, policy_digest=self._policy_digest)

    def _have_run(self, request: pb.EvaluateRequest) -> EvaluationReply | Decision:
        if not self.ready():
            return self._away()
        seconds = self._budget(request.code) + seconds_for(request)
        try:
            response = self._stub.Evaluate(request, timeout=seconds)
        except grpc.RpcError as failure:
            return self._failed(failure)
        return reply_from(request, response, policy_digest=self._policy_digest)

    def _budget(self, code: bytes) -> float:
        return self._timeout * max(1.0, len(code) / FULL_BUDGET_BYTES)

    def _away(self) -> Decision:
        return _unreachable(f"The guard at {self.address} cannot be reached.", "UNAVAILABLE")

    def _failed(self, failure: Any) -> Decision:
        status: grpc.StatusCode = failure.code()
        if status is grpc.StatusCode.UNAVAILABLE:
            self._is_ready = False
        attached = _attached_envelope(failure)
        if attached is not None:
            envelope = read_envelope(attached, ok=False)
            decision_id = str(envelope["_meta"].get("decision_id", ""))
            return Decision(allowed=False, code=envelope["code"], envelope=envelope, decision_id=decision_id)
        message = f"The guard answered with the gRPC status {status.name}."
        if status is grpc.StatusCode.UNAVAILABLE:
            return _unreachable(message, status.name)
        return denial(CODES.get(status, Code.INTERNAL), message, grpc_status=status.name)


def _unbuilt(error: Exception) -> Decision:
    return denial(Code.INVALID_INPUT, f"The request cannot be built ({type(error).__name__}).")


def _unreachable(message: str, status: str) -> Decision:
    return denial(
        Code.SHUTTING_DOWN,
        message,
        hint="Nothing runs while the guard is away; check that it is up, then send the same request again.",
        grpc_status=status,
    )


def _request(
    code: bytes,
    target: str,
    shape: str | None,
    profile: str | None,
    bindings: Mapping[str, str] | None,
) -> pb.ValidateRequest:
    if not isinstance(code, bytes):
        raise TypeError("a payload is bytes: what is judged is what runs")
    request = pb.ValidateRequest(
        code=code,
        target=pb.Target.Value(f"TARGET_{target!s}".upper()),
        bindings=bindings or {},
    )
    if shape is not None:
        request.shape = pb.Shape.Value(f"SHAPE_{shape!s}".upper())
    if profile is not None:
        request.profile = pb.Profile.Value(f"PROFILE_{profile!s}".upper())
    return request


def _attached_envelope(failure: Any) -> bytes | None:
    """Return the envelope among a status's details, None when there is none."""
    for key, value in failure.trailing_metadata() or ():
        if key == STATUS_DETAILS:
            envelope = pb.ErrorEnvelope()
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(envelope):
                    return bytes(envelope.envelope)
    return None
