"""The real ``evalward serve --workers``: the workers' memory, and the effect of killing or stopping them."""

import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from evalward.judging.workers.worker_process import COMMAND
from evalward.v1 import evalward_pb2 as pb

Serve = Callable[..., Any]
Stop = Callable[[int], None]
StubAt = Callable[[str], Any]
Ask = Callable[..., pb.ValidateRequest]

FLAGS = ("--listen", "127.0.0.1:0", "--allow-eval=renderer", "--verdict-cache", "0")
BLOCKED = b"process['exit'](0)"


def workers_of(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def outcome(stub: Any, request: pb.ValidateRequest) -> str:
    """Return ``allowed``, or the code of the denial, from an outcome or a status."""
    try:
        answer = stub.Validate(request, timeout=60)
    except grpc.RpcError as failure:
        return (failure.details() or "").partition(":")[0]
    return "allowed" if answer.WhichOneof("outcome") == "allowed" else str(answer.error.code)


def envelope_of(failure: Any) -> dict[str, Any]:
    """Return the envelope of a status."""
    status: Any = rpc_status.from_call(failure)
    (detail,) = [each for each in status.details if each.Is(pb.ErrorEnvelope.DESCRIPTOR)]
    envelope: dict[str, Any] = json.loads(pb.ErrorEnvelope.FromString(detail.value).envelope)
    return envelope


def ended(pidfd: int) -> bool:
    """Wait until the process has ended."""
    try:
        return bool(select.select([pidfd], [], [], 60)[0])
    finally:
        os.close(pidfd)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("workers", "processes"), [("0", 0), ("1", 2), ("2", 3)])
def test_there_is_one_process_more_than_may_judge(
    workers: str, processes: int, serve: Serve, stub_at: StubAt, ask: Ask
) -> None:
    process = serve(*FLAGS, "--workers", workers)
    stub = stub_at(process.listen[0])

    assert outcome(stub, ask()) == "allowed"
    assert outcome(stub, ask(BLOCKED)) == "EVAL_BLOCKED_CONSTRUCT"
    # The spare worker may still be starting, but its process exists.
    assert len(workers_of(process.popen.pid)) == processes
    assert process.terminate()[0] == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("value", ["-1", "many", "", "257", "1.5"])
