"""Calls whose request has not come in whole: they may not keep the threads from those whose request has.

gRPC's Python server gives a unary call its thread before the request is there, and has no limit for how long that
may take: as many half-sent requests as there are threads would stop every verdict. So each unary call is served as
one that streams its only request, which is waited for here, with the call at hand. When more wait than there is room
for, the oldest gives way, as half-open connections do in TCP (RFC 4987, section 3.4): a request that is really being
sent is there within milliseconds and is not the oldest. In a burst of calls that have all just come the newest is
refused.
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
"""Threads for the calls that make others give way, and for those that are refused: each needs one before it can."""


class PendingRequests:
    """Waits for requests, ``most`` at a time.

    A call that gives way is cancelled, and ``gave_way`` is told. ``refuse`` aborts one that comes in a burst; it is
    given the call and ``most``. ``unreadable`` is told of a call that ends as it comes: gRPC's core refuses a message
    above its limit, and says no more of it here than of a caller who hangs up at once.
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
        """How many threads a pool needs for this, beside those that work."""
        return self._most + SPARE_THREADS

    def unary(self, behavior: Callable[[Any, grpc.ServicerContext], Any], **codec: Any) -> Any:
        """Return the handler of a unary RPC."""
        return grpc.stream_unary_rpc_method_handler(
            lambda requests, context: behavior(self.one(requests, context), context), **codec
        )

    def one(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
        """Return the only request of ``context``; raise what ends the call when there is none."""
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
        # A call that has given way is not here any more.
        if not was_read and since is not None and time.monotonic() - since < YOUNG_SECONDS:
            self._unreadable()

    def _enter(self, context: grpc.ServicerContext) -> tuple[bool, Any]:
        """Return whether ``context`` may wait, and the call that has to give way for it."""
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
