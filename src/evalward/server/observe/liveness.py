"""Liveness (``/livez``): whether the server answers calls at all.

The server calls itself over one open connection, on a Unix socket or on TCP without TLS. With TLS, which may require a
client certificate that the server does not have, it checks that the threads that answer calls are alive. Any response
counts, also a rejection: a busy or draining server is alive. A server without a response for ``SILENT_SECONDS`` is not
alive and should be restarted.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.thread_pool import PrestartedPool

LOG = logging.getLogger("evalward.server")

OK: Final = "ok"
ANSWER_SECONDS: Final = 0.8  # less than the second that a kubelet waits for a probe
FRESH_SECONDS: Final = 1.0
SILENT_SECONDS: Final = 15.0
_OPTIONS: Final = (("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1))


class Liveness:
    """Checks the threads of ``pools`` and, after ``follow``, the server itself. From any thread."""

    def __init__(self, pools: Sequence[PrestartedPool]) -> None:
        self._pools = pools
        self._serving: threading.Thread | None = None
        self._channel: grpc.Channel | None = None
        self._answered_at: float | None = None
        self._silent_since: float | None = None
        self._lock = threading.Lock()

    def follow(self, serving: threading.Thread, address: str | None) -> None:
        """Check the thread ``serving``, and call ``address`` if there is one (None: no address)."""
        self._serving = serving
        if address is not None:
            self._channel = grpc.insecure_channel(address, options=_OPTIONS)

    def close(self) -> None:
        """Stop calling."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def report(self) -> str:
        """Return ``ok`` or the problem."""
        if self._serving is not None and not self._serving.is_alive():
            return "failed: the serving thread has ended"
        for pool in self._pools:
            if pool.missing():
                return f"failed: {pool.missing()} of {pool.size} threads of {pool.name} have ended"
        return self._called()

    def _called(self) -> str:
        with self._lock:
            channel, now = self._channel, time.monotonic()
            if channel is None or (self._answered_at is not None and now - self._answered_at < FRESH_SECONDS):
                return OK
            if _is_silent(channel):
                self._silent_since = self._silent_since or now
                silent = time.monotonic() - self._silent_since
                if silent < SILENT_SECONDS:
                    return OK
                LOG.error("no call has been answered for %d s", silent)
                return f"failed: no call has been answered for {silent:.0f} s"
            self._answered_at, self._silent_since = time.monotonic(), None
            return OK


def _is_silent(channel: grpc.Channel) -> bool:
    """Send a health check; return whether it was sent and no response came."""
    try:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=ANSWER_SECONDS)
    except grpc.RpcError as failure:
        # UNAVAILABLE: no connection, perhaps no free descriptor. That does not prove that calls are not answered.
        return failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    except ValueError:
        return False  # the channel has just been closed
    return False
