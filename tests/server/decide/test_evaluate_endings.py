"""Evaluate when time, the engine, the queue or the log fails, and when the service starts or stops."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status
from scripted_runner import POLICY, Scripted, request

from evalward.errors import Code
from evalward.guard.target import Shape
from evalward.sandbox import Evaluation, SandboxBusyError
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Serve = Callable[..., Any]


def test_the_run_ends_before_the_caller_gives_up(start: Start) -> None:
    runner = Scripted(Evaluation(None, Shape.SCRIPT, b"1"))
    running = start(policy=POLICY, runner=runner, settings=Settings(evaluation_deadline_ms=5_000))

    running.stub.Evaluate(request(), timeout=3)

    assert runner.asked[0]["limits"].deadline_ms < 3_000
    assert runner.asked[0]["patience"] < 3


def test_a_caller_without_a_deadline_waits_without_one(start: Start) -> None:
    runner = Scripted(Evaluation(None, Shape.SCRIPT, b"1"))

    start(policy=POLICY, runner=runner).stub.Evaluate(request())

    assert runner.asked[0]["patience"] is None


def test_a_fault_of_the_engine_costs_one_call(start: Start) -> None:
    fault = Evaluation(Code.SANDBOX_UNAVAILABLE, Shape.SCRIPT, message="the sandbox's engine failed")
    running = start(policy=POLICY, runner=Scripted(fault, Evaluation(None, Shape.SCRIPT, b"2")))

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Evaluate(request())
    again = running.stub.Evaluate(request())

    assert attached(failure.value, grpc.StatusCode.UNAVAILABLE)["code"] == "SANDBOX_UNAVAILABLE"
    assert again.allowed.result_json == b"2"
    kinds = [(record["kind"], record["outcome"], record.get("code")) for record in running.records()]
    assert kinds == [
        ("decision", "allow", None),
        ("evaluation", "error", "SANDBOX_UNAVAILABLE"),
        ("decision", "allow", None),
        ("evaluation", "completed", None),
    ]


def test_an_exception_of_the_engine_is_internal_and_says_nothing_of_the_payload(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    running = start(policy=POLICY, runner=Scripted(RuntimeError("marker_9a")))

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Evaluate(request(b"marker_9a"))

    envelope = attached(failure.value, grpc.StatusCode.INTERNAL)
    assert envelope["code"] == "INTERNAL"
    assert (
        "marker_9a" not in caplog.text + repr(failure.value) + json.dumps(envelope) + running.log.read_text()
    )


def test_a_full_queue_is_overloaded(start: Start) -> None:
    running = start(policy=POLICY, runner=Scripted(SandboxBusyError("queue", 3)))

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Evaluate(request())

    envelope = attached(failure.value, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert (envelope["code"], envelope["details"]) == (
        "OVERLOADED",
        {"limit": "evaluation_queue", "limit_value": 3},
    )
    assert [record["kind"] for record in running.records()] == ["decision", "evaluation"]


class LosesTheLog(Scripted):
    """Returns after it removes the audit log, between the verdict's record and the run's."""

    log: Path

    def evaluate(self, code: bytes, **rest: Any) -> Evaluation:
        self.log.unlink()
        return super().evaluate(code, **rest)


@pytest.mark.parametrize("code", [None, Code.EVAL_UNSETTLED])
def test_no_result_is_given_without_its_record(code: Code | None, start: Start) -> None:
    runner = LosesTheLog(Evaluation(code, Shape.SCRIPT, None if code else b"1", message="it ended"))
    running = start(policy=POLICY, runner=runner)
    runner.log = running.log

    if code is None:
        with pytest.raises(grpc.RpcError) as failure:
            running.stub.Evaluate(request())
        assert attached(failure.value, grpc.StatusCode.UNAVAILABLE)["code"] == "AUDIT_UNAVAILABLE"
    else:
        response = running.stub.Evaluate(request())
        assert response.error.code == code
        assert json.loads(response.envelope)["_meta"]["audited"] is False


def test_without_an_audit_record_nothing_runs(start: Start) -> None:
    runner = Scripted()
    running = start(policy=POLICY, runner=runner)
    running.log.unlink()

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Evaluate(request())

    assert attached(failure.value, grpc.StatusCode.UNAVAILABLE)["code"] == "AUDIT_UNAVAILABLE"
    assert runner.asked == []


class Held(Scripted):
    """Blocks a run until the test releases it."""

    def __init__(self) -> None:
        super().__init__(Evaluation(None, Shape.SCRIPT, b"1"))
        self.entered, self.leave = threading.Event(), threading.Event()

    def evaluate(self, code: bytes, **rest: Any) -> Evaluation:
        self.entered.set()
        assert self.leave.wait(30)
        return super().evaluate(code, **rest)


def test_draining_waits_for_a_run_and_validations_go_on_beside_it(start: Start) -> None:
    runner = Held()
    running = start(policy=POLICY, runner=runner)
    run = running.stub.Evaluate.future(request())
    assert runner.entered.wait(30)
    beside = running.stub.Validate(pb.ValidateRequest(code=b"1", target=pb.TARGET_SANDBOX))
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    runner.leave.set()
    stopping.join()

    assert beside.WhichOneof("outcome") == "allowed"
    assert run.result().WhichOneof("outcome") == "allowed"


def attached(failure: Any, status: grpc.StatusCode) -> dict[str, Any]:
    """Check a status and return its envelope."""
    rich = rpc_status.from_call(failure)
    assert rich is not None
    assert failure.code() is status
    (detail,) = [each for each in rich.details if each.type_url.endswith("ErrorEnvelope")]
    envelope: dict[str, Any] = json.loads(pb.ErrorEnvelope.FromString(detail.value).envelope)
    assert envelope["ok"] is False
    return envelope


@pytest.mark.parametrize("warm", [True, False])
def test_the_start_builds_the_engine_only_where_it_is_wanted(*, warm: bool, start: Start) -> None:
    runner = Warmed()
    running = start(policy=POLICY, runner=runner, settings=Settings(warm_sandbox=warm))

    running.server.warm_up()
    running.stop()

    assert runner.warmed is warm


@pytest.mark.exhaustive
def test_a_service_without_the_sandbox_builds_no_engine(start: Start) -> None:
    runner = Warmed()
    running = start(runner=runner)

    running.server.warm_up()
    running.stop()

    assert not runner.warmed


class Warmed(Scripted):
    """Records its warm-up and fails in it, which must not affect the service."""

    warmed = False

    def warm_up(self) -> None:
        self.warmed = True
        raise OSError("no memory")


@pytest.mark.exhaustive
def test_the_engine_is_not_loaded_before_it_is_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, evalward.cli.serve; print('wasmtime' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
