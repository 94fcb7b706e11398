"""Who may judge now, who waits, and on which worker: first come, first served, with a lane for the short.

As many jobs run as there are places. There is one worker more than that, and while it has nobody to stand in for, it
serves short payloads: what is long, and so may be slow, never makes all the others wait.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evalward.server.executor import Overloaded

if TYPE_CHECKING:
    from evalward.workers.process import Worker

SHORT_BYTES: Final = 16 * 1024


class Place:
    """The right to judge one job, on ``worker`` once it has been granted."""

    __slots__ = ("granted", "is_express", "is_short", "worker")

    def __init__(self, *, is_short: bool) -> None:
        self.is_short = is_short
        self.is_express = False
        self.worker: Worker | None = None
        # Released once the wait is over, with a worker or without.
        self.granted = threading.Lock()
        self.granted.acquire()


class Places:
    """``count`` places and one for the short, with a queue of at most ``queue``."""

    def __init__(self, count: int, *, queue: int) -> None:
        self._count = count
        self._queue = queue
        self._idle: list[Worker] = []
        self._waiting: deque[Place] = deque()
        self._running = 0
        self._express = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, size: int, *, patience: float | None) -> tuple[Place, Worker]:
        """Return a place for a payload of ``size`` bytes and its worker, after at most ``patience`` seconds.

        Raises Overloaded when there is none, or when there will be none.
        """
        place = Place(is_short=size <= SHORT_BYTES)
        with self._lock:
            if self._is_closed:
                raise Overloaded("workers", self._count)
            if len(self._waiting) >= self._queue and not self._is_free_for(place):
                raise Overloaded("queue", self._queue)
            self._waiting.append(place)
            self._grant()
        # Bounded even for a caller without a deadline: either a worker comes back, or the places are closed.
        place.granted.acquire(
            timeout=-1 if patience is None else min(max(patience, 0.0), threading.TIMEOUT_MAX)
        )
        with self._lock:
            if place.worker is None:
                with suppress(ValueError):
                    self._waiting.remove(place)
                raise Overloaded("workers", self._count)
            return place, place.worker

    def take_free(self, size: int) -> tuple[Place, Worker] | None:
        """Return a place and its worker as ``take`` does, None when one cannot be had at once.

        ``size`` is of all payloads that are handed over together.
        """
        place = Place(is_short=size <= SHORT_BYTES)
        with self._lock:
            if self._is_closed or self._waiting or not self._is_free_for(place):
                return None
            self._waiting.append(place)
            self._grant()
            return None if place.worker is None else (place, place.worker)

    def leave(self, place: Place) -> None:
        """Give ``place`` back; its worker comes back by ``add``."""
        with self._lock:
            if place.is_express:
                self._express -= 1
            else:
                self._running -= 1
            self._grant()

    def add(self, worker: Worker) -> None:
        """Take in a worker without a job."""
        with self._lock:
            self._is_closed = False
            self._idle.append(worker)
            self._grant()

    def remove(self, worker: Worker) -> None:
        """Forget a worker, if it is here."""
        with self._lock, suppress(ValueError):
            self._idle.remove(worker)

    def close(self) -> None:
        """Refuse all who wait and all who come, until a worker is added."""
        with self._lock:
            self._is_closed = True
            while self._waiting:
                self._waiting.popleft().granted.release()

    def idle(self) -> tuple[int, ...]:
        """Return the processes without a job, the next one to get one last."""
        with self._lock:
            return tuple(worker.pid for worker in self._idle)

    def load(self) -> tuple[int, int]:
        """Return how many jobs run, and how many wait."""
        with self._lock:
            return self._running + self._express, len(self._waiting)

    def _grant(self) -> None:
        """Give what is free to the first for whom it is; the lock is held."""
        while self._waiting and self._idle:
            place = next(filter(self._is_free_for, self._waiting), None)
            if place is None:
                return
            self._waiting.remove(place)
            place.is_express = self._running >= self._count
            if place.is_express:
                self._express += 1
            else:
                self._running += 1
            place.worker = self._idle.pop()
            place.granted.release()

    def _is_free_for(self, place: Place) -> bool:
        is_free = self._running < self._count or (place.is_short and not self._express)
        return is_free and bool(self._idle)
