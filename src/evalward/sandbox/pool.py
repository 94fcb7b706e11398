"""As many evaluations at once as there are workers, and a bounded queue before them (sandbox.md, Engine)."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from evalward.sandbox.evaluation import DEFAULT_LIMITS, Sandbox

if TYPE_CHECKING:
    from evalward.guard.target import Shape
    from evalward.sandbox.outcome import Evaluation, EvaluationLimits


class SandboxBusyError(RuntimeError):
    """Workers and queue are full; the caller may try again (OVERLOADED)."""


class SandboxPool:
    """Runs evaluations on the caller's thread, at most ``workers`` at a time and ``queue`` waiting."""

    def __init__(
        self, sandbox: Sandbox | None = None, *, workers: int | None = None, queue: int = 64
    ) -> None:
        self._sandbox = sandbox or Sandbox()
        workers = workers or os.cpu_count() or 1
        self._running = threading.BoundedSemaphore(workers)
        self._admitted = threading.BoundedSemaphore(workers + queue)

    def evaluate(
        self,
        code: bytes,
        *,
        arg: bytes | None = None,
        shape: Shape | None = None,
        limits: EvaluationLimits = DEFAULT_LIMITS,
        seed: int = 0,
    ) -> Evaluation:
        """Evaluate as :meth:`Sandbox.evaluate`; raise SandboxBusyError at once when the queue is full."""
        if not self._admitted.acquire(blocking=False):
            raise SandboxBusyError("the sandbox's queue is full")
        try:
            with self._running:
                return self._sandbox.evaluate(code, arg=arg, shape=shape, limits=limits, seed=seed)
        finally:
            self._admitted.release()
