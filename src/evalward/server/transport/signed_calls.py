"""Signed calls (``evalward.challenge``): verify the signature and the nonce, and sign the responses.

The header is verified before the request is read. A call is accepted once: its nonce is kept until its time window has
passed, and at most ``MOST_NONCES`` nonces are kept. Beyond that the oldest is dropped, and calls that claim to be as
old are rejected: memory is bounded and no call is accepted twice. Calls from before the start are rejected too, since
the earlier nonces are unknown. These rules expire by the monotonic clock, so that setting the clock back excludes
callers for no longer than that.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import grpc

from evalward.challenge import PROOF, STREAM, Challenge, SignedCall, Transcript, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WINDOW_MS: Final = 60_000
"""The maximum difference between the call's time and the service's, in either direction."""
KEPT_SECONDS: Final = 2 * WINDOW_MS / 1000
"""How long a call can be within the window."""
MOST_NONCES: Final = 262_144
STATUS_DETAILS: Final = "grpc-status-details-bin"

TOO_FAR: Final = "The call's time differs from the service's by more than 60 seconds: set the clocks."
TOO_OLD: Final = (
    "The call is older than the service's start or than the nonces it remembers: repeat the call."
)
REPEATED: Final = "The call repeats a nonce: each call needs its own."
ALTERED: Final = "The request differs from the signed one."


class Nonces:
    """The nonces of recent calls; call ``fault`` once per call."""

    def __init__(
        self,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        seconds: Callable[[], float] = time.monotonic,
        most: int = MOST_NONCES,
    ) -> None:
        self._now_ms = now_ms
        self._seconds = seconds
        self._most = most
        self._seen: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._floor = now_ms()
        self._floor_ends = seconds() + KEPT_SECONDS
        self._lock = threading.Lock()

    def fault(self, call: SignedCall) -> str | None:
        """Register ``call``, whose MAC is valid; return why it is rejected, None if it is accepted."""
        with self._lock:
            now, at = self._now_ms(), self._seconds()
            while self._seen and next(iter(self._seen.values()))[1] < at - KEPT_SECONDS:
                self._seen.popitem(last=False)
            if at > self._floor_ends:
                self._floor = 0
            if abs(call.milliseconds - now) > WINDOW_MS:
                return TOO_FAR
            if call.nonce in self._seen:
                return REPEATED
            if call.milliseconds <= self._floor:
                return TOO_OLD
            self._seen[call.nonce] = (call.milliseconds, at)
            if len(self._seen) > self._most:
                _, (oldest, _) = self._seen.popitem(last=False)
                self._floor = max(self._floor, oldest)
                self._floor_ends = at + KEPT_SECONDS
        return None

    def __len__(self) -> int:
        return len(self._seen)


class ProvenContext:
    """The context of a call whose statuses carry proofs; ``token`` is the token that signed the call.

    Everything else is delegated to the original context.
    """

    def __init__(self, context: grpc.ServicerContext, of: Challenge) -> None:
        self._context = context
        self._challenge = of
        self.token = of.token

    def abort_with_status(self, status: grpc.Status) -> Any:
        """End the call with ``status`` and the proof of its details."""
        self._context.abort_with_status(_Status(status, self._proven(status.trailing_metadata)))

    def set_trailing_metadata(self, trailing: Any) -> None:
        """Set ``trailing`` and the proof of its details, for a status that the handler sets itself."""
        self._context.set_trailing_metadata(self._proven(trailing))

    def _proven(self, trailing: Any) -> tuple[Any, ...]:
        given = tuple(trailing or ())
        details = [value for key, value in given if key == STATUS_DETAILS and isinstance(value, bytes)]
        return (*given, *((PROOF, self._challenge.status_proof(value)) for value in details))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class _Status(grpc.Status):
    """A status with other trailing metadata."""

    def __init__(self, status: grpc.Status, trailing: tuple[tuple[str, str | bytes], ...]) -> None:
        self.code = status.code
        self.details = status.details
        self.trailing_metadata = trailing


def proving(
    handler: grpc.RpcMethodHandler[Any, Any],
    call: SignedCall,
    token: str,
    *,
    altered: Callable[[grpc.ServicerContext], Any],
) -> grpc.RpcMethodHandler[Any, Any]:
    """Return ``handler`` with its request verified against ``call``, and its responses proven with ``token``.

    ``altered`` rejects a request that was not the signed one. Raise TypeError for a server-streaming handler: the
    service has none.
    """
    if handler.response_streaming and not handler.request_streaming:
        raise TypeError("a handler of one request and many replies cannot prove them")
    of = Challenge(token, call.mac)
    if handler.response_streaming:
        sends = getattr(handler.stream_stream, "experimental_non_blocking", False)
        kind = _SendingStream if sends else _Stream
        return grpc.stream_stream_rpc_method_handler(kind(handler, call, of, altered))
    return grpc.stream_unary_rpc_method_handler(_Unary(handler, call, of, altered))


class _Proving:
    """A handler behind the challenge ``of`` one call."""

    def __init__(
        self, handler: Any, call: SignedCall, of: Challenge, altered: Callable[[grpc.ServicerContext], Any]
    ) -> None:
        self.handler = handler
        self.call = call
        self.of = of
        self.altered = altered
        self.read: Callable[[bytes], Any] = handler.request_deserializer or _as_it_is
        self.write: Callable[[Any], bytes] = handler.response_serializer or _as_it_is


class _Unary(_Proving):
    """One request with a signed digest, and one response followed by its proof."""

    def __call__(self, wires: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        proven: Any = ProvenContext(context, self.of)
        requests = self._checked(wires, proven)
        if self.handler.stream_unary is not None:
            response = self.write(self.handler.stream_unary(requests, proven))
        else:
            response = self.write(self.handler.unary_unary(next(requests), proven))
        context.set_trailing_metadata(((PROOF, self.of.reply_proof(response)),))
        return response

    def _checked(self, wires: Iterator[bytes], proven: Any) -> Iterator[Any]:
        for wire in wires:
            if digest_of(wire) != self.call.digest:
                self.altered(proven)
            yield self.read(wire)


class _Stream(_Proving):
    """Many requests and responses: each response proves everything before it."""

    def __call__(self, wires: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        proven, transcript, requests = self._begun(wires, context)
        for response in self.handler.stream_stream(requests, proven):
            yield transcript.proven(self.write(response))

    def _begun(
        self, wires: Iterator[bytes], context: grpc.ServicerContext
    ) -> tuple[Any, Transcript, Iterator[Any]]:
        proven: Any = ProvenContext(context, self.of)
        transcript = Transcript(self.of)
        if self.call.digest != STREAM:
            self.altered(proven)

        def noted() -> Iterator[Any]:
            for wire in wires:
                transcript.request(wire)
                yield self.read(wire)

        return proven, transcript, noted()


class _SendingStream(_Stream):
    """A stream whose handler sends its own responses (grpcio attribute); None ends it."""

    experimental_non_blocking = True

    def __call__(  # type: ignore[override]  # what grpcio calls such a handler with
        self, wires: Iterator[bytes], context: grpc.ServicerContext, send: Callable[[bytes | None], None]
    ) -> None:
        proven, transcript, requests = self._begun(wires, context)

        def proving_send(response: Any) -> None:
            send(None if response is None else transcript.proven(self.write(response)))

        self.handler.stream_stream(requests, proven, proving_send)


def _as_it_is(message: Any) -> Any:
    return message
