"""An executor whose jobs are judged in processes that it supervises.

There is one process more than there are places (``places``), so that the death of one, and the quarter of a second
that its successor needs, is nobody's wait. Each process has a thread that starts it, waits for its end and starts
the next; the thread of a request talks to the process itself, without a thread between the two.

Whatever keeps a process from being started (no descriptor, no process, no memory) may pass: it is tried again, with
growing pauses, for as long as the pool lives. No exception ends such a thread, and health says whether there is
a worker.
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
from evalward.judging.workers.wall_clock import wall_clock_limit
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
# So many starts in a row that came to nothing, with no worker left, are an outage and not a hiccup.
_HOPELESS: Final = 3
_DISMISS_SECONDS: Final = 1.0
_JOIN_SECONDS: Final = 5.0


class NoWorkerError(OSError):
    """There is no worker, and starting one fails again and again."""


class WorkersInfo(NamedTuple):
    """What the pool does and did: processes, jobs ``running`` and ``waiting``, and counts since the start.

    ``pids`` are the processes that are ready, ``idle`` those of them without a job, the next one to get one last.
    ``ended`` counts processes that ended unasked, ``killed`` those of them that were killed here: stuck, or not to
    be believed.
    """

    pids: frozenset[int]
    idle: tuple[int, ...]
    running: int
    waiting: int
    ended: int
    killed: int


class _Lease(NamedTuple):
    """A worker that a hand-over has."""

    pool: WorkerPool
    place: Ticket
    worker: Worker

    def give_back(self) -> None:
        self.pool.give_back(self.place, self.worker)

    def kill(self, why: BaseException) -> None:
        self.pool.kill(self.place, self.worker, why)

    def later(self, finish: Callable[[], None]) -> None:
        self.pool.late.submit(finish)


class WorkerPool:
    """Judges in worker processes, ``count`` jobs at once (and a short one beside them) with at most ``queue`` waiting.

    ``on_health`` is told False when no worker can be had any more, and True when there is one again. ``late`` are the
    threads on which workers come to the end of what nobody waits for any more.

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
        # Held while health is told, so that two who know of a change cannot tell it in the wrong order.
        self._telling = threading.Lock()
        self._lock = threading.Lock()
        self._started = threading.Condition(self._lock)
        # One for each worker, since each may be in such a job.
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

        Raises Overloaded, TooLong, Lost, and WorkerFault or GuardFailure when the worker failed at its job.
        """
        until = _until(patience)
        known = [(job, self._book.number(job.rules))]
        taken = self._places.take(len(job.payload), job.requester, patience=patience)
        # Nobody is before it who could send it back.
        return cast("Verdict", self._handed_over(taken, known, until).verdict())

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:
        """Hand ``jobs`` to one worker that is free; none of them when there is none."""
        known = [(job, self._book.number(job.rules)) for job in jobs]
        taken = self._places.take_free(sum(len(job.payload) for job in jobs), jobs[0].requester)
        if taken is not None:
            with suppress(WorkerFault, Lost):
                return [self._handed_over(taken, known, _until(patience)).verdict] * len(jobs)
        return [not_started] * len(jobs)

    def _handed_over(
        self, taken: tuple[Ticket, Worker], jobs: Sequence[tuple[Job, SlottedRules]], until: float | None
    ) -> Dispatch:
        most = [wall_clock_limit(job.rules.limits) for job, _ in jobs]
        return Dispatch(_Lease(self, *taken), taken[1], jobs, most=most, until=until)

    def load(self) -> Load:
        """Return how busy the workers are now."""
        return Load(*self._places.load())

    def info(self) -> WorkersInfo:
        """Return the counts so far."""
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
        """Lend ``worker`` out again, unless it has ended meanwhile."""
        self._return(worker)
        self._places.leave(place)

    def _return(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._ready and not self._closing.is_set():
                self._places.add(worker)

    def kill(self, place: Ticket, worker: Worker, why: BaseException) -> None:
        """End ``worker``, which is in doubt."""
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
        """Have one process running until the pool is closed."""
        failures = vain = 0
        while not self._closing.is_set():
            begin = time.monotonic()
            try:
                worker = Worker.start(self._command)
            except Exception as fault:  # noqa: BLE001 - whatever it is, the next start may come to something
                vain += 1
                if vain <= _HOPELESS:
                    LOG.error("a guard worker %s", _told(fault))  # noqa: TRY400 - the cause is in the text
                if vain >= _HOPELESS:
                    self._despair()
            else:
                vain = 0
                self._kept(worker)
            failures = 0 if time.monotonic() - begin > _STEADY_SECONDS else failures + 1
            if failures > 1:
                self._closing.wait(min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE))

    def _kept(self, worker: Worker) -> None:
        """Lend ``worker`` out until its process has ended, or something goes wrong here; never raises."""
        try:
            self._attend(worker)
        except Exception as failure:  # noqa: BLE001 - it costs a worker, and not the thread that starts workers
            LOG.error("guard worker %d is given up: %s", worker.pid, type(failure).__name__)  # noqa: TRY400 - as above
            with self._lock:
                self._ready.discard(worker)
                self._places.remove(worker)
                self._ended += 1
            with suppress(OSError):
                worker.kill()
                worker.wait()

    def _attend(self, worker: Worker) -> None:
        """Lend ``worker`` out until its process has ended."""
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
        LOG.warning("guard worker %d ended %s; another one is started", worker.pid, how)

    def _recover(self) -> None:
        """Say that there is a worker, if it was said that there is none."""
        with self._telling:
            with self._lock:
                was_broken, self._is_broken = self._is_broken, False
            if was_broken:
                self._on_health(True)

    def _despair(self) -> None:
        """Say that there is no worker, once."""
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
    """Return what is said of a start that failed."""
    return str(fault) if isinstance(fault, WorkerFault) else f"cannot be started: {type(fault).__name__}"


def _until(patience: float | None) -> float | None:
    return None if patience is None else time.monotonic() + patience
