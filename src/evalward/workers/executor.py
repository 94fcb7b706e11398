"""An executor whose jobs are judged in processes that it supervises.

There is one process more than may judge at a time, so that the death of one, and the quarter of a second that its
successor needs, is nobody's wait. Each process has a thread that starts it, waits for its end and starts the next;
the thread of a request talks to the process itself, without a thread between the two.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.server.executor import Overloaded, TooLong
from evalward.workers.budget import most_seconds
from evalward.workers.process import COMMAND, GuardFailure, StillJudging, Worker, WorkerDied, WorkerFault
from evalward.workers.rule_book import RuleBook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.verdict import Verdict
    from evalward.server.executor import Job

LOG = logging.getLogger("evalward.workers")

_STEADY_SECONDS: Final = 5.0
_LONGEST_PAUSE: Final = 0.5
_FIRST_PAUSE: Final = 0.05
# So many starts in a row that came to nothing, with no worker left, are an outage and not a hiccup.
_HOPELESS: Final = 3
_LEAST_SECONDS: Final = 0.001
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


class _Waiting:
    """A request in the queue; ``called`` is released once its turn has come, or there is nothing to wait for."""

    __slots__ = ("called", "worker")

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.called = threading.Lock()
        self.called.acquire()


class WorkerExecutor:
    """Judges in worker processes, ``count`` jobs at once with at most ``queue`` waiting, first come, first served.

    ``on_health`` is told False when no worker can be had any more, and True when there is one again.
    """

    def __init__(
        self,
        count: int,
        *,
        queue: int,
        on_health: Callable[[bool], object] = lambda _is_healthy: None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._count = count
        self._queue = queue
        self._on_health = on_health
        self._command = command
        self._book = RuleBook()
        self._ready: set[Worker] = set()
        self._idle: list[Worker] = []
        self._waiting: deque[_Waiting] = deque()
        self._running = self._ended = self._killed = 0
        self._is_broken = False
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._started = threading.Condition(self._lock)
        self._keepers = [
            threading.Thread(target=self._keep, name=f"worker-{number}", daemon=True)
            for number in range(count + 1)
        ]
        for keeper in self._keepers:
            keeper.start()

    def wait_ready(self) -> None:
        """Wait for the first worker; raise NoWorkerError when none can be started."""
        with self._started:
            self._started.wait_for(lambda: self._ready or self._is_lost())
            if not self._ready:
                raise NoWorkerError("no guard worker can be started")

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Return the verdict on ``job``; waiting and judging together take at most ``patience`` seconds.

        Raises Overloaded, TooLong, and WorkerFault or GuardFailure when the worker came to no verdict.
        """
        begin = time.monotonic()
        worker = self._take(patience)
        start = time.monotonic()
        most = most_seconds(job.rules.limits)
        seconds = most if patience is None else min(most, max(_LEAST_SECONDS, begin + patience - start))
        try:
            verdict = worker.judge(job, self._book.number(job.rules), seconds=seconds)
        except StillJudging:
            # The caller need not wait any longer, but a caller in a hurry is no reason to kill.
            self._leave(None)
            self._watch(worker, start + most)
            raise TooLong(max(1, int(seconds * 1000))) from None
        except GuardFailure as failure:
            self._leave(worker)
            LOG.error("the guard failed: %s", failure.place)  # noqa: TRY400 - the place is in the worker
            raise
        except BaseException as fault:
            self._leave(None)
            self._kill(worker, fault)
            raise
        self._leave(worker)
        return verdict

    def info(self) -> WorkersInfo:
        """Return the counts so far."""
        with self._lock:
            return WorkersInfo(
                pids=frozenset(worker.pid for worker in self._ready),
                idle=tuple(worker.pid for worker in self._idle),
                running=self._running,
                waiting=len(self._waiting),
                ended=self._ended,
                killed=self._killed,
            )

    def close(self) -> None:
        """End all processes and wait for them."""
        with self._lock:
            self._closing.set()
            leaving = [*self._ready]
            self._call()
            self._started.notify_all()
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

    def _take(self, patience: float | None) -> Worker:
        with self._lock:
            if self._is_lost():
                raise Overloaded("workers", self._count)
            if not self._waiting and self._has_room():
                self._running += 1
                return self._idle.pop()
            if len(self._waiting) >= self._queue:
                raise Overloaded("queue", self._queue)
            own = _Waiting()
            self._waiting.append(own)
        # Bounded even for a caller without a deadline: either a worker comes back, or none can be had.
        own.called.acquire(timeout=-1 if patience is None else min(max(patience, 0.0), threading.TIMEOUT_MAX))
        with self._lock:
            if own.worker is not None:
                return own.worker
            with suppress(ValueError):
                self._waiting.remove(own)
            raise Overloaded("workers", self._count)

    def _call(self) -> None:
        """Give what is free to those who wait; the lock is held."""
        while self._waiting and self._has_room():
            self._running += 1
            first = self._waiting.popleft()
            first.worker = self._idle.pop()
            first.called.release()
        if self._is_lost():
            while self._waiting:
                self._waiting.popleft().called.release()

    def _has_room(self) -> bool:
        return self._running < self._count and bool(self._idle)

    def _is_lost(self) -> bool:
        return self._closing.is_set() or (self._is_broken and not self._ready)

    def _leave(self, worker: Worker | None) -> None:
        """Give the place back, and the ``worker`` if it can go on."""
        with self._lock:
            self._running -= 1
            self._return(worker)

    def _return(self, worker: Worker | None) -> None:
        if worker in self._ready:
            self._idle.append(worker)
        self._call()

    def _watch(self, worker: Worker, until: float) -> None:
        """Let ``worker`` finish what nobody waits for any more, on a thread of its own, or kill it."""

        def settle() -> None:
            try:
                worker.settle(until)
            except (StillJudging, WorkerFault) as fault:
                self._kill(worker, fault)
                return
            except GuardFailure:
                pass
            with self._lock:
                self._return(worker)

        threading.Thread(target=settle, name="worker-late", daemon=True).start()

    def _kill(self, worker: Worker, why: BaseException) -> None:
        died = isinstance(why, WorkerDied)
        with self._lock:
            is_known = worker in self._ready
            self._ready.discard(worker)
            self._killed += is_known and not died
        if is_known and not died:
            LOG.error("guard worker %d is killed: it %s", worker.pid, why)
        worker.kill()

    def _keep(self) -> None:
        """Have one process running until the pool is closed."""
        failures = vain = 0
        while not self._closing.is_set():
            begin = time.monotonic()
            try:
                worker = Worker.start(self._command)
            except WorkerFault as fault:
                vain += 1
                if vain <= _HOPELESS:
                    LOG.error("a guard worker %s", fault)  # noqa: TRY400 - the cause is in the text
                if vain == _HOPELESS:
                    self._despair()
            else:
                vain = 0
                self._attend(worker)
            failures = 0 if time.monotonic() - begin > _STEADY_SECONDS else failures + 1
            if failures > 1:
                self._closing.wait(min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE))

    def _attend(self, worker: Worker) -> None:
        """Lend ``worker`` out until its process has ended."""
        with self._lock:
            self._ready.add(worker)
            was_broken, self._is_broken = self._is_broken, False
            self._idle.append(worker)
            if self._closing.is_set():
                worker.dismiss()
            self._call()
            self._started.notify_all()
        if was_broken:
            self._on_health(True)
        how = worker.wait()
        with self._lock:
            self._ready.discard(worker)
            with suppress(ValueError):
                self._idle.remove(worker)
            if self._closing.is_set():
                return
            self._ended += 1
        LOG.warning("guard worker %d ended %s; another one is started", worker.pid, how)

    def _despair(self) -> None:
        with self._lock:
            if self._ready or self._is_broken or self._closing.is_set():
                return
            self._is_broken = True
            self._call()
            self._started.notify_all()
        LOG.error("no guard worker can be started")
        self._on_health(False)
