"""Thread pools that start all their threads before the first task.

The standard library's pool starts a thread when a task is submitted. At a limit on threads (``TasksMax`` of systemd,
``pids_limit`` of a container, ``ulimit -u``) that fails in the submitting thread; in gRPC that is the one thread that
dispatches all calls, so the process would survive without answering anyone. Here the limit is met at the start.

A leaf: both the server and the worker pool of ``evalward.judging`` use it.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoThreadError(OSError):
    """The system provides no more threads; the text says which limit to raise."""

    def __init__(self, name: str, wanted: int) -> None:
        super().__init__(
            f"the system provides no thread for {name} (of {wanted}): raise the limit on processes and threads "
            "(TasksMax of systemd, pids_limit or --pids-limit of containers, podPidsLimit of the kubelet, ulimit -u), "
            "or lower --queue, --max-streams and --evaluation-queue, which decide how many threads there are"
        )


class PrestartedPool(ThreadPoolExecutor):
    """A pool of ``size`` threads that are all started by ``prestart``, and none later."""

    def __init__(self, size: int, name: str) -> None:
        super().__init__(size, thread_name_prefix=name)
        self.size = size
        self.name = name
        self._started: list[threading.Thread] = []

    def prestart(self) -> None:
        """Start every thread; raise NoThreadError, with no thread left, when one cannot be started."""
        all_here = threading.Event()

        def report() -> None:
            self._started.append(threading.current_thread())
            all_here.wait()

        try:
            # No task returns before the last one has started, so each needs its own thread.
            for _ in range(self.size):
                self.submit(report)
        except RuntimeError:
            all_here.set()
            self.shutdown(wait=True, cancel_futures=True)
            raise NoThreadError(self.name, self.size) from None
        finally:
            all_here.set()

    def missing(self) -> int:
        """Return how many started threads have ended."""
        return sum(not thread.is_alive() for thread in self._started)


def prestart(pools: Iterable[PrestartedPool], *, spare: int) -> None:
    """Start the threads of ``pools`` and check that ``spare`` more can start; raise NoThreadError, with none left.

    The spare threads are for what starts threads or processes later: gRPC's core, a replacement worker.
    """
    mustered: list[PrestartedPool] = []
    reserve = PrestartedPool(spare, "short-lived threads")
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
    """Start ``thread``; raise NoThreadError when it cannot be started."""
    try:
        thread.start()
    except RuntimeError:
        raise NoThreadError(thread.name, 1) from None
