"""An executor that judges in supervised worker processes.

There is one process more than places (``admission_queue``), so that no job waits while a dead process is replaced,
which takes a quarter of a second. Each process has a thread that starts it, waits for its end and starts the next one;
the thread of a request communicates with the process directly.

A failed start (no descriptor, no process, no memory) may be temporary: it is retried with growing pauses while the pool
lives. No exception ends such a thread, and health reports whether there is a worker.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from evalward.judging.executor import Load, Lost, not_started
from evalward.judging.workers.admission_queue import AdmissionQueue
from evalward.judging.workers.channel import WorkerDied, WorkerFault
from evalward.judging.workers.dispatch import Dispatch
from evalward.judging.workers.rule_slots import RuleSlots
from evalward.judging.workers.wall_clock import effort_of, wall_clock_limit
from evalward.judging.workers.worker_process import COMMAND, Worker
from evalward.thread_pool import PrestartedPool, start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Job, PendingVerdict
    from evalward.judging.workers.admission_queue import Ticket
    from evalward.judging.workers.frames import SlottedRules

LOG = logging.getLogger("evalward.workers")

_STEADY_SECONDS: Final = 5.0
_LONGEST_PAUSE: Final = 0.5
_FIRST_PAUSE: Final = 0.05
# After so many failed starts in a row, without a worker left, an outage is reported.
_OUTAGE_STARTS: Final = 3
_DISMISS_SECONDS: Final = 1.0
_JOIN_SECONDS: Final = 5.0


class NoWorkerError(OSError):
    """There is no worker, and starts fail repeatedly."""


class WorkersInfo(NamedTuple):
    """The state of the pool and its counts since the start.

    ``pids`` are the ready processes, ``idle`` those without a job; the last one gets the next job. ``running`` and
    ``waiting`` count jobs. ``ended`` counts processes that ended unexpectedly, ``killed`` those that were killed here:
    stuck or with an invalid response.
    """

    pids: frozenset[int]
    idle: tuple[int, ...]
    running: int
    waiting: int
    ended: int
    killed: int


class _Lease(NamedTuple):
    """The lease of a worker for one dispatch."""

    pool: WorkerPool
    place: Ticket
    worker: Worker

    @property
    def clock(self) -> float | None:
        return self.place.clock

    def give_back(self) -> None:
        self.pool.give_back(self.place, self.worker)

    def kill(self, why: BaseException) -> None:
        self.pool.kill(self.place, self.worker, why)

    def later(self, finish: Callable[[], None]) -> None:
        self.pool.late.submit(finish)


class WorkerPool:
    """Judges in worker processes: ``count`` jobs at once, one more short job, and at most ``queue`` waiting.

    ``on_health`` is called with False when no worker can be started, and with True when there is one again. ``late``
    are the threads that wait for abandoned jobs.

    Raises NoThreadError.
    """

    def __init__(
        self,
        count: int,
        *,
        queue: int,
        on_health: Callable[[bool], object] = lambda _is_healthy: None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._places = AdmissionQueue(count, queue=queue)
        self._on_health = on_health
        self._command = command
        self._book = RuleSlots()
        self._ready: set[Worker] = set()
        self._ended = self._killed = 0
        self._is_broken = False
        self._closing = threading.Event()
        # Held while health is reported, so that two changes are not reported in the wrong order.
        self._telling = threading.Lock()
        self._lock = threading.Lock()
        self._started = threading.Condition(self._lock)
        # One per worker, since each may have an abandoned job.
        self.late = PrestartedPool(count + 1, "worker-late")
        self.late.prestart()
        self._keepers = [
            threading.Thread(target=self._keep, name=f"worker-{number}", daemon=True)
            for number in range(count + 1)
        ]
        for keeper in self._keepers:
            start(keeper)

    def wait_ready(self) -> None:
        """Wait for the first worker; raise NoWorkerError when none can be started."""
        with self._started:
            self._started.wait_for(lambda: self._ready or self._is_broken or self._closing.is_set())
            if not self._ready:
                raise NoWorkerError("no guard worker can be started")

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Return the verdict on ``job``; waiting and judging together take at most ``patience`` seconds.

        Raises Overloaded, TooLong, Lost, and WorkerFault or GuardFailure when the worker failed on the job.
        """
        until = _until(patience)
        known = [(job, self._book.number(job.rules))]
        taken = self._places.take(len(job.payload), job.requester, patience=patience)
        # A single job is never returned.
        return cast("Verdict", self._handed_over(taken, known, until).verdict())

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:
        """Dispatch ``jobs`` to one free worker; start none when no worker is free."""
        known = [(job, self._book.number(job.rules)) for job in jobs]
        taken = self._places.take_free(sum(len(job.payload) for job in jobs), jobs[0].requester)
        if taken is not None:
            with suppress(WorkerFault, Lost):
                return [self._handed_over(taken, known, _until(patience)).verdict] * len(jobs)
        return [not_started] * len(jobs)

    def _handed_over(
        self, taken: tuple[Ticket, Worker], jobs: Sequence[tuple[Job, SlottedRules]], until: float | None
    ) -> Dispatch:
        most = [effort_of(job) * wall_clock_limit(job.rules.limits) for job, _ in jobs]
        return Dispatch(_Lease(self, *taken), taken[1], jobs, most=most, until=until)

    def load(self) -> Load:
        """Return the current load."""
        return Load(*self._places.load())

    def info(self) -> WorkersInfo:
        """Return the current state and counts."""
        running, waiting = self._places.load()
        idle = self._places.idle()
        with self._lock:
            pids = frozenset(worker.pid for worker in self._ready)
            return WorkersInfo(pids, idle, running, waiting, self._ended, self._killed)

    def close(self) -> None:
        """End all processes and wait for them."""
        with self._lock:
            self._closing.set()
            leaving = [*self._ready]
            self._started.notify_all()
        self._places.close()
        for worker in leaving:
            worker.dismiss()
        until = time.monotonic() + _DISMISS_SECONDS
        for keeper in self._keepers:
            keeper.join(max(0.0, until - time.monotonic()))
        with self._lock:
            stuck = [*self._ready]
        for worker in stuck:
            worker.kill()
        for keeper in self._keepers:
            keeper.join(_JOIN_SECONDS)
        self.late.shutdown(wait=False)

    def give_back(self, place: Ticket, worker: Worker) -> None:
        """Return ``worker`` to the queue, unless it has ended."""
        self._return(worker)
        self._places.leave(place)

    def _return(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._ready and not self._closing.is_set():
                self._places.add(worker)

    def kill(self, place: Ticket, worker: Worker, why: BaseException) -> None:
        """Kill ``worker``, which cannot be trusted."""
        died = isinstance(why, WorkerDied)
        with self._lock:
            is_known = worker in self._ready
            self._ready.discard(worker)
            self._killed += is_known and not died
        if is_known and not died:
            LOG.error("guard worker %d is killed: it %s", worker.pid, why)
        worker.kill()
        self._places.leave(place)

    def _keep(self) -> None:
        """Keep one process running until the pool is closed."""
        failures = failed_starts = 0
        while not self._closing.is_set():
            begin = time.monotonic()
            try:
                worker = Worker.start(self._command)
            except Exception as fault:  # noqa: BLE001 - the next start may succeed
                failed_starts += 1
                if failed_starts <= _OUTAGE_STARTS:
                    LOG.error("a guard worker %s", _told(fault))  # noqa: TRY400 - the cause is in the text
                if failed_starts >= _OUTAGE_STARTS:
                    self._report_outage()
            else:
                failed_starts = 0
                self._kept(worker)
            failures = 0 if time.monotonic() - begin > _STEADY_SECONDS else failures + 1
            if failures > 1:
                self._closing.wait(min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE))

    def _kept(self, worker: Worker) -> None:
        """Serve with ``worker`` until its process has ended or something fails here; never raises."""
        try:
            self._attend(worker)
        except Exception as failure:  # noqa: BLE001 - it ends a worker, not the thread
            LOG.error("guard worker %d is abandoned: %s", worker.pid, type(failure).__name__)  # noqa: TRY400 - as above
            with self._lock:
                self._ready.discard(worker)
                self._places.remove(worker)
                self._ended += 1
            with suppress(OSError):
                worker.kill()
                worker.wait()

    def _attend(self, worker: Worker) -> None:
        """Serve with ``worker`` until its process has ended."""
        with self._lock:
            self._ready.add(worker)
            self._started.notify_all()
        self._return(worker)
        if self._closing.is_set():
            worker.dismiss()
        self._recover()
        how = worker.wait()
        with self._lock:
            self._ready.discard(worker)
            self._places.remove(worker)
            if self._closing.is_set():
                return
            self._ended += 1
        LOG.warning("guard worker %d ended %s; it is replaced", worker.pid, how)

    def _recover(self) -> None:
        """Report that there is a worker again, after a reported outage."""
        with self._telling:
            with self._lock:
                was_broken, self._is_broken = self._is_broken, False
            if was_broken:
                self._on_health(True)

    def _report_outage(self) -> None:
        """Report an outage once."""
        with self._telling:
            with self._lock:
                if self._ready or self._is_broken or self._closing.is_set():
                    return
                self._is_broken = True
                self._places.close()
                self._started.notify_all()
            LOG.error("no guard worker can be started")
            self._on_health(False)


def _told(fault: Exception) -> str:
    """Return the log text for a failed start."""
    return str(fault) if isinstance(fault, WorkerFault) else f"cannot be started: {type(fault).__name__}"


def _until(patience: float | None) -> float | None:
    return None if patience is None else time.monotonic() + patience
