"""Faults of a worker: each costs one request and never yields an allow."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalward.judging.executor import Job, Lost, Overloaded, TooLong
from evalward.judging.workers import dispatch, worker_pool
from evalward.judging.workers.admission_queue import SHORT_BYTES
from evalward.judging.workers.channel import WorkerDied, WorkerFault
from evalward.judging.workers.worker_pool import NoWorkerError, WorkerPool

Pool = Callable[..., WorkerPool]
Stop = Callable[[int], None]
MakeJob = Callable[..., Job]

LIES = [
    "garbage",
    "text",
    "next_number",
    "other_payload",
    "unknown_kind",
    "failed_allow",
    "twice",
    "endless",
    "pickle",
    "another_verdict",
    "sent_back",
]
# A payload can cause a crash, but not a SIGKILL: that comes from another process.
DEATHS = {"segv": WorkerDied, "abort": WorkerDied, "exit": WorkerDied, "kill": Lost}


@pytest.mark.exhaustive
def test_a_worker_that_lies_costs_its_own_request_and_is_killed(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(4, command=rogues)

    for number, lie in enumerate(LIES, start=1):
        with pytest.raises(WorkerFault):
            workers.submit(job(f"{lie};".encode()), patience=60)

        assert workers.submit(job(b"document.title"), patience=60).allowed
        assert not workers.submit(job(b"process['exit'](0)"), patience=60).allowed
        assert workers.info().killed == number, lie


@pytest.mark.exhaustive
@pytest.mark.parametrize("death", DEATHS)
def test_a_worker_that_dies_costs_its_own_request(
    death: str, pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)

    with pytest.raises(DEATHS[death]):
        workers.submit(job(f"{death};".encode()), patience=60)

    assert workers.submit(job(b"document.title"), patience=60).allowed
    assert workers.info().killed == 0


@pytest.mark.exhaustive
def test_beside_a_worker_that_is_killed_in_its_job_the_others_go_on(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(2, command=rogues)
    while len(workers.info().idle) < 3:
        threading.Event().wait(0.01)
    busy = workers.info().idle[-1]
    with ThreadPoolExecutor(1) as thread:
        hanging = thread.submit(workers.submit, job(b"hang;"), patience=60)
        while workers.info().running == 0:
            threading.Event().wait(0.01)

        assert all(workers.submit(job(b"%d" % n), patience=60).allowed for n in range(20))
        os.kill(busy, signal.SIGKILL)

        with pytest.raises(Lost):
            hanging.result(60)
    assert workers.submit(job(b"document.title"), patience=60).allowed


@pytest.mark.exhaustive
@pytest.mark.parametrize("misdeed", ["hang", "burn"])
def test_a_stuck_worker_is_killed_and_what_used_the_processor_is_told_from_what_did_not(
    misdeed: str, pool: Pool, job: MakeJob, rogues: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = TooLong if misdeed == "burn" else Lost
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 1.0)
    monkeypatch.setattr(dispatch, "_WORKED", 0.05)  # the processor is shared with other tests
    workers = pool(1, command=rogues)

    with pytest.raises(told):
        workers.submit(job(f"{misdeed};".encode()), patience=60)

    monkeypatch.undo()
    assert workers.submit(job(b"document.title"), patience=60).allowed
    while workers.info().ended == 0:
        threading.Event().wait(0.01)
    assert workers.info().killed == 1


def test_a_stopped_worker_does_not_keep_the_caller_and_may_go_on_when_it_comes_back(
    pool: Pool, job: MakeJob, monkeypatch: pytest.MonkeyPatch, stop_process: Stop
) -> None:
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 600)
    workers = pool(1)
    workers.submit(job(b"1"), patience=60)
    stopped = workers.info().idle[-1]
    stop_process(stopped)
    try:
        with pytest.raises(Lost):
            workers.submit(job(b"document.title"), patience=0.1)
    finally:
        os.kill(stopped, signal.SIGCONT)

    while stopped not in workers.info().idle:
        threading.Event().wait(0.01)
    assert workers.submit(job(b"document.title"), patience=60).allowed
    assert workers.info().killed == 0


def test_a_hurried_caller_leaves_a_slow_job_in_its_place(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 600)
    workers = pool(1, command=rogues)
    long = b";" + b" " * SHORT_BYTES
    while len(workers.info().idle) < 2:
        threading.Event().wait(0.01)

    with pytest.raises(Lost):
        workers.submit(job(b"hang" + long), patience=0.2)

    # The next long job waits for the place; short ones have the express lane.
    with pytest.raises(Overloaded):
        workers.submit(job(b"1" + long), patience=0.2)
    assert all(workers.submit(job(b"%d" % n), patience=60).allowed for n in range(20))


@pytest.mark.exhaustive
def test_a_stopped_worker_that_takes_no_more_bytes_is_killed(
    pool: Pool, job: MakeJob, monkeypatch: pytest.MonkeyPatch, stop_process: Stop
) -> None:
    workers = pool(1)
    workers.submit(job(b"1"), patience=60)
    stopped = workers.info().idle[-1]
    stop_process(stopped)
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 0.2)

    with pytest.raises(Lost):
        workers.submit(job(b" " * 2**20), patience=60)

    monkeypatch.undo()
    assert workers.submit(job(b"document.title"), patience=60).allowed


def test_killed_idle_workers_cost_no_more_requests_than_workers(pool: Pool, job: MakeJob) -> None:
    workers = pool(2)
    for _ in range(3):
        workers.submit(job(b"1"), patience=60)
    for pid in workers.info().pids:
        os.kill(pid, signal.SIGKILL)

    lost = 0
    for _ in range(6):
        try:
            assert workers.submit(job(b"document.title"), patience=60).allowed
        except Lost:
            lost += 1

    assert lost <= 3


class Health:
    """The health reports of a pool, and a way to wait for the next."""

    def __init__(self) -> None:
        self.said: list[bool] = []
        self.good = threading.Event()
        self.bad = threading.Event()

    def __call__(self, is_healthy: bool) -> None:  # noqa: FBT001 - the pool's signature
        self.said.append(is_healthy)
        (self.good if is_healthy else self.bad).set()


def test_without_any_worker_nothing_starts_and_nothing_is_allowed(pool: Pool, job: MakeJob) -> None:
    health = Health()
    workers = pool(1, command=(sys.executable, "-c", "raise SystemExit(1)"), on_health=health)

    with pytest.raises(NoWorkerError):
        workers.wait_ready()
    with pytest.raises(Overloaded) as full:
        workers.submit(job(b"document.title"), patience=None)

    assert full.value.limit == "workers"
    assert health.bad.wait(60)
    assert health.said == [False]


def test_health_comes_back_with_the_first_worker(
    pool: Pool, job: MakeJob, tmp_path: Path, rogues: tuple[str, ...]
) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        "import os, sys\n"
        "if not os.path.exists(sys.argv[1]):\n"
        "    sys.exit(1)\n"
        "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])\n"
    )
    health = Health()
    workers = pool(
        1, command=(sys.executable, str(script), str(tmp_path / "repaired"), *rogues[1:]), on_health=health
    )
    assert health.bad.wait(60)

    (tmp_path / "repaired").touch()

    assert health.good.wait(60)
    assert health.said == [False, True]
    assert workers.submit(job(b"document.title"), patience=60).allowed


@pytest.mark.exhaustive
def test_a_worker_with_another_ruleset_is_refused(
    pool: Pool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = tmp_path / "upgraded.py"
    script.write_text(
        "import sys\n"
        "from evalward.judging.workers import worker_loop\n"
        "worker_loop.RULESET = '0' * 16\n"
        "sys.exit(worker_loop.run(*map(int, sys.argv[1:])))\n"
    )

    with pytest.raises(NoWorkerError):
        pool(1, command=(sys.executable, "-P", str(script))).wait_ready()

    assert "another ruleset" in caplog.text


def test_a_closed_pool_has_no_processes_and_no_verdicts(pool: Pool, job: MakeJob) -> None:
    workers = pool(2)
    workers.wait_ready()

    workers.close()

    assert not workers.info().pids
    with pytest.raises(Overloaded):
        workers.submit(job(b"document.title"), patience=None)


@pytest.mark.exhaustive
def test_past_the_queue_a_job_is_refused_at_once(pool: Pool, job: MakeJob, rogues: tuple[str, ...]) -> None:
    workers = pool(1, queue=1, command=rogues)
    while len(workers.info().idle) < 2:
        threading.Event().wait(0.01)
    with ThreadPoolExecutor(3) as threads:
        # One at the place, one in the express lane, and one that waits.
        hanging = [threads.submit(workers.submit, job(b"hang;"), patience=60) for _ in range(2)]
        while workers.info().running < 2:
            threading.Event().wait(0.01)
        waiting = threads.submit(workers.submit, job(b"document.title"), patience=60)
        while workers.info().waiting == 0:
            threading.Event().wait(0.01)

        with pytest.raises(Overloaded) as full:
            workers.submit(job(b"2"), patience=60)

        assert (full.value.limit, full.value.allowed) == ("queue", 1)
        for pid in workers.info().pids:
            os.kill(pid, signal.SIGKILL)
        assert waiting.result(60).allowed
        assert [type(each.exception(60)) for each in hanging] == [Lost, Lost]
