"""The pool of prestarted threads: which thread runs a task, what a future gets, how the threads end."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from evalward.thread_pool import PrestartedPool


@pytest.fixture
def pool() -> Iterator[PrestartedPool]:
    pool = PrestartedPool(3, "few")
    pool.prestart()
    yield pool
    pool.shutdown(wait=True)


def test_the_thread_that_worked_last_works_next(pool: PrestartedPool) -> None:
    used = set()
    for _ in range(20):
        _wait_idle(pool)
        used.add(pool.submit(threading.get_ident).result(30))

    assert len(used) == 1


def test_each_thread_takes_a_task_while_the_others_are_busy(pool: PrestartedPool) -> None:
    together = threading.Barrier(4)
    futures = [pool.submit(together.wait, 30) for _ in range(3)]
    together.wait(30)

    assert len({future.result(30) for future in futures}) == len(futures)


def test_a_task_waits_until_a_thread_is_free(pool: PrestartedPool) -> None:
    leave = threading.Event()
    busy = [pool.submit(leave.wait, 30) for _ in range(3)]
    waiting = [pool.submit(divmod, number, 4) for number in range(8)]

    assert not any(future.done() for future in waiting)
    leave.set()
    assert [future.result(30) for future in waiting] == [divmod(number, 4) for number in range(8)]
    assert all(future.result(30) for future in busy)


def test_a_failure_belongs_to_its_future_and_leaves_the_thread(pool: PrestartedPool) -> None:
    def fail(kind: type[BaseException]) -> None:
        raise kind

    for kind in (ValueError, SystemExit):
        assert isinstance(pool.submit(fail, kind).exception(30), kind)

    assert pool.submit(pow, 2, 3).result(30) == 8
    assert pool.missing() == 0


def test_a_cancelled_task_does_not_run(pool: PrestartedPool) -> None:
    leave, ran = threading.Event(), threading.Event()
    for _ in range(3):
        pool.submit(leave.wait, 30)
    waiting = pool.submit(ran.set)

    assert waiting.cancel()
    leave.set()
    pool.shutdown(wait=True)
    assert not ran.is_set()


def test_waiting_tasks_run_before_the_threads_end(pool: PrestartedPool) -> None:
    leave = threading.Event()
    for _ in range(3):
        pool.submit(leave.wait, 30)
    waiting = [pool.submit(abs, -number) for number in range(8)]
    pool.shutdown(wait=False)

    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(abs, 1)
    leave.set()
    pool.shutdown(wait=True)
    assert [future.result(0) for future in waiting] == [*range(8)]
    assert pool.missing() == 3


def test_tasks_can_be_dropped_at_the_end(pool: PrestartedPool) -> None:
    leave = threading.Event()
    for _ in range(3):
        pool.submit(leave.wait, 30)
    waiting = pool.submit(abs, 1)
    pool.shutdown(wait=False, cancel_futures=True)
    leave.set()

    with pytest.raises(CancelledError):
        waiting.result(30)


def test_no_task_outlives_its_run(pool: PrestartedPool) -> None:
    held = threading.Event()

    class Payload:
        def __del__(self) -> None:
            held.set()

    def take(_payload: Payload) -> None: ...

    pool.submit(take, Payload()).result(30)

    assert held.wait(30)


def test_grpc_takes_it_for_a_pool_of_its_own() -> None:
    assert issubclass(PrestartedPool, ThreadPoolExecutor)


def _wait_idle(pool: PrestartedPool) -> None:
    """Return when every thread waits for a task."""
    while pool.idle < pool.size:
        pass
