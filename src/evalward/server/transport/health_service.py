"""``grpc.health.v1`` on its own threads, so that neither load nor a client that does not read delays it.

The servicer of grpcio-health-checking is not used: it sends to all Watch streams while it holds the lock that Check
needs, so one watcher that stops reading would make a healthy server look dead. Here Check takes no lock and has its own
threads; each Watch has one thread, and their number is bounded.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc_health.v1 import health_pb2

from evalward.server.transport.pending_requests import PendingRequests
from evalward.thread_pool import PrestartedPool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SERVICE_NAME: Final = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
OVERALL: Final = ""
MAX_WATCHES: Final = 32
_CHECK_THREADS: Final = 2
MAX_WAITING: Final = 32

Status = health_pb2.HealthCheckResponse


class Health:
    """Reports SERVING while the server is open and no part has failed, for every name of ``services``.

    At most ``max_watches`` Watch streams are open at once; another one gets RESOURCE_EXHAUSTED.
    """

    def __init__(self, services: Collection[str], *, max_watches: int = MAX_WATCHES) -> None:
        self._names = frozenset({OVERALL, *services})
        self._max_watches = max_watches
        self._watches = 0
        self._is_open = self._is_closed = False
        self._failed: set[str] = set()
        self._status = Status.NOT_SERVING
        self._changed = threading.Condition()
        self._pending_requests = {
            name: PendingRequests(MAX_WAITING, refuse=_no_room) for name in ("Check", "Watch")
        }
        # One more thread than streams: it rejects streams above the limit.
        self._watch_threads = PrestartedPool(
            max_watches + 1 + self._pending_requests["Watch"].threads, "health-watch"
        )
        self._check_threads = PrestartedPool(
            _CHECK_THREADS + self._pending_requests["Check"].threads, "health"
        )

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server."""

        def check(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            return self._check(self._pending_requests["Check"].one(requests, context), context)

        def watch(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            return self._watch(self._pending_requests["Watch"].one(requests, context), context)

        # grpcio runs a handler with this attribute on that pool instead of the server's.
        check.experimental_thread_pool = self._check_threads  # type: ignore[attr-defined]
        watch.experimental_thread_pool = self._watch_threads  # type: ignore[attr-defined]
        codec: Any = {
            "request_deserializer": health_pb2.HealthCheckRequest.FromString,
            "response_serializer": Status.SerializeToString,
        }
        handlers = {
            "Check": grpc.stream_unary_rpc_method_handler(check, **codec),
            "Watch": grpc.stream_stream_rpc_method_handler(watch, **codec),
        }
        return grpc.method_handlers_generic_handler(SERVICE_NAME, handlers)

    @property
    def pools(self) -> tuple[PrestartedPool, PrestartedPool]:
        """The threads, to be started before the server starts."""
        return self._watch_threads, self._check_threads

    def open(self) -> None:
        """Report SERVING from now on, unless a part has failed."""
        self._is_open = True
        self._tell()

    def report(self, part: str, *, is_healthy: bool) -> None:
        """Set the state of ``part`` (sink, workers, sockets)."""
        with self._changed:
            (self._failed.discard if is_healthy else self._failed.add)(part)
        self._tell()

    def drain(self) -> None:
        """Report NOT_SERVING permanently."""
        self._is_open = False
        self._is_closed = True
        self._tell()

    def close(self) -> None:
        """Release the threads after the server has stopped."""
        self._is_closed = True
        self._tell()
        self._watch_threads.shutdown(wait=False)
        self._check_threads.shutdown(wait=False)

    def _tell(self) -> None:
        with self._changed:
            is_serving = self._is_open and not self._is_closed and not self._failed
            self._status = Status.SERVING if is_serving else Status.NOT_SERVING
            self._changed.notify_all()

    def _check(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.service not in self._names:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return Status(status=self._status)

    def _watch(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        with self._changed:
            is_full = self._watches >= self._max_watches
            self._watches += not is_full
        if is_full:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._max_watches} health watches are open")
        try:
            # False when the call has already ended: then nothing would wake this thread.
            if context.add_callback(self._wake):
                yield from self._changes(request.service, context)
        finally:
            with self._changed:
                self._watches -= 1

    def _changes(self, service: str, context: grpc.ServicerContext) -> Iterator[Any]:
        told = None
        while True:
            with self._changed:
                while context.is_active() and self._status_of(service) == told:
                    self._changed.wait()
            if not context.is_active():
                return
            told = self._status_of(service)
            yield Status(status=told)

    def _status_of(self, service: str) -> health_pb2.HealthCheckResponse.ServingStatus.ValueType:
        return self._status if service in self._names else Status.SERVICE_UNKNOWN

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _no_room(context: grpc.ServicerContext, most: int) -> None:
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{most} health checks are incomplete")
