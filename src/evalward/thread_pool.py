"""Thread pools that start all their threads before the first task, and wake the one that worked last.

The standard library's pool starts a thread when a task is submitted. At a limit on threads (``TasksMax`` of systemd,
``pids_limit`` of a container, ``ulimit -u``) that fails in the submitting thread; in gRPC that is the one thread that
dispatches all calls, so the process would survive without answering anyone. Here the limit is met at the start.

The standard library's pool also wakes the thread that has waited longest. With some hundred threads, each call would
run on a stack that has left the processor's caches, and all stacks would become resident.

A leaf: both the server and the worker pool of ``evalward.judging`` use it.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
T = TypeVar("T")


class NoThreadError(OSError):
    """The system provides no more threads; the text says which limit to raise."""

    def __init__(self, name: str, wanted: int) -> None:
        super().__init__(
            f"the system provides no thread for {name} (of {wanted}): raise the limit on processes and threads "
            "(TasksMax of systemd, pids_limit or --pids-limit of containers, podPidsLimit of the kubelet, ulimit -u), "
            "or lower --queue, --max-streams and --evaluation-queue, which decide how many threads there are"
        )


class _Task:
    """A submitted call and its future."""

    __slots__ = ("_arguments", "_call", "_named", "future")

    def __init__(self, call: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.future: Future[Any] = Future()
        self._call = call
        self._arguments = arguments
        self._named = named

    def run(self) -> None:
        """Call, unless the future is cancelled, and settle the future."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._call(*self._arguments, **self._named)
        except BaseException as failure:  # noqa: BLE001 - the future's owner decides
            self.future.set_exception(failure)
        else:
            self.future.set_result(result)


class _Seat:
    """Where one thread waits: ``woken`` is released when ``task`` is set, or when the pool is shut down."""

    __slots__ = ("task", "woken")

    def __init__(self) -> None:
        self.task: _Task | None = None
        self.woken = threading.Lock()
        self.woken.acquire()


class PrestartedPool(ThreadPoolExecutor):
    """A pool of ``size`` threads that are all started by ``prestart``, and none later.

    It is a ``ThreadPoolExecutor`` for gRPC, which takes no other, and uses nothing of it.
    """

    def __init__(self, size: int, name: str) -> None:
        super().__init__(size, thread_name_prefix=name)
        self.size = size
        self.name = name
        self._started: list[threading.Thread] = []
        self._seats: list[_Seat] = []
        self._backlog: deque[_Task] = deque()
        self._ends = False
        self._state_lock = threading.Lock()

    def prestart(self) -> None:
        """Start every thread; raise NoThreadError, with no thread left, when one cannot be started."""
        try:
            for number in range(self.size):
                thread = threading.Thread(target=self._serve, name=f"{self.name}_{number}", daemon=True)
                thread.start()
                self._started.append(thread)
        except RuntimeError:
            self.shutdown(wait=True, cancel_futures=True)
            raise NoThreadError(self.name, self.size) from None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` on the idle thread that worked last, or on the next one that becomes idle."""
        task = _Task(fn, args, kwargs)
        with self._state_lock:
            if self._ends:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._seats:
                seat = self._seats.pop()
                seat.task = task
                seat.woken.release()
            else:
                self._backlog.append(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as in the base
        """End each thread once no task waits; a second call may wait for what the first did not."""
        with self._state_lock:
            self._ends = True
            dropped = [*self._backlog] if cancel_futures else []
            if cancel_futures:
                self._backlog.clear()
            leaving, self._seats = self._seats, []
            for seat in leaving:
                seat.woken.release()
        for task in dropped:
            task.future.cancel()
        if wait:
            for thread in self._started:
                thread.join()

    @property
    def idle(self) -> int:
        """The number of threads that wait for a task."""
        return len(self._seats)

    def missing(self) -> int:
        """Return how many started threads have ended."""
        return sum(not thread.is_alive() for thread in self._started)

    def _serve(self) -> None:
        seat = _Seat()
        while (task := self._next(seat)) is not None:
            task.run()
            # The last task must not live until the next one.
            del task

    def _next(self, seat: _Seat) -> _Task | None:
        """Wait on ``seat`` for a task; None: the pool is shut down."""
        with self._state_lock:
            if self._backlog:
                return self._backlog.popleft()
            if self._ends:
                return None
            self._seats.append(seat)
        seat.woken.acquire()
        task, seat.task = seat.task, None
        return task


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
