"""Who may judge now, who waits, and on which worker: those who used little first, with a lane for the short.

As many jobs run as there are places. There is one worker more than that, and while it has nobody to stand in for, it
serves short payloads of callers whose payloads have been cheap: what is long or expensive, and so may be slow, never
makes all the others wait. The places go in the order of arrival, but for each second of the workers that a connection
has used lately (``costs``) its next request stands back by ``STANDS_BACK`` seconds: then its turn has come, whatever
others have used. When the queue is full, one that is not for the spare worker, and stands back furthest, makes room for
one that is, or that has used much less.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evalward.judging.executor import Overloaded
from evalward.judging.requester import ANONYMOUS
from evalward.judging.workers.costs import Costs

if TYPE_CHECKING:
    from evalward.judging.requester import Requester
    from evalward.judging.workers.worker_process import Worker

SHORT_BYTES: Final = 16 * 1024
CHEAP_SECONDS: Final = 0.01
"""What a payload may be expected to cost at most, to be served by the spare worker."""
STANDS_BACK: Final = 4.0
_MUCH_SECONDS: Final = 0.2  # by which a request must have used more, to make room for one that comes


class Ticket:
    """The right to judge one job, on ``worker`` once it has been granted."""

    __slots__ = (
        "_begun",
        "_clock",
        "due",
        "granted",
        "is_express",
        "is_light",
        "requester",
        "size",
        "used",
        "worker",
    )

    def __init__(self, requester: Requester, size: int, costs: Costs) -> None:
        self.requester = requester
        self.size = size
        self.used = costs.used(requester)
        self.due = time.monotonic() + STANDS_BACK * self.used
        self.is_light = size <= SHORT_BYTES and costs.expected(requester, size) <= CHEAP_SECONDS
        self.is_express = False
        self.worker: Worker | None = None
        self._begun = 0.0
        self._clock: float | None = None
        # Released once the wait is over, with a worker or without.
        self.granted = threading.Lock()
        self.granted.acquire()

    def begin(self, worker: Worker) -> None:
        """Note that ``worker`` is this one's, and from when on."""
        self.worker = worker
        self._begun, self._clock = time.monotonic(), worker.processor_seconds()

    def cost(self) -> float:
        """Return the seconds of its worker's processor time; of one that was killed, the seconds that it took."""
        now = None if self.worker is None else self.worker.processor_seconds()
        if now is None or self._clock is None:
            return time.monotonic() - self._begun
        return now - self._clock


class AdmissionQueue:
    """``count`` places and one for the short, with a queue of at most ``queue``."""

    def __init__(self, count: int, *, queue: int) -> None:
        self._count = count
        self._queue = queue
        self._idle: list[Worker] = []
        self._waiting: deque[Ticket] = deque()
        self._running = 0
        self._express = 0
        self._is_closed = False
        self._costs = Costs()
        self._lock = threading.Lock()

    def take(
        self, size: int, requester: Requester = ANONYMOUS, *, patience: float | None
    ) -> tuple[Ticket, Worker]:
        """Return a place for a payload of ``size`` bytes and its worker, after at most ``patience`` seconds.

        Raises Overloaded when there is none, or when there will be none.
        """
        with self._lock:
            place = Ticket(requester, size, self._costs)
            if self._is_closed:
                raise Overloaded("workers", self._count)
            if len(self._waiting) >= self._queue and not self._is_free_for(place):
                self._make_room(place)
            self._waiting.append(place)
            self._grant()
        # Bounded even for a caller without a deadline: either a worker comes back, or the places are closed.
        place.granted.acquire(
            timeout=-1 if patience is None else min(max(patience, 0.0), threading.TIMEOUT_MAX)
        )
        with self._lock:
            if place.worker is None:
                if place not in self._waiting and not self._is_closed:
                    raise Overloaded("queue", self._queue)
                with suppress(ValueError):
                    self._waiting.remove(place)
                raise Overloaded("workers", self._count)
            return place, place.worker

    def take_free(self, size: int, requester: Requester = ANONYMOUS) -> tuple[Ticket, Worker] | None:
        """Return a place and its worker as ``take`` does, None when one cannot be had at once.

        ``size`` is of all payloads that are handed over together.
        """
        with self._lock:
            place = Ticket(requester, size, self._costs)
            if self._is_closed or self._waiting or not self._is_free_for(place):
                return None
            self._waiting.append(place)
            self._grant()
            return None if place.worker is None else (place, place.worker)

    def leave(self, place: Ticket) -> None:
        """Give ``place`` back; its worker comes back by ``add``."""
        cost = place.cost()
        with self._lock:
            self._costs.spend(place.requester, place.size, cost)
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
            place = min(filter(self._is_free_for, self._waiting), key=_due, default=None)
            if place is None:
                return
            self._waiting.remove(place)
            place.is_express = self._running >= self._count
            if place.is_express:
                self._express += 1
            else:
                self._running += 1
            place.begin(self._idle.pop())
            place.granted.release()

    def _make_room(self, place: Ticket) -> None:
        """Send away who stands back furthest, if ``place`` is light beside it or has used less; the lock is held."""
        last = max(self._waiting, key=_weight, default=None)
        if last is None or not (last.is_light < place.is_light or last.used > place.used + _MUCH_SECONDS):
            raise Overloaded("queue", self._queue)
        self._waiting.remove(last)
        last.granted.release()

    def _is_free_for(self, place: Ticket) -> bool:
        is_free = self._running < self._count or (place.is_light and not self._express)
        return is_free and bool(self._idle)


def _due(place: Ticket) -> float:
    return place.due


def _weight(place: Ticket) -> tuple[bool, float]:
    return not place.is_light, place.due
