"""One set of engines for each thread: neither a Node child nor a page may be shared."""

from __future__ import annotations

import threading

from evalward.oracle.reach import Oracles


class EnginesPerThread:
    """The engines of every thread that asked; ``deadline`` is seconds per run."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._local = threading.local()
        self._all: list[Oracles] = []
        self._lock = threading.Lock()

    def mine(self) -> Oracles:
        """Return the engines of this thread."""
        if not hasattr(self._local, "oracles"):
            oracles = Oracles(deadline=self._deadline)
            with self._lock:
                self._all.append(oracles)
            self._local.oracles = oracles
        found: Oracles = self._local.oracles
        return found

    def close(self) -> None:
        """End every engine; no thread may use them any more."""
        for oracles in self._all:
            oracles.close()
