"""Who may ask: every call carries the token or is signed with it, but those of health, open to probes."""

from __future__ import annotations

import hmac
import os
import re
from typing import TYPE_CHECKING, Any, Final, Protocol

import grpc
from grpc_health.v1 import health_pb2

from evalward.challenge import AUTH, Challenge, SignedCall, read_header
from evalward.errors import Code, Meta, error_envelope
from evalward.server.transport.rich_status import rich_status
from evalward.server.transport.signed_calls import ALTERED, Nonces, ProvenContext, proving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalward.errors import Provenance

TOKEN: Final = re.compile(rb"[!-~]{16,512}")
"""A token: 16 to 512 printable ASCII characters without a space."""
UNTOLD: Final = "The call does not carry the service's token."
UNSIGNED: Final = "The call is not signed with the service's token."

_OPEN: Final = f"/{health_pb2.DESCRIPTOR.services_by_name['Health'].full_name}/"


class TokenSource(Protocol):
    """Knows the tokens that are good now."""

    def accepts(self, sent: bytes) -> bool:
        """Say whether ``sent``, the value of the header, carries one."""
        ...

    def signer(self, call: SignedCall) -> str | None:
        """Return the one that ``call`` is signed with, None when it is signed with none of them."""
        ...


class Tokens:
    """Some tokens, any of which will do. Equal when they are the same."""

    __slots__ = ("_expected", "_tokens")

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = tuple(dict.fromkeys(tokens))
        self._expected = tuple(f"Bearer {token}".encode() for token in self._tokens)

    def accepts(self, sent: bytes) -> bool:
        """Say whether ``sent`` is ``Bearer <token>``; every token is compared, in constant time."""
        found = [hmac.compare_digest(sent, expected) for expected in self._expected]
        return any(found)

    def signer(self, call: SignedCall) -> str | None:
        """Return the token that ``call`` is signed with; every one is tried, in constant time."""
        found = [token for token in self._tokens if call.is_signed_with(token)]
        return found[0] if found else None

    def __len__(self) -> int:
        return len(self._expected)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and self._expected == other._expected

    __hash__ = None  # type: ignore[assignment]  # nobody needs one, and none can leak


class TokenGate(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Answers UNAUTHENTICATED, before anything is read, to a call that shows none of ``tokens``.

    A call carries one, or is signed with one: then its answers are, too (``evalward.challenge``). Each refusal goes to
    ``tally``, which counts and never waits: a flood of strangers must not fill the disk.
    """

    def __init__(
        self, tokens: TokenSource, provenance: Callable[[], Provenance], *, tally: Callable[[Code], None]
    ) -> None:
        self._tokens = tokens
        self._provenance = provenance
        self._tally = tally
        self._nonces = Nonces()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Let the call through, or return a handler that refuses it."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if method.startswith(_OPEN):
            return handler
        metadata = handler_call_details.invocation_metadata
        signed = [value for key, value in metadata if key == AUTH]
        if signed:
            return self._signed(handler, read_header(method, str(signed[0])) if len(signed) == 1 else None)
        # What is not built is not told to strangers either, and their requests are not waited for.
        return handler if self._carries_token(metadata) else self._refusal(UNTOLD)

    def _signed(
        self, handler: grpc.RpcMethodHandler[Any, Any] | None, call: SignedCall | None
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        token = None if call is None else self._tokens.signer(call)
        if call is None or token is None:
            return self._refusal(UNSIGNED)
        if handler is None:
            return None
        fault = self._nonces.fault(call)
        if fault is not None:
            # Who knows the token is told why, and can tell that it is the service that says so.
            of = Challenge(token, call.mac)
            return grpc.stream_stream_rpc_method_handler(
                lambda _requests, context: self._refuse(fault, ProvenContext(context, of))
            )
        return proving(handler, call, token, altered=lambda context: self._refuse(ALTERED, context))

    def _carries_token(self, metadata: Any) -> bool:
        given = [value for key, value in metadata if key == "authorization"]
        sent = given[0] if len(given) == 1 else ""
        return self._tokens.accepts(sent.encode() if isinstance(sent, str) else sent)

    def _refusal(self, message: str) -> grpc.RpcMethodHandler[Any, Any]:
        return grpc.stream_stream_rpc_method_handler(
            lambda _requests, context: self._refuse(message, context)
        )

    def _refuse(self, message: str, context: Any) -> Any:
        self._tally(Code.UNAUTHENTICATED)
        meta = Meta(
            elapsed_ms=0, decision_id=os.urandom(16).hex(), provenance=self._provenance(), audited=False
        )
        context.abort_with_status(rich_status(error_envelope(Code.UNAUTHENTICATED, message, meta=meta)))
