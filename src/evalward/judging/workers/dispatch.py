"""Jobs that one worker judges one after the other, handed over together: what each waits for, and what a fault costs.

The worker pays for a fault, and the job that was in it when it died or stalled. The jobs behind that one in the same
hand-over were not judged, and have to be submitted. So have those that a worker sends back since the hand-over takes
too long, which keeps others waiting. Of an answer that cannot be nobody knows which job's doing it was:
then that one has to be submitted too, and is alone with its next worker.

A worker that is stopped, killed from outside or starved of processor time says nothing about the payload that it had:
that job is lost (``Lost``), and may be asked about again. One that worked on it all the time is another matter
(``TooLong``), and so is one that crashed.
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
"""The share of the time on the clock that a worker must have had on a processor to have worked on its job."""


class WorkerLease(Protocol):
    """Who lends a worker out for a hand-over; ``give_back`` or ``kill`` is called, once."""

    def give_back(self) -> None:
        """Take the worker back: it is free."""
        ...

    def kill(self, why: BaseException) -> None:
        """Kill the worker: it is in doubt."""
        ...

    def later(self, finish: Callable[[], None]) -> None:
        """Call ``finish`` on another thread."""
        ...


class Dispatch:
    """Jobs in the hands of one worker.

    Each may take its ``most`` seconds, and all of them until ``until``, a time of ``time.monotonic`` (None: no end).
    Raises Lost when the worker does not take them.
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
        self._begin()
        try:
            worker.ask(jobs, seconds=self._seconds())
        except NotTaken as fault:
            lease.kill(fault)
            raise Lost(str(fault)) from None
        except BaseException as fault:
            lease.kill(fault)
            raise

    def verdict(self) -> Verdict | None:
        """Return the next job's verdict; None when that job has to be submitted, for no fault of its own.

        Raises TooLong or Lost, and WorkerFault or GuardFailure when the worker failed at its job.
        """
        if self._is_over:
            return None
        seconds = self._seconds()
        try:
            verdict = self._worker.settle(self._start + seconds)
            if verdict is None and not self._is_shared:
                raise WorkerFault("sent back its only job")  # noqa: TRY301 - and is killed for it
        except StillJudging:
            has_worked = self._has_worked()
            # The caller need not wait any longer, but a caller in a hurry is no reason to kill.
            self._turn_away()
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
            # All that is left comes back too.
            self._turn_away()
        return verdict

    def _seconds(self) -> float:
        """Return how long the job that is in the worker may take."""
        most = self._most[0]
        return most if self._until is None else min(most, max(_LEAST_SECONDS, self._until - self._start))

    def _next(self) -> None:
        self._most.popleft()
        if self._most:
            self._begin()
        else:
            self._lender.give_back()

    def _begin(self) -> None:
        """Take note of when the next job begins."""
        self._start = time.monotonic()
        self._cpu = self._worker.processor_seconds()

    def _has_worked(self) -> bool:
        """Say whether the worker has spent the job's time on the job. Where nobody can tell, it has not."""
        now = self._worker.processor_seconds()
        if now is None or self._cpu is None:
            return False
        return now - self._cpu >= _WORKED * (time.monotonic() - self._start)

    def _turn_away(self) -> None:
        self._is_over = True
        self._lender.later(self._finish)

    def _finish(self) -> None:
        """Let the worker come to the end of what nobody waits for any more, or kill it.

        It keeps its place meanwhile: hurried callers with slow payloads must not have all workers at once.
        """
        while self._most:
            try:
                self._worker.settle(self._start + self._most[0])
            except GuardFailure:
                self._next()
            except BaseException as fault:  # noqa: BLE001 - whatever it is, the place must not be lost with it
                self._lender.kill(fault)
                return
            else:
                self._next()
