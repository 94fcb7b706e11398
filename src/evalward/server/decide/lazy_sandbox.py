"""The sandbox, created by the first request that needs it: loading the engine would slow every start by a second."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from evalward.thread_pool import NoThreadError, start

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.server.decide.audit_trail import AuditTrail
    from evalward.server.decide.decider import Decider
    from evalward.server.decide.evaluator import Evaluator, Runner

LOG = logging.getLogger("evalward.server")


class LazySandbox:
    """Creates one engine pool on first use, from any thread; all policies share it."""

    def __init__(self, *, deadline_ms: int, queue: int, runner: Runner | None = None) -> None:
        self.deadline_ms = deadline_ms
        self._queue = queue
        self._runner = runner
        self._lock = threading.Lock()
        self._warming: threading.Thread | None = None

    def runner(self) -> Runner:
        """Return the runner, and create it on first use."""
        with self._lock:
            if self._runner is None:
                from evalward.sandbox import SandboxPool  # noqa: PLC0415 - it loads the engine

                self._runner = SandboxPool(queue=self._queue)
            return self._runner

    def warm_up(self) -> None:
        """Build the engine on a background thread; guard requests do not wait for it."""
        warming = threading.Thread(target=self._warm, name="sandbox-warm-up", daemon=True)
        try:
            start(warming)
        except NoThreadError:
            LOG.warning("the sandbox is built with the first request: no thread is available now")
        else:
            self._warming = warming

    def close(self) -> None:
        """Wait until a running warm-up has ended."""
        if self._warming is not None:
            self._warming.join()

    def _warm(self) -> None:
        try:
            self.runner().warm_up()
        except Exception as failure:  # noqa: BLE001 - the first request tries again and reports the failure
            LOG.warning("the sandbox could not be built: %s", type(failure).__name__)


class LazyEvaluator:
    """Creates the ``Evaluator`` of one policy on first use."""

    def __init__(
        self, decider: Decider, audit_trail: AuditTrail, provenance: Provenance, sandbox: LazySandbox
    ) -> None:
        self._parts = (decider, audit_trail, provenance)
        self._sandbox = sandbox
        self._made: Evaluator | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Evaluator:
        """Return the evaluator."""
        with self._lock:
            if self._made is None:
                from evalward.server.decide.evaluator import Evaluator  # noqa: PLC0415 - it loads the engine

                self._made = Evaluator(
                    *self._parts, deadline_ms=self._sandbox.deadline_ms, runner=self._sandbox.runner()
                )
            return self._made
