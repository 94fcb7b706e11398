"""Admission of jobs to workers: requesters with little recent use first, and an express lane for short payloads.

As many jobs run as there are places. There is one more worker; while it replaces no other, it serves short payloads of
requesters with cheap recent payloads, so that long or expensive ones never delay everyone. Jobs are served in order of
arrival, but each second of processor time that a connection has used recently (``costs``) postpones its next job by
``STANDS_BACK`` seconds; after that time it is served before later arrivals. When the queue is full, the job that is
postponed furthest and not eligible for the express lane is evicted for one that is eligible, or whose requester has
used much less.
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
"""The maximum expected cost of a payload in the express lane."""
STANDS_BACK: Final = 4.0
_MUCH_SECONDS: Final = 0.2  # by how much more a queued requester must have used to be evicted


class Ticket:
    """A job in the queue: the right to a worker, ``worker`` once it is granted.

    ``clock`` is the worker's processor time then, in seconds; None where it is unknown.
    """

    __slots__ = (
        "_begun",
        "clock",
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
        self.clock: float | None = None
        # Released when the wait ends, with a worker or without.
        self.granted = threading.Lock()
        self.granted.acquire()

    def begin(self, worker: Worker) -> None:
        """Register that ``worker`` now works for this ticket."""
        self.worker = worker
        self._begun, self.clock = time.monotonic(), worker.processor_seconds()

    def cost(self) -> float:
        """Return the processor time used in seconds; for a killed worker, the wall time."""
        now = None if self.worker is None else self.worker.processor_seconds()
        if now is None or self.clock is None:
            return time.monotonic() - self._begun
        return now - self.clock


class AdmissionQueue:
    """``count`` places and one express place, with a queue of at most ``queue``."""

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
        """Return a ticket for a payload of ``size`` bytes and its worker, after at most ``patience`` seconds.

        Raises Overloaded when none is available in time.
        """
        with self._lock:
            ticket = Ticket(requester, size, self._costs)
            if self._is_closed:
                raise Overloaded("workers", self._count)
            if not self._waiting and self._is_free_for(ticket):
                return ticket, self._give(ticket)
            if len(self._waiting) >= self._queue and not self._is_free_for(ticket):
                self._make_room(ticket)
            self._waiting.append(ticket)
            self._grant()
        # This ends even without a deadline: a worker is returned, or the queue is closed.
        ticket.granted.acquire(
            timeout=-1 if patience is None else min(max(patience, 0.0), threading.TIMEOUT_MAX)
        )
        with self._lock:
            if ticket.worker is None:
                if ticket not in self._waiting and not self._is_closed:
                    raise Overloaded("queue", self._queue)
                with suppress(ValueError):
                    self._waiting.remove(ticket)
                raise Overloaded("workers", self._count)
            return ticket, ticket.worker

    def take_free(self, size: int, requester: Requester = ANONYMOUS) -> tuple[Ticket, Worker] | None:
        """Return a ticket and its worker as ``take`` does, None when none is free at once.

        ``size`` is the total of all payloads that are dispatched together.
        """
        with self._lock:
            ticket = Ticket(requester, size, self._costs)
            if self._is_closed or self._waiting or not self._is_free_for(ticket):
                return None
            return ticket, self._give(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Release ``ticket``; its worker is returned by ``add``."""
        cost = ticket.cost()
        with self._lock:
            self._costs.spend(ticket.requester, ticket.size, cost)
            if ticket.is_express:
                self._express -= 1
            else:
                self._running -= 1
            self._grant()

    def add(self, worker: Worker) -> None:
        """Add an idle worker."""
        with self._lock:
            self._is_closed = False
            self._idle.append(worker)
            self._grant()

    def remove(self, worker: Worker) -> None:
        """Remove a worker if it is idle."""
        with self._lock, suppress(ValueError):
            self._idle.remove(worker)

    def close(self) -> None:
        """Reject all waiting and new jobs until a worker is added."""
        with self._lock:
            self._is_closed = True
            while self._waiting:
                self._waiting.popleft().granted.release()

    def idle(self) -> tuple[int, ...]:
        """Return the pids of idle workers; the last one gets the next job."""
        with self._lock:
            return tuple(worker.pid for worker in self._idle)

    def load(self) -> tuple[int, int]:
        """Return how many jobs run and how many wait."""
        with self._lock:
            return self._running + self._express, len(self._waiting)

    def _grant(self) -> None:
        """Assign idle workers to eligible tickets; the lock is held."""
        while self._waiting and self._idle:
            ticket = min(filter(self._is_free_for, self._waiting), key=_due, default=None)
            if ticket is None:
                return
            self._waiting.remove(ticket)
            self._give(ticket)
            ticket.granted.release()

    def _give(self, ticket: Ticket) -> Worker:
        """Assign an idle worker to ``ticket``, which is eligible; the lock is held."""
        ticket.is_express = self._running >= self._count
        if ticket.is_express:
            self._express += 1
        else:
            self._running += 1
        worker = self._idle.pop()
        ticket.begin(worker)
        return worker

    def _make_room(self, ticket: Ticket) -> None:
        """Evict the ticket that is postponed furthest, if ``ticket`` may replace it; the lock is held."""
        last = max(self._waiting, key=_weight, default=None)
        if last is None or not (last.is_light < ticket.is_light or last.used > ticket.used + _MUCH_SECONDS):
            raise Overloaded("queue", self._queue)
        self._waiting.remove(last)
        last.granted.release()

    def _is_free_for(self, ticket: Ticket) -> bool:
        is_free = self._running < self._count or (ticket.is_light and not self._express)
        return is_free and bool(self._idle)


def _due(ticket: Ticket) -> float:
    return ticket.due


def _weight(ticket: Ticket) -> tuple[bool, float]:
    return not ticket.is_light, ticket.due
