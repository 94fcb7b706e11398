"""Authentication by token: every call except health carries a token or is signed with one."""

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
NOT_AUTHENTICATED: Final = "The call does not carry the service's token."
NOT_SIGNED: Final = "The call is not signed with the service's token."

_OPEN: Final = f"/{health_pb2.DESCRIPTOR.services_by_name['Health'].full_name}/"


class TokenSource(Protocol):
    """The currently valid tokens."""

    def accepts(self, sent: bytes) -> bool:
        """Whether ``sent``, the value of the authorization header, carries a valid token."""
        ...

    def signer(self, call: SignedCall) -> str | None:
        """Return the token that signed ``call``, None if none did."""
        ...


class Tokens:
    """A set of tokens, any of which is accepted."""

    __slots__ = ("_expected", "_tokens")

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = tuple(dict.fromkeys(tokens))
        self._expected = tuple(f"Bearer {token}".encode() for token in self._tokens)

    def accepts(self, sent: bytes) -> bool:
        """Whether ``sent`` is ``Bearer <token>``; every token is compared, in constant time."""
        found = [hmac.compare_digest(sent, expected) for expected in self._expected]
        return any(found)

    def signer(self, call: SignedCall) -> str | None:
        """Return the token that signed ``call``; every token is tried, in constant time."""
        found = [token for token in self._tokens if call.is_signed_with(token)]
        return found[0] if found else None

    def __len__(self) -> int:
        return len(self._expected)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and self._expected == other._expected

    __hash__ = None  # type: ignore[assignment]  # unused, so none can leak


class TokenGate(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Rejects calls without one of ``tokens`` with UNAUTHENTICATED, before anything is read.

    A call carries a token or is signed with one; then its responses are signed too (``evalward.challenge``). ``tally``
    counts rejections without waiting: a flood of unauthenticated calls must not fill the disk.
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
        """Return the handler of the call, or one that rejects it."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if method.startswith(_OPEN):
            return handler
        metadata = handler_call_details.invocation_metadata
        signed = [value for key, value in metadata if key == AUTH]
        if signed:
            return self._signed(handler, read_header(method, str(signed[0])) if len(signed) == 1 else None)
        # Unauthenticated callers do not learn which RPCs exist, and their requests are not read.
        return handler if self._carries_token(metadata) else self._refusal(NOT_AUTHENTICATED)

    def _signed(
        self, handler: grpc.RpcMethodHandler[Any, Any] | None, call: SignedCall | None
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        token = None if call is None else self._tokens.signer(call)
        if call is None or token is None:
            return self._refusal(NOT_SIGNED)
        if handler is None:
            return None
        fault = self._nonces.fault(call)
        if fault is not None:
            # The caller knows the token, so it gets the reason, with a proof that the service sent it.
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
