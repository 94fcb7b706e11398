"""Evaluate over a real channel: the guard first, then the engine, and a record of each."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_runner import POLICY, Scripted, request

from evalward.guard.target import Shape
from evalward.guard.verdict import Verdict
from evalward.sandbox import Evaluation
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Serve = Callable[..., Any]


@pytest.fixture(params=["tcp", "unix"])
def real(request: pytest.FixtureRequest, serve: Serve, stub_at: Any, tmp_path: Path) -> Any:
    """A real server with the sandbox opted in, on each transport."""
    place = "127.0.0.1:0" if request.param == "tcp" else f"unix:{tmp_path}/e.sock"
    process = serve("--listen", place, "--allow-eval=sandbox")
    process.stub = stub_at(process.listen[0])
    return process


@pytest.mark.exhaustive
def test_a_payload_is_judged_run_and_recorded_twice(real: Any) -> None:
    code = b"(a) => { console.log('marker_c1'); return a.secret + 'marker_r2' }"

    response = real.stub.Evaluate(request(code, argument_json=b'{"secret": "marker_a3"}', request_id="r-9"))

    assert response.WhichOneof("outcome") == "allowed"
    assert response.allowed.result_json == b'"marker_a3marker_r2"'
    assert list(response.allowed.console) == ["marker_c1"]
    envelope = json.loads(response.envelope)
    assert (envelope["ok"], envelope["result_json"]) == (True, '"marker_a3marker_r2"')
    binding = response.binding
    assert (binding.target, binding.shape) == (pb.TARGET_SANDBOX, pb.SHAPE_FUNCTION)
    assert binding.code_hash == hashlib.sha256(code).hexdigest()
    assert binding.request_id == "r-9"
    decision, evaluation = real.records()
    assert (decision["kind"], decision["outcome"], decision["shape"]) == ("decision", "allow", "function")
    assert (evaluation["kind"], evaluation["outcome"]) == ("evaluation", "completed")
    assert decision["decision_id"] == evaluation["decision_id"] == binding.decision_id
    sizes = ("argument_bytes", "result_bytes", "console_bytes", "fuel", "memory_bytes")
    assert [evaluation[name] for name in sizes[:3]] == [23, 20, 9]
    assert (evaluation["fuel"], evaluation["memory_bytes"]) == (
        response.usage.fuel,
        response.usage.memory_bytes,
    )
    assert evaluation["fuel"] > 0
    assert "marker_" not in real.log.read_text()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("code", "limits", "answer"),
    [
        (b"throw new RangeError('no')", {}, "EVAL_RUNTIME_ERROR"),
        (b"for (;;);", {"fuel": 2_000_000}, "EVAL_FUEL_EXHAUSTED"),
        (b"for (;;);", {"deadline_ms": 10}, "EVAL_TIMEOUT"),
        (b"let s = 'x'; for (;;) s += s", {}, "EVAL_MEMORY_LIMIT"),
        (b"(function f() { f() })()", {}, "EVAL_STACK_LIMIT"),
        (b"'x'.repeat(100)", {"result_bytes": 50}, "EVAL_RESULT_TOO_LARGE"),
        (b"new Promise(() => {})", {}, "EVAL_UNSETTLED"),
    ],
)
def test_every_ending_is_an_outcome_with_its_code(
    code: bytes, limits: dict[str, int], answer: str, start: Start
) -> None:
    running = start(policy=POLICY)

    response = running.stub.Evaluate(request(code, limits=pb.EvaluateLimits(**limits)))

    envelope = json.loads(response.envelope)
    assert response.WhichOneof("outcome") == "error"
    assert response.error.code == envelope["code"] == answer
    assert response.usage.memory_bytes > 0
    decision, evaluation = running.records()
    assert (decision["outcome"], evaluation["outcome"], evaluation["code"]) == ("allow", "failed", answer)


def test_what_the_guard_blocks_never_runs(serve: Serve, stub_at: Any) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=sandbox")

    response = stub_at(process.listen[0]).Evaluate(request(b"console.log(1); [].at.constructor('1')()"))

    assert response.error.code == "EVAL_BLOCKED_CONSTRUCT"
    assert not response.HasField("usage")
    (record,) = process.records()
    assert (record["kind"], record["outcome"]) == ("decision", "deny")


def test_a_blocked_or_unlisted_payload_does_not_reach_the_runner(start: Start) -> None:
    runner = Scripted()
    running = start(policy=POLICY, runner=runner)

    assert running.stub.Evaluate(request(b"block")).error.code == "EVAL_BLOCKED_CONSTRUCT"
    assert runner.asked == []


@pytest.mark.exhaustive
def test_without_the_opt_in_the_sandbox_is_denied(serve: Serve, stub_at: Any) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer")

    response = stub_at(process.listen[0]).Evaluate(request())

    assert response.error.code == "EVAL_TARGET_DENIED"
    assert [*response.error.required] == ["--allow-eval=sandbox"]
    assert [record["outcome"] for record in process.records()] == ["deny"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("code", "declared", "ran"),
    [
        (b"return 1", None, Shape.ASYNC_BODY),
        (b"await 1", None, Shape.ASYNC_BODY),
        (b"() => 1", None, Shape.FUNCTION),
        (b"1", None, Shape.SCRIPT),
        (b"{}", pb.SHAPE_EXPRESSION, Shape.EXPRESSION),
    ],
)
def test_the_shape_that_is_judged_is_the_shape_that_runs(
    code: bytes,
    declared: pb.Shape.ValueType | None,
    ran: Shape,
    start: Start,
    easy_judge: Callable[..., Verdict],
) -> None:
    judged: list[Shape | None] = []

    def judge(payload: bytes, **rest: Any) -> Verdict:
        judged.append(rest["shape"])
        return easy_judge(payload, **rest)

    runner = Scripted(Evaluation(None, ran, b"1"))
    running = start(judge, policy=POLICY, runner=runner)

    response = running.stub.Evaluate(request(code, **({} if declared is None else {"shape": declared})))

    assert response.WhichOneof("outcome") == "allowed"
    assert judged == [ran]
    assert [asked["shape"] for asked in runner.asked] == [ran]
    assert response.binding.shape == pb.Shape.Value(f"SHAPE_{ran.name}")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"shape": pb.SHAPE_UNSPECIFIED}, "INVALID_INPUT", "/shape"),
        ({"shape": pb.SHAPE_MODULE}, "UNSUPPORTED_OPTION", "/shape"),
        ({"profile": 99}, "INVALID_INPUT", "/profile"),
        ({"profile": pb.PROFILE_SEED}, "STRICT_CONSTANT_OVERRIDE", "/profile"),
        ({"guard_limits": pb.Limits(depth=10**9)}, "STRICT_CONSTANT_OVERRIDE", "/guard_limits/depth"),
        ({"limits": pb.EvaluateLimits(fuel=10**12)}, "STRICT_CONSTANT_OVERRIDE", "/limits/fuel"),
        ({"limits": pb.EvaluateLimits(deadline_ms=1001)}, "STRICT_CONSTANT_OVERRIDE", "/limits/deadline_ms"),
        (
            {"limits": pb.EvaluateLimits(memory_bytes=2**30)},
            "STRICT_CONSTANT_OVERRIDE",
            "/limits/memory_bytes",
        ),
        ({"limits": pb.EvaluateLimits(stack_bytes=2**20)}, "STRICT_CONSTANT_OVERRIDE", "/limits/stack_bytes"),
        ({"limits": pb.EvaluateLimits(stack_bytes=1024)}, "INVALID_INPUT", "/limits/stack_bytes"),
        (
            {"limits": pb.EvaluateLimits(result_bytes=2**21)},
            "STRICT_CONSTANT_OVERRIDE",
            "/limits/result_bytes",
        ),
        (
            {"limits": pb.EvaluateLimits(console_bytes=2**21)},
            "STRICT_CONSTANT_OVERRIDE",
            "/limits/console_bytes",
        ),
        ({"limits": pb.EvaluateLimits(fuel=1)}, "INVALID_INPUT", "/limits/fuel"),
        ({"argument_json": b"{"}, "INVALID_INPUT", "/argument_json"),
        ({"argument_json": b" " * (2**20 + 1)}, "EVAL_PAYLOAD_TOO_LARGE", "/argument_json"),
        ({"session_id": "two words"}, "INVALID_INPUT", "/session_id"),
    ],
)
def test_a_bad_request_is_a_domain_failure(
    fields: dict[str, Any], code: str, field: str, start: Start
) -> None:
    running = start(policy=POLICY)

    response = running.stub.Evaluate(request(**fields))

    assert (response.error.code, response.error.field) == (code, field)
    assert (running.records()[-1]["outcome"], running.records()[-1]["code"]) in {
        ("deny", code),
        ("failed", code),
    }


def test_a_message_that_does_not_parse_gets_an_envelope_and_a_record(start: Start) -> None:
    running = start(policy=POLICY)
    call = running.channel.unary_unary("/evalward.v1.GuardService/Evaluate")

    response = pb.EvaluateResponse.FromString(call(b"\x42\x03\xed\xa0\x80"))

    assert response.error.code == "INVALID_INPUT"
    assert len(running.records()) == 1


def test_stricter_limits_and_the_seed_reach_the_engine(start: Start) -> None:
    runner = Scripted(Evaluation(None, Shape.SCRIPT, b"1"))
    running = start(policy=POLICY, runner=runner)

    running.stub.Evaluate(request(limits=pb.EvaluateLimits(fuel=1_000_000, console_bytes=0), seed=7))

    (asked,) = runner.asked
    assert (asked["limits"].fuel, asked["limits"].console_bytes, asked["seed"]) == (1_000_000, 0, 7)
    assert asked["limits"].deadline_ms == 1_000
