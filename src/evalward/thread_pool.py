"""Thread pools whose threads all exist before the first task.

A pool of the standard library makes a thread when a task comes. At a limit on threads (``TasksMax`` of systemd,
``pids_limit`` of a container, ``ulimit -u``) that fails in whoever hands the task over; in gRPC it is the one thread
that serves every call, which ends with it and leaves a process that answers nobody. Here the limit is met at the start.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoThreadError(OSError):
    """The system gives no more threads; the text says what to raise."""

    def __init__(self, name: str, wanted: int) -> None:
        super().__init__(
            f"the system gives no thread for {name} (of {wanted}): raise the limit on processes and threads "
            "(TasksMax of systemd, pids_limit or --pids-limit of containers, podPidsLimit of the kubelet, ulimit -u), "
            "or lower --queue, --max-streams and --evaluation-queue, which decide how many threads there are"
        )


class PrestartedPool(ThreadPoolExecutor):
    """A pool of ``size`` threads that are all started by ``prestart``, and none later."""

    def __init__(self, size: int, name: str) -> None:
        super().__init__(size, thread_name_prefix=name)
        self.size = size
        self.name = name
        self._members: list[threading.Thread] = []

    def prestart(self) -> None:
        """Start every thread; raise NoThreadError, with none of them left, when there is one that cannot be had."""
        all_here = threading.Event()

        def report() -> None:
            self._members.append(threading.current_thread())
            all_here.wait()

        try:
            # None of them comes back before the last is there, so each needs a thread of its own.
            for _ in range(self.size):
                self.submit(report)
        except RuntimeError:
            all_here.set()
            self.shutdown(wait=True, cancel_futures=True)
            raise NoThreadError(self.name, self.size) from None
        finally:
            all_here.set()

    def missing(self) -> int:
        """Return how many of the threads that were started have ended since."""
        return sum(not member.is_alive() for member in self._members)


def prestart(pools: Iterable[PrestartedPool], *, spare: int) -> None:
    """Muster ``pools``, and make sure of ``spare`` threads more; raise NoThreadError, with none of them left.

    The spare ones are for what starts a thread or a process by itself: gRPC's core, the successor of a worker.
    """
    mustered: list[PrestartedPool] = []
    reserve = PrestartedPool(spare, "what comes and goes")
    try:
        for pool in (*pools, reserve):
            pool.prestart()
            mustered.append(pool)
    except NoThreadError:
        for pool in mustered:
            pool.shutdown(wait=True)
        raise
    reserve.shutdown(wait=True)


def start(thread: threading.Thread) -> None:
    """Start ``thread``; raise NoThreadError when it cannot be had."""
    try:
        thread.start()
    except RuntimeError:
        raise NoThreadError(thread.name, 1) from None
