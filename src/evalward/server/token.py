"""Who may ask: every call of the service must carry the bearer token; health stays open to probes."""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING, Any

import grpc

from evalward.errors import Code, Meta, error_envelope
from evalward.server.status import rich_status
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.errors import Provenance

_SERVICE = f"/{pb.DESCRIPTOR.services_by_name['GuardService'].full_name}/"


class TokenGate(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Answers UNAUTHENTICATED, before anything is read, to a call without ``Bearer <token>``.

    Each refusal goes to ``tally``, which counts and never waits: a flood of strangers must not fill the disk.
    """

    def __init__(self, token: str, provenance: Provenance, *, tally: Callable[[Code], None]) -> None:
        self._expected = f"Bearer {token}".encode()
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
        # What is not built is not told to strangers either.
        if handler is not None and (handler.request_streaming or handler.response_streaming):
            return grpc.stream_stream_rpc_method_handler(self._refuse)
        return grpc.unary_unary_rpc_method_handler(self._refuse)

    def _carries_token(self, metadata: Any) -> bool:
        given = [value for key, value in metadata if key == "authorization"]
        sent = given[0] if len(given) == 1 else ""
        return hmac.compare_digest(sent.encode() if isinstance(sent, str) else sent, self._expected)

    def _refuse(self, _request: Any, context: grpc.ServicerContext) -> Any:
        self._tally(Code.UNAUTHENTICATED)
        meta = Meta(
            elapsed_ms=0, decision_id=os.urandom(16).hex(), provenance=self._provenance, audited=False
        )
        message = "The call does not carry the service's token."
        context.abort_with_status(rich_status(error_envelope(Code.UNAUTHENTICATED, message, meta=meta)))
