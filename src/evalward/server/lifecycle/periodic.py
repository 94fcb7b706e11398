"""Periodic tasks while the server serves, on one thread."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from evalward.thread_pool import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOG = logging.getLogger("evalward.server")

INTERVAL_SECONDS: Final = 0.1


class PeriodicTasks:
    """Calls ``tasks`` in turn, every ``interval`` seconds from ``start`` to ``stop``."""

    def __init__(self, tasks: Sequence[Callable[[], object]], interval: float = INTERVAL_SECONDS) -> None:
        self._tasks = tasks
        self._interval = interval
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go, name="rounds", daemon=True)

    def start(self) -> None:
        """Start the thread; raise NoThreadError."""
        start(self._thread)

    def stop(self) -> None:
        """Stop; return when the thread has ended."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _go(self) -> None:
        while not self._ending.wait(self._interval):
            for task in self._tasks:
                try:
                    task()
                except Exception as failure:  # noqa: BLE001 - a failure must not affect other tasks
                    LOG.error("a periodic task failed: %s", type(failure).__name__)  # noqa: TRY400 - its text may be caller text
