"""The executor without worker processes: it judges in the calling thread, with bounded concurrency and queue."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from evalward.judging.executor import Load, Overloaded, not_started, shape_of
from evalward.judging.hardening import with_program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Job, PendingVerdict

    Judge = Callable[..., Verdict]


class InProcessExecutor:
    """Judges in the calling thread, at most ``max_concurrent`` jobs at once with at most ``queue`` waiting."""

    def __init__(self, judge: Judge, *, max_concurrent: int, queue: int) -> None:
        self._judge = judge
        self._max_concurrent = max_concurrent
        self._queue = queue
        self._running = 0
        self._waiting = 0
        # One lock for both counts: two semaphores of the standard library cost ten times as much.
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Judge ``job`` now, or raise Overloaded."""
        with self._lock:
            if self._running < self._max_concurrent and not self._waiting:
                self._running += 1
            else:
                self._wait(patience)
        try:
            asked = {"target": job.target, "shape": shape_of(job), "rules": job.rules, "sink": job.sink}
            if not job.harden:
                return self._judge(job.payload, **asked)
            readings: list[ParsedProgram] = []
            verdict = self._judge(job.payload, **asked, readings=readings)
            return with_program(verdict, job.payload, job.rules, readings)
        finally:
            with self._lock:
                self._running -= 1
                if self._waiting:
                    self._freed.notify()

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:  # noqa: ARG002
        """Start nothing: there is no concurrency with the caller here."""
        return [not_started] * len(jobs)

    def load(self) -> Load:
        """Return the current load."""
        return Load(self._running, self._waiting)

    def close(self) -> None:
        """Do nothing: no resource outlives a job."""

    def _wait(self, patience: float | None) -> None:
        """Wait for a free place and take it; the lock is held."""
        if self._waiting >= self._queue:
            raise Overloaded("queue", self._queue)
        self._waiting += 1
        try:
            if not self._freed.wait_for(self._has_room, timeout=patience):
                raise Overloaded("max_concurrent", self._max_concurrent)
            self._running += 1
        finally:
            self._waiting -= 1

    def _has_room(self) -> bool:
        return self._running < self._max_concurrent
