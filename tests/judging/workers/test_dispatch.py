"""Several jobs sent to one worker: a fault affects only its own job, the others get their verdicts."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalward.audit import AuditLog
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.rules import Rules
from evalward.guard.target import Target
from evalward.judging.executor import Job, Lost, not_started
from evalward.judging.workers import costs, worker_pool
from evalward.judging.workers.admission_queue import SHORT_BYTES
from evalward.judging.workers.channel import WorkerDied, WorkerFault
from evalward.judging.workers.worker_pool import WorkerPool
from evalward.judging.workers.worker_process import GuardFailure
from evalward.policy import Policy
from evalward.server.decide.audit_trail import AuditTrail
from evalward.server.decide.batch_decider import BatchDecider, BatchLimits
from evalward.server.decide.decider import Decider
from evalward.v1 import evalward_pb2 as pb

Pool = Callable[..., WorkerPool]
Stop = Callable[[int], None]
MakeJob = Callable[..., Job]
Verdicts = list[Callable[[], Any]]

POLICY = Policy.default().allowing([Target.RENDERER])
PROVENANCE = Provenance("0.0.0", POLICY.digest, "0" * 12, "tree-sitter-javascript 0.25.0")


def handed_over(workers: WorkerPool, jobs: list[Job], *, patience: float | None = 60) -> Verdicts:
    """Return the callables of the verdicts of ``jobs``, once a worker is free for them."""
    while (begun := [*workers.begin(jobs, patience=patience)])[0] is not_started:
        threading.Event().wait(0.01)
    return begun


def all_ready(workers: WorkerPool) -> None:
    while len(workers.info().idle) < 2:
        threading.Event().wait(0.01)


def test_each_job_gets_the_guards_own_verdict_in_its_order(pool: Pool, job: MakeJob) -> None:
    workers = pool(1)
    rules = [Rules(allowed=True), Rules(), Rules(allowed=True, process_reads=frozenset({"pid"}))]
    texts = [b"document.title", b"process['exit'](0)", b"((", b"process.pid", b"", b"\xff", b"x" * 5_000]
    jobs = [job(text, each) for text in texts for each in rules]

    verdicts = [verdict() for verdict in handed_over(workers, jobs)]

    assert verdicts == [
        judge(each.payload, target=each.target, shape=None, rules=each.rules) for each in jobs
    ]
    assert workers.load() == (0, 0)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", ["segv", "garbage", "another_verdict", "twice"])
def test_a_fault_costs_its_own_job_and_the_others_get_their_verdicts(
    fault: str, pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)

    for place in (1, 4):
        all_ready(workers)
        jobs = [job(b"document.title + %d" % number) for number in range(5)]
        jobs[place] = job(f"{fault};".encode())
        verdicts = handed_over(workers, jobs)
        for number, verdict in enumerate(verdicts):
            if number == place:
                with pytest.raises(WorkerFault):
                    verdict() or workers.submit(jobs[place], patience=60)
            else:
                assert (verdict() or workers.submit(jobs[number], patience=60)).allowed

    assert workers.load() == (0, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("death", "told"), [("segv", WorkerDied), ("kill", Lost)])
def test_a_death_is_the_doing_of_the_job_that_was_in_the_worker(
    death: str, told: type[Exception], pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)
    all_ready(workers)
    jobs = [job(each) for each in (b"1", b"2", f"{death};".encode(), b"3", b"4")]

    first, second, culprit, *rest = handed_over(workers, jobs)

    assert first().allowed
    assert second().allowed
    with pytest.raises(told):
        culprit()
    assert [each() for each in rest] == [None, None]


def test_a_guard_that_raises_costs_its_own_job_and_no_worker(pool: Pool, job: MakeJob) -> None:
    workers = pool(1)
    broken = job(b"1", Rules(allowed=True, keywords=(None,)))  # type: ignore[arg-type]

    for place in range(3):
        jobs = [job(b"document.title")] * 3
        jobs[place] = broken
        for number, verdict in enumerate(handed_over(workers, jobs)):
            if number == place:
                with pytest.raises(GuardFailure):
                    verdict()
            else:
                assert verdict().allowed
    assert workers.info().ended == 0
    assert workers.load() == (0, 0)


def test_a_job_that_stalls_has_its_own_time_and_costs_itself(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = pool(1, command=rogues)
    all_ready(workers)
    limits = {b"hang;": 0.3}
    jobs = [job(b"1"), job(b"2"), job(b"hang;"), job(b"3")]
    order = iter(jobs)
    monkeypatch.setattr(
        worker_pool, "wall_clock_limit", lambda _limits: limits.get(next(order).payload, 600.0)
    )

    first, second, hanging, last = handed_over(workers, jobs)

    assert first().allowed
    assert second().allowed
    with pytest.raises(Lost):
        hanging()
    assert last() is None
    monkeypatch.undo()
    while workers.info().ended == 0:
        threading.Event().wait(0.01)
    assert workers.info().killed == 1
    assert workers.submit(jobs[-1], patience=60).allowed
    assert workers.load() == (0, 0)


def test_what_takes_too_long_together_is_sent_back_and_judged_by_itself(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...]
) -> None:
    workers = pool(1, command=rogues)
    all_ready(workers)
    jobs = [job(each) for each in (b"dawdle;", b"1", b"2", b"dawdle;")]

    first, *rest = handed_over(workers, jobs)

    assert first().allowed
    assert [each() for each in rest] == [None] * 3
    assert all(workers.submit(each, patience=60).allowed for each in jobs)
    while workers.load() != (0, 0):
        threading.Event().wait(0.01)
    assert workers.info().ended == 0


def test_a_hurried_caller_is_let_go_and_the_worker_finishes_the_rest(
    pool: Pool, job: MakeJob, monkeypatch: pytest.MonkeyPatch, stop_process: Stop
) -> None:
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 600)
    workers = pool(1)
    all_ready(workers)
    stopped = workers.info().idle[-1]
    stop_process(stopped)
    try:
        first, *rest = handed_over(workers, [job(b"%d" % number) for number in range(9)], patience=0.1)
        with pytest.raises(Lost):
            first()
        assert [each() for each in rest] == [None] * 8
        assert workers.load().running == 1
    finally:
        os.kill(stopped, signal.SIGCONT)

    while stopped not in workers.info().idle:
        threading.Event().wait(0.01)
    assert workers.info().killed == 0
    assert all(workers.submit(job(b"document.title"), patience=60).allowed for _ in range(5))


def test_what_is_more_than_a_short_payload_together_does_not_take_the_lane_for_the_short(
    pool: Pool, job: MakeJob, rogues: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        costs, "USUAL_RATE", 0.0
    )  # the size alone decides, not the estimated cost of an unknown caller
    workers = pool(1, command=rogues)
    all_ready(workers)
    (hanging,) = handed_over(workers, [job(b"hang;")])
    half = job(b";" * (SHORT_BYTES // 2))

    assert workers.begin([half, half, job(b"1")], patience=60)[0] is not_started
    first, second = workers.begin([half, half], patience=60)

    assert not_started not in {first, second}
    verdict = first()
    assert verdict is not None
    # The second is judged or sent back: that depends on the time that the first took.
    assert second() in {verdict, None}
    for pid in workers.info().pids:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(Lost):
        hanging()


def batch_of(workers: WorkerPool, log: Path, payloads: list[bytes]) -> list[str]:
    """Return the code of each item, "" for an allowed one."""
    audit_log = AuditLog.open(log)
    decider = Decider(
        policy=POLICY, audit_trail=AuditTrail(audit_log, PROVENANCE), executor=workers, provenance=PROVENANCE
    )
    limits = BatchLimits(items=len(payloads), bytes=2**20)
    items = [pb.ValidateRequest(code=each, target=pb.TARGET_RENDERER) for each in payloads]
    wire = pb.ValidateBatchRequest(items=items).SerializeToString()
    try:
        answer = BatchDecider(decider, PROVENANCE, limits).decide(wire, remaining=None)
    finally:
        audit_log.close()
    return [(item.decision and item.decision.code) or "" for item in answer.items]


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", ["segv", "twice"])
def test_in_a_batch_a_fault_is_one_items_outcome(
    fault: str, pool: Pool, rogues: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "wall_clock_limit", lambda _limits: 600)
    workers = pool(1, command=rogues)
    all_ready(workers)
    payloads = [b"document.title + %d" % number for number in range(80)]
    bad = {7: "INTERNAL", 33: "INTERNAL", 79: "INTERNAL"}
    for place in bad:
        payloads[place] = f"{fault};{place}".encode()
    payloads[50] = b"process['exit'](0)"
    expected = {**bad, 50: "EVAL_BLOCKED_CONSTRUCT"}

    codes = batch_of(workers, tmp_path / "audit.jsonl", payloads)

    assert codes == [expected.get(place, "") for place in range(80)]
    assert workers.load() == (0, 0)


@pytest.mark.exhaustive
def test_in_a_batch_a_payload_that_stalls_is_answered_with_its_code_and_nobody_else_is(
    pool: Pool, rogues: tuple[str, ...], tmp_path: Path
) -> None:
    workers = pool(1, command=rogues)
    all_ready(workers)
    payloads = [b"document.title + %d" % number for number in range(20)]
    payloads[9] = b"hang;"

    codes = batch_of(workers, tmp_path / "audit.jsonl", payloads)

    assert codes == ["GUARD_UNAVAILABLE" if place == 9 else "" for place in range(20)]
