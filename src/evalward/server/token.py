"""Who may ask: every call of the service must carry the bearer token; health stays open to probes."""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from evalward.errors import Code, Meta, error_envelope
from evalward.server.status import rich_status
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalward.errors import Provenance

_SERVICE = f"/{pb.DESCRIPTOR.services_by_name['GuardService'].full_name}/"


class TokenSource(Protocol):
    """Knows the tokens that are good now."""

    def accepts(self, sent: bytes) -> bool:
        """Say whether ``sent``, the value of the header, carries one."""
        ...


class Tokens:
    """Some tokens, any of which will do. Equal when they are the same."""

    __slots__ = ("_expected",)

    def __init__(self, tokens: Iterable[str]) -> None:
        self._expected = tuple(dict.fromkeys(f"Bearer {token}".encode() for token in tokens))

    def accepts(self, sent: bytes) -> bool:
        """Say whether ``sent`` is ``Bearer <token>``; every token is compared, in constant time."""
        found = [hmac.compare_digest(sent, expected) for expected in self._expected]
        return any(found)

    def __len__(self) -> int:
        return len(self._expected)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and self._expected == other._expected

    __hash__ = None  # type: ignore[assignment]  # nobody needs one, and none can leak


class TokenGate(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Answers UNAUTHENTICATED, before anything is read, to a call without one of ``tokens``.

    Each refusal goes to ``tally``, which counts and never waits: a flood of strangers must not fill the disk.
    """

    def __init__(
        self, tokens: TokenSource, provenance: Callable[[], Provenance], *, tally: Callable[[Code], None]
    ) -> None:
        self._tokens = tokens
        self._provenance = provenance
        self._tally = tally

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Let the call through, or return a handler that refuses it."""
        handler = continuation(handler_call_details)
        is_open = not handler_call_details.method.startswith(_SERVICE)
        if is_open or self._carries_token(handler_call_details.invocation_metadata):
            return handler
        # What is not built is not told to strangers either, and their requests are not waited for.
        return grpc.stream_stream_rpc_method_handler(self._refuse)

    def _carries_token(self, metadata: Any) -> bool:
        given = [value for key, value in metadata if key == "authorization"]
        sent = given[0] if len(given) == 1 else ""
        return self._tokens.accepts(sent.encode() if isinstance(sent, str) else sent)

    def _refuse(self, _request: Any, context: grpc.ServicerContext) -> Any:
        self._tally(Code.UNAUTHENTICATED)
        meta = Meta(
            elapsed_ms=0, decision_id=os.urandom(16).hex(), provenance=self._provenance(), audited=False
        )
        message = "The call does not carry the service's token."
        context.abort_with_status(rich_status(error_envelope(Code.UNAUTHENTICATED, message, meta=meta)))
