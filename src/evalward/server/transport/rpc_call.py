"""One gRPC call as the handlers see it: its caller, its deadline, and how it ends with a status."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from evalward.errors import REGISTRY
from evalward.server.transport.rich_status import rich_status

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc

    from evalward.server.decide.decisions import Decision
    from evalward.server.requests.caller import Caller


class RpcCall:
    """One call, or the item of a stream that is being judged; ``started`` as in ``FinishedCall``."""

    __slots__ = ("caller", "rpc", "started")

    def __init__(self, rpc: str, caller: Caller) -> None:
        self.rpc = rpc
        self.caller = caller
        self.started = time.perf_counter()


def remaining_seconds(context: grpc.ServicerContext) -> float | None:
    """Return the seconds until the caller's deadline, None without a deadline.

    Without a deadline gRPC reports more seconds than a lock can wait.
    """
    remaining = context.time_remaining()
    return None if remaining is None or remaining > threading.TIMEOUT_MAX else remaining


def abort_for_infrastructure(decision: Decision, context: grpc.ServicerContext) -> None:
    """End the call with a rich status when ``decision`` is an infrastructure failure; otherwise do nothing."""
    if decision.code is not None and REGISTRY[decision.code].is_infrastructure:
        context.abort_with_status(rich_status(decision.envelope))


def sending_handler(
    behavior: Callable[[Any, grpc.ServicerContext, Callable[[Any], None]], None],
) -> Callable[..., Any]:
    """Return ``behavior`` as a handler that sends its responses itself, so that an idle stream can be ended."""

    def handler(requests: Any, context: grpc.ServicerContext, send: Callable[[Any], None]) -> None:
        behavior(requests, context, send)

    # grpcio passes the send function to handlers with this attribute; a bound method cannot carry it.
    handler.experimental_non_blocking = True  # type: ignore[attr-defined]
    return handler
