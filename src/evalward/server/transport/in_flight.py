"""The number of requests in flight: a server that drains waits until it is zero."""

from __future__ import annotations

import threading


class InFlight:
    """Counts requests, from any thread: ``with in_flight:`` counts one for the duration of the block."""

    def __init__(self) -> None:
        self._count = 0
        self._stopping = False
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1

    def __exit__(self, *_failure: object) -> None:
        with self._lock:
            self._count -= 1
            if self._stopping:
                self._idle.notify_all()

    @property
    def stopping(self) -> bool:
        """Whether new requests are rejected."""
        return self._stopping

    def refuse_new(self) -> None:
        """Reject new requests with SHUTTING_DOWN from now on."""
        self._stopping = True

    def drain(self, seconds: float) -> bool:
        """Wait until no request is in flight; return False when ``seconds`` pass before that."""
        with self._idle:
            return self._idle.wait_for(lambda: self._count == 0, timeout=seconds)
