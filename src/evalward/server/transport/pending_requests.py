"""Calls whose request has not arrived completely: their number is bounded, so that they cannot occupy all threads.

gRPC's Python server assigns a thread to a unary call before the request has arrived, with no time limit: as many
half-sent requests as threads would stop all verdicts. Each unary call is therefore served as a client stream with one
request, which is read here. When too many calls wait, the oldest is cancelled, as for half-open TCP connections (RFC
4987, section 3.4): a request that is really being sent arrives within milliseconds and is not the oldest. In a burst of
new calls the newest is rejected.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

YOUNG_SECONDS: Final = 0.05
SPARE_THREADS: Final = 4
"""Threads for calls that cancel an older call or are rejected: each needs a thread to do so."""


class PendingRequests:
    """Waits for at most ``most`` requests at a time.

    ``gave_way`` is called for each cancelled call. ``refuse`` aborts a call that arrives in a burst; its arguments are
    the call and ``most``. ``unreadable`` is called for a call that ends immediately: gRPC's core rejects a message
    above its limit, which looks the same here as a caller that disconnects at once.
    """

    def __init__(
        self,
        most: int,
        *,
        refuse: Callable[[grpc.ServicerContext, int], Any],
        gave_way: Callable[[], None] = lambda: None,
        unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        self._most = most
        self._refuse = refuse
        self._gave_way = gave_way
        self._unreadable = unreadable
        self._waiting: dict[Any, float] = {}
        self._lock = threading.Lock()

    @property
    def threads(self) -> int:
        """The threads that a pool needs for pending requests, in addition to working threads."""
        return self._most + SPARE_THREADS

    def unary(self, behavior: Callable[[Any, grpc.ServicerContext], Any], **codec: Any) -> Any:
        """Return the handler of a unary RPC."""
        return grpc.stream_unary_rpc_method_handler(
            lambda requests, context: behavior(self.one(requests, context), context), **codec
        )

    def one(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
        """Return the only request of ``context``; end the call when there is none."""
        has_room, oldest = self._enter(context)
        if oldest is not None:
            oldest.cancel()
            self._gave_way()
        if not has_room:
            return self._refuse(context, self._most)
        try:
            request = next(requests)
        except StopIteration:
            self._forget(context, was_read=False)
            return context.abort(grpc.StatusCode.UNIMPLEMENTED, "a unary call has one request")
        except BaseException:
            self._forget(context, was_read=False)
            raise
        self._forget(context, was_read=True)
        return request

    def _forget(self, context: grpc.ServicerContext, *, was_read: bool) -> None:
        with self._lock:
            since = self._waiting.pop(context, None)
        # A cancelled call is no longer registered.
        if not was_read and since is not None and time.monotonic() - since < YOUNG_SECONDS:
            self._unreadable()

    def _enter(self, context: grpc.ServicerContext) -> tuple[bool, Any]:
        """Return whether ``context`` may wait, and the call to cancel for it."""
        now = time.monotonic()
        with self._lock:
            oldest = None
            if len(self._waiting) >= self._most:
                oldest = next(iter(self._waiting))
                if now - self._waiting[oldest] < YOUNG_SECONDS:
                    return False, None
                del self._waiting[oldest]
            self._waiting[context] = now
            return True, oldest