def test_a_number_of_workers_that_is_none_is_a_usage_error(value: str, serve: Serve) -> None:
    with pytest.raises(AssertionError, match="workers"):
        serve(*FLAGS, f"--workers={value}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_front_holds_payloads_and_leaves_no_core_file(workers: str, serve: Serve) -> None:
    assert limit(serve(*FLAGS, "--workers", workers).popen.pid, "Max core file size") == "0"


@pytest.mark.exhaustive
def test_a_worker_holds_its_sockets_and_nothing_else(serve: Serve, stub_at: StubAt, ask: Ask) -> None:
    process = serve(*FLAGS, "--workers", "1")
    assert outcome(stub_at(process.listen[0]), ask()) == "allowed"
    pid = judging(process.popen.pid)

    held = [each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()]
    environment = Path(f"/proc/{pid}/environ").read_bytes()

    assert sorted(str(each).partition(":")[0] for each in held) == ["/dev/null"] * 3 + ["socket"] * 2
    assert b"EVALWARD_" not in environment
    assert limit(pid, "Max core file size") == "0"
    assert limit(pid, "Max file size") == "0"


def limit(pid: int, name: str) -> str:
    """Return a hard limit of a process (proc(5))."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith(name))[len(name) :].split()[1]


def judging(server: int) -> int:
    """Return a ready worker: it has closed its extra descriptors, its last step."""
    return next(pid for pid in workers_of(server) if limit(pid, "Max open files") == "32")


@pytest.mark.exhaustive
def test_a_signal_to_the_whole_group_leaves_the_workers_to_the_server(
    serve: Serve, stub_at: StubAt, ask: Ask
) -> None:
    process = serve(*FLAGS, "--workers", "1")
    stub = stub_at(process.listen[0])
    assert outcome(stub, ask()) == "allowed"
    pid = judging(process.popen.pid)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)

    assert outcome(stub, ask()) == "allowed"
    assert pid in workers_of(process.popen.pid)


def test_killed_workers_cost_a_request_each_at_most_and_are_replaced(
    serve: Serve, stub_at: StubAt, ask: Ask
) -> None:
    process = serve(*FLAGS, "--workers", "2")
    stub = stub_at(process.listen[0])
    assert outcome(stub, ask()) == "allowed"
    before = workers_of(process.popen.pid)

    for pid in before:
        os.kill(pid, signal.SIGKILL)
    outcomes = [outcome(stub, ask(b"document.title + %d" % number)) for number in range(12)]

    assert set(outcomes) <= {"allowed", "GUARD_UNAVAILABLE"}
    assert outcomes.count("GUARD_UNAVAILABLE") <= len(before)
    assert outcomes[-1] == "allowed"
    assert outcome(stub, ask(BLOCKED)) == "EVAL_BLOCKED_CONSTRUCT"
    assert not {*before} & {*workers_of(process.popen.pid)}
    _, stderr = process.terminate()
    assert "ended by SIGKILL" in stderr
    # Every denial has its record, as every verdict has.
    assert [record.get("code", "allowed") for record in process.records()][1:13] == outcomes


@pytest.mark.exhaustive
def test_stopped_workers_are_killed_and_their_requests_denied_in_time(
    serve: Serve, stub_at: StubAt, ask: Ask, stop_process: Stop
) -> None:
    process = serve(*FLAGS, "--workers", "1")
    stub = stub_at(process.listen[0])
    assert outcome(stub, ask()) == "allowed"
    stopped = workers_of(process.popen.pid)

    for pid in stopped:
        stop_process(pid)
    with pytest.raises(grpc.RpcError) as denied:
        stub.Validate(ask(), timeout=60)
    outcomes = [outcome(stub, ask()) for _ in range(4)]

    # A payload that no worker has judged is not denied for its content: it is allowed a moment later.
    assert denied.value.code() is grpc.StatusCode.UNAVAILABLE
    envelope = envelope_of(denied.value)
    assert (envelope["code"], envelope["retryable"]) == ("GUARD_UNAVAILABLE", True)
    assert set(outcomes) <= {"allowed", "GUARD_UNAVAILABLE"}
    assert outcomes[-1] == "allowed"
    # The worker with the job has been killed; the other may still be queued.
    assert len({*stopped} & {*workers_of(process.popen.pid)}) <= 1


@pytest.mark.exhaustive
def test_under_audit_mode_a_payload_without_a_verdict_is_still_denied(
    serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path, stop_process: Stop
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\nenforcement: audit\n")
    process = serve(*FLAGS, "--workers", "1", "--policy", str(policy))
    stub = stub_at(process.listen[0])
    assert outcome(stub, ask(BLOCKED)) == "allowed"

    for pid in workers_of(process.popen.pid):
        stop_process(pid)

    assert outcome(stub, ask()) == "GUARD_UNAVAILABLE"


@pytest.mark.exhaustive
def test_the_workers_of_a_killed_server_end(serve: Serve, stub_at: StubAt, ask: Ask) -> None:
    process = serve(*FLAGS, "--workers", "2")
    assert outcome(stub_at(process.listen[0]), ask()) == "allowed"
    workers = [os.pidfd_open(pid) for pid in workers_of(process.popen.pid)]

    process.popen.kill()

    assert len(workers) == 3
    assert all(ended(each) for each in workers)


@pytest.mark.exhaustive
def test_a_stopped_worker_of_a_killed_server_ends_too(
    serve: Serve, stub_at: StubAt, ask: Ask, stop_process: Stop
) -> None:
    process = serve(*FLAGS, "--workers", "1")
    assert outcome(stub_at(process.listen[0]), ask()) == "allowed"
    pid = judging(process.popen.pid)
    stop_process(pid)
    worker = os.pidfd_open(pid)

    process.popen.kill()

    assert ended(worker)


@pytest.mark.exhaustive
def test_a_worker_whose_server_has_gone_before_it_began_ends_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [*COMMAND, str(theirs.fileno()), str(theirs.fileno()), str(os.getpid() + 1)]
        worker = subprocess.run(command, pass_fds=[theirs.fileno()], timeout=60, check=False)

    assert worker.returncode == 0


def test_health_serves_with_workers(serve: Serve) -> None:
    process = serve(*FLAGS, "--workers", "auto")

    with grpc.insecure_channel(process.listen[0]) as channel:
        said = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)

    assert said.status == health_pb2.HealthCheckResponse.SERVING
