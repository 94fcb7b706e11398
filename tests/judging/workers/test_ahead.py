"""A job that starts before its caller waits for it: same verdicts, same faults, and no lost place."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from evalward.guard.verdict import Verdict
from evalward.judging.caching import CachingExecutor
from evalward.judging.executor import Job, Lost, not_started
from evalward.judging.verdict_cache import VerdictCache
from evalward.judging.workers.channel import WorkerFault
from evalward.judging.workers.worker_pool import WorkerPool, WorkersInfo

Pool = Callable[..., WorkerPool]
MakeJob = Callable[..., Job]

PAYLOADS = [(b"document.title", True), (b"process['exit'](0)", False), (b"((", False)]


def begun(workers: WorkerPool, job: Job) -> Callable[[], object]:
    """Return the callable of the verdict, once a worker has started."""
    while (made := ahead(workers, job)) is None:
        workers.submit(job, patience=60)
    return made


def ahead(workers: WorkerPool, job: Job) -> Callable[[], Verdict | None] | None:
    """Return the callable of the verdict, None when the job was not started."""
    (made,) = workers.begin([job], patience=60)
    return None if made is not_started else made


def busy_in(info: WorkersInfo) -> frozenset[int]:
    return info.pids - set(info.idle)


def test_each_verdict_is_about_its_own_payload(pool: Pool, job: MakeJob) -> None:
    workers = pool(2)
    waiting: list[tuple[Any, bool]] = []
    for payload, allowed in PAYLOADS * 5:
        made = ahead(workers, job(payload))
        if made is None:
            while waiting:
                verdict, expected = waiting.pop(0)
                assert verdict().allowed is expected
            assert workers.submit(job(payload), patience=60).allowed is allowed
        else:
            waiting.append((made, allowed))
    for verdict, expected in waiting:
        assert verdict().allowed is expected
    assert workers.load() == (0, 0)


def test_where_no_worker_is_free_nothing_is_begun(pool: Pool, job: MakeJob, rogues: tuple[str, ...]) -> None:
    workers = pool(1, command=rogues)
    first = begun(workers, job(b"document.title"))
    others = [made for _ in range(3) if (made := ahead(workers, job(b"1"))) is not None]

    assert len(others) <= 1  # the express lane
    assert ahead(workers, job(b"2")) is None
    for verdict in (first, *others):
        verdict()
    assert workers.load() == (0, 0)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", ["garbage", "other_payload", "twice", "another_verdict", "segv", "exit"])
def test_a_fault_costs_the_job_alone_and_its_place_comes_back(
    fault: str, pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)

    with pytest.raises(WorkerFault):
        begun(workers, job(f"{fault};".encode()))()

    assert workers.submit(job(b"document.title"), patience=60).allowed
    assert workers.load() == (0, 0)


def test_a_worker_that_is_killed_while_nobody_waits_costs_its_job(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)
    workers.submit(job(b"1"), patience=60)
    verdict = ahead(workers, job(b"hang;"))
    assert verdict is not None
    while len(busy := busy_in(workers.info())) != 1:
        os.sched_yield()  # the other process has just become ready
    (pid,) = busy
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(Lost):
        verdict()

    assert workers.submit(job(b"document.title"), patience=60).allowed
    assert workers.load() == (0, 0)


def test_what_is_remembered_is_not_judged_again(pool: Pool, job: MakeJob) -> None:
    workers, verdicts = pool(1), VerdictCache(8)
    cached = CachingExecutor(workers, verdicts)
    first = cached.submit(job(b"document.title"), patience=60)

    new, again, other = cached.begin([job(b"1"), job(b"document.title"), job(b"2")], patience=60)

    assert again() is first
    assert [each() or cached.submit(job(b"1"), patience=60) for each in (new, other)]
    assert workers.load() == (0, 0)
    assert cached.submit(job(b"1"), patience=0).allowed
