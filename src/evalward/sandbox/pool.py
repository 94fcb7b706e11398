"""A pool of evaluations: a limit of concurrent runs, and a bounded queue (sandbox.md, Engine)."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from evalward.sandbox.evaluate import DEFAULT_LIMITS, Sandbox

if TYPE_CHECKING:
    from evalward.guard.target import Shape
    from evalward.sandbox.outcome import Evaluation, EvaluationLimits


class SandboxBusyError(RuntimeError):
    """The sandbox is overloaded (OVERLOADED): ``limit`` names the exhausted limit, ``allowed`` is its size."""

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(f"the sandbox's {limit} of {allowed} is used up")
        self.limit = limit
        self.allowed = allowed


class SandboxPool:
    """Runs evaluations on the caller's thread, at most ``workers`` at a time and ``queue`` waiting."""

    def __init__(
        self, sandbox: Sandbox | None = None, *, workers: int | None = None, queue: int = 64
    ) -> None:
        self._sandbox = sandbox or Sandbox()
        self._workers = workers or os.cpu_count() or 1
        self._queue = queue
        self._running = threading.BoundedSemaphore(self._workers)
        self._admitted = threading.BoundedSemaphore(self._workers + queue)

    def warm_up(self) -> None:
        """Create the engine now; as :meth:`Sandbox.warm_up`."""
        self._sandbox.warm_up()

    def evaluate(  # noqa: PLR0913 - the sandbox's parameters, and how long to wait for it
        self,
        code: bytes,
        *,
        arg: bytes | None = None,
        shape: Shape | None = None,
        limits: EvaluationLimits = DEFAULT_LIMITS,
        seed: int = 0,
        patience: float | None = None,
    ) -> Evaluation:
        """Evaluate as :meth:`Sandbox.evaluate`.

        Raise SandboxBusyError at once when the queue is full, and when no worker was free within
        ``patience`` seconds (None: no limit).
        """
        if not self._admitted.acquire(blocking=False):
            raise SandboxBusyError("queue", self._queue)
        begin = time.monotonic()
        try:
            if not self._running.acquire(timeout=patience):
                raise SandboxBusyError("workers", self._workers)
            try:
                left = None if patience is None else begin + patience - time.monotonic()
                return self._sandbox.evaluate(
                    code, arg=arg, shape=shape, limits=limits, seed=seed, patience=left
                )
            finally:
                self._running.release()
        finally:
            self._admitted.release()
