"""A dispatch: jobs that one worker judges one after the other, and what a fault costs each of them.

A fault affects the worker and the job that it had when it died or stalled. The later jobs of the dispatch were not
judged and have to be submitted. So have jobs that a worker returns because the dispatch takes too long while others
wait. For an invalid response it is unknown which job caused it: then that job has to be submitted too, and gets a
worker alone.

A worker that is stopped, killed from outside or gets no processor time says nothing about its payload: the job is lost
(``Lost``) and can be repeated. A worker that worked on the job all the time (``TooLong``), or that crashed, does.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from evalward.judging.executor import Lost, TooLong
from evalward.judging.workers.channel import NotTaken, StillJudging, WorkerDied, WorkerFault
from evalward.judging.workers.worker_process import GuardFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Job
    from evalward.judging.workers.frames import SlottedRules
    from evalward.judging.workers.worker_process import Worker

LOG = logging.getLogger("evalward.workers")

_LEAST_SECONDS: Final = 0.001
_WORKED: Final = 0.5
"""The share of wall time as processor time from which a worker counts as having worked on its job."""


class WorkerLease(Protocol):
    """The lease of a worker for one dispatch; ``give_back`` or ``kill`` is called once."""

    @property
    def clock(self) -> float | None:
        """The worker's processor time when the lease began, in seconds; None where it is unknown."""
        ...

    def give_back(self) -> None:
        """Return the worker: it is free."""
        ...

    def kill(self, why: BaseException) -> None:
        """Kill the worker: it cannot be trusted."""
        ...

    def later(self, finish: Callable[[], None]) -> None:
        """Call ``finish`` on another thread."""
        ...


class Dispatch:
    """Jobs that one worker has received.

    Each may take its ``most`` seconds, and all of them until ``until``, a time of ``time.monotonic`` (None: no end).
    Raises Lost when the worker does not accept them.
    """

    def __init__(
        self,
        lease: WorkerLease,
        worker: Worker,
        jobs: Sequence[tuple[Job, SlottedRules]],
        *,
        most: Sequence[float],
        until: float | None,
    ) -> None:
        self._lender = lease
        self._worker = worker
        self._most = deque(most)
        self._until = until
        self._is_over = False
        self._is_shared = len(jobs) > 1
        # An idle worker uses no processor time, so this is also its time now.
        self._start, self._cpu = time.monotonic(), lease.clock
        try:
            worker.ask(jobs, seconds=self._seconds())
        except NotTaken as fault:
            lease.kill(fault)
            raise Lost(str(fault)) from None
        except BaseException as fault:
            lease.kill(fault)
            raise

    def verdict(self) -> Verdict | None:
        """Return the next job's verdict; None when the job has to be submitted, without a fault of its own.

        Raises TooLong or Lost, and WorkerFault or GuardFailure when the worker failed on the job.
        """
        if self._is_over:
            return None
        seconds = self._seconds()
        try:
            verdict = self._worker.settle(self._start + seconds)
            if verdict is None and not self._is_shared:
                raise WorkerFault("returned its only job")  # noqa: TRY301 - and is killed
        except StillJudging:
            has_worked = self._has_worked()
            # The caller's deadline ends the wait, but does not kill the worker.
            self._abandon()
            if not has_worked:
                raise Lost("gets no processor time") from None
            raise TooLong(max(1, int(seconds * 1000))) from None
        except GuardFailure as failure:
            self._next()
            LOG.error("the guard failed: %s", failure.place)  # noqa: TRY400 - the place is in the worker
            raise
        except BaseException as fault:
            self._is_over = True
            is_lost = isinstance(fault, WorkerDied) and self._worker.was_killed()
            self._lender.kill(fault)
            if is_lost:
                raise Lost("was killed") from None
            if self._is_shared and isinstance(fault, WorkerFault) and not isinstance(fault, WorkerDied):
                return None
            raise
        self._next()
        if verdict is None and self._most:
            # The remaining jobs are returned too.
            self._abandon()
        return verdict

    def _seconds(self) -> float:
        """Return how long the current job may take."""
        most = self._most[0]
        return most if self._until is None else min(most, max(_LEAST_SECONDS, self._until - self._start))

    def _next(self) -> None:
        self._most.popleft()
        if self._most:
            self._start, self._cpu = time.monotonic(), self._worker.processor_seconds()
        else:
            self._lender.give_back()

    def _has_worked(self) -> bool:
        """Whether the worker used processor time on the job; False where it is unknown."""
        now = self._worker.processor_seconds()
        if now is None or self._cpu is None:
            return False
        return now - self._cpu >= _WORKED * (time.monotonic() - self._start)

    def _abandon(self) -> None:
        self._is_over = True
        self._lender.later(self._finish)

    def _finish(self) -> None:
        """Wait until the worker has finished the abandoned jobs, or kill it.

        It keeps its place meanwhile: callers with short deadlines and slow payloads must not occupy all workers at
        once.
        """
        while self._most:
            try:
                self._worker.settle(self._start + self._most[0])
            except GuardFailure:
                self._next()
            except BaseException as fault:  # noqa: BLE001 - the place must be released in any case
                self._lender.kill(fault)
                return
            else:
                self._next()
