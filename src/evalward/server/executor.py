"""The seam behind which the guard's work is done, and the bounds on how much of it there may be at once.

The service knows only ``Executor``. The implementation here judges in the calling thread; supervised worker
processes take its place without a change to the service. Waiting is bounded: past the queue a request is
refused at once, so that no flood can grow memory, and threads for health checks stay free (service.md,
"Sockets, identity, limits").
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.rules import Rules
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict

    Judge = Callable[..., Verdict]

RETRY_AFTER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Job:
    """One payload to judge, with everything that decides about it."""

    payload: bytes
    target: Target
    shape: Shape | None
    rules: Rules


class Overloaded(Exception):  # noqa: N818 - named for the registry's code
    """There is no room for the job: ``limit`` names what ran out, ``allowed`` is its size."""

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(f"{limit} of {allowed} is used up")
        self.limit = limit
        self.allowed = allowed


class Executor(Protocol):
    """Judges jobs somewhere, under bounds of its own."""

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Judge ``job``, waiting at most ``patience`` seconds (None: as long as it takes) for a free place.

        Raises Overloaded when the queue is full or the patience ends.
        """
        ...

    def close(self) -> None:
        """Let go of whatever the executor holds; no job may be submitted afterwards."""
        ...


class InProcessExecutor:
    """Judges in the calling thread, at most ``max_concurrent`` at once with at most ``queue`` waiting."""

    def __init__(self, judge: Judge, *, max_concurrent: int, queue: int) -> None:
        self._judge = judge
        self._running = threading.Semaphore(max_concurrent)
        self._admitted = threading.Semaphore(max_concurrent + queue)
        self._max_concurrent = max_concurrent
        self._queue = queue

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Judge ``job`` here and now, or raise Overloaded."""
        if not self._admitted.acquire(blocking=False):
            raise Overloaded("queue", self._queue)
        try:
            if not self._running.acquire(timeout=patience):
                raise Overloaded("max_concurrent", self._max_concurrent)
            try:
                return self._judge(job.payload, target=job.target, shape=job.shape, rules=job.rules)
            finally:
                self._running.release()
        finally:
            self._admitted.release()

    def close(self) -> None:
        """Nothing outlives a job here."""
