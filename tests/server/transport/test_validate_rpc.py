"""Validate over a real channel, with the test's own judge."""

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # ships no py.typed
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from evalward.errors import Code
from evalward.guard.verdict import Verdict
from evalward.server.requests.validate_request import CALLER_TEXT
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]

VALIDATE = "/evalward.v1.GuardService/Validate"


def test_an_allow_is_bound_to_the_question_and_recorded(start: Start, ask: Ask) -> None:
    running = start()
    request = ask(shape=pb.SHAPE_FUNCTION, session_id="s-1", request_id="r-1")

    response = running.stub.Validate(request)

    assert response.WhichOneof("outcome") == "allowed"
    digest = hashlib.sha256(request.code).hexdigest()
    envelope = json.loads(response.envelope)
    assert envelope["ok"] is True
    assert envelope["_meta"]["audited"] is True
    assert envelope["_meta"]["session_id"] == "s-1"
    binding = response.binding
    assert (binding.code_hash, binding.target, binding.shape) == (
        digest,
        pb.TARGET_RENDERER,
        pb.SHAPE_FUNCTION,
    )
    assert (binding.request_id, binding.profile) == ("r-1", pb.PROFILE_BALANCED)
    assert binding.policy_digest == envelope["_meta"]["provenance"]["policy_digest"]
    assert binding.decision_id == envelope["_meta"]["decision_id"]
    (record,) = running.records()
    assert (record["outcome"], record["code_hash"], record["decision_id"]) == (
        "allow",
        digest,
        binding.decision_id,
    )


def test_a_block_is_an_outcome_with_typed_fields(start: Start, ask: Ask) -> None:
    response = start().stub.Validate(ask(b"block"))

    envelope = json.loads(response.envelope)
    assert response.WhichOneof("outcome") == "error"
    assert (response.error.code, response.error.number) == (envelope["code"], envelope["number"])
    assert (response.error.code, response.error.construct) == ("EVAL_BLOCKED_CONSTRUCT", "process.exit")
    assert not response.binding.HasField("shape")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"target": pb.TARGET_UNSPECIFIED}, "MISSING_FIELD", "/target"),
        ({"target": 99}, "INVALID_INPUT", "/target"),
        ({"shape": pb.SHAPE_UNSPECIFIED}, "INVALID_INPUT", "/shape"),
        ({"shape": 99}, "INVALID_INPUT", "/shape"),
        ({"profile": pb.PROFILE_UNSPECIFIED}, "INVALID_INPUT", "/profile"),
        ({"profile": pb.PROFILE_SEED}, "STRICT_CONSTANT_OVERRIDE", "/profile"),
        ({"limits": pb.Limits(depth=10**9)}, "STRICT_CONSTANT_OVERRIDE", "/limits/depth"),
        ({"limits": pb.Limits(steps=0)}, "STRICT_CONSTANT_OVERRIDE", "/limits/steps"),
        ({"bindings": {"process": "json"}}, "STRICT_CONSTANT_OVERRIDE", "/bindings/process"),
        ({"session_id": "two words"}, "INVALID_INPUT", "/session_id"),
        ({"request_id": "x" * 129}, "INVALID_INPUT", "/request_id"),
    ],
)
def test_a_bad_request_is_a_domain_failure_that_says_what_is_allowed(
    fields: dict[str, Any], code: str, field: str, start: Start, ask: Ask
) -> None:
    running = start()

    response = running.stub.Validate(ask(**fields))

    details = json.loads(response.envelope)["details"]
    assert (response.error.code, response.error.field) == (code, field)
    assert details.keys() & {"allowed", "range", "required", "pattern"} or field == "/bindings/process"
    (record,) = running.records()
    assert (record["outcome"], record["code"]) == ("deny", code)


def test_a_stricter_request_is_taken(start: Start, ask: Ask) -> None:
    request = ask(profile=pb.PROFILE_STRICT, limits=pb.Limits(depth=10), bindings={"page": "playwright.page"})

    response = start().stub.Validate(request)

    assert response.binding.profile == pb.PROFILE_STRICT
    assert response.WhichOneof("outcome") == "allowed"


def test_a_field_of_a_later_version_is_ignored(start: Start, ask: Ask) -> None:
    wire = ask().SerializeToString() + bytes.fromhex("a00601")  # number 100, a varint

    response = pb.ValidateResponse.FromString(start().channel.unary_unary(VALIDATE)(wire))

    assert response.WhichOneof("outcome") == "allowed"


def test_a_message_that_does_not_parse_gets_an_envelope_and_a_record(start: Start) -> None:
    running = start()
    wire = b"\x3a\x03\xed\xa0\x80"  # field 7, session_id, with a lone surrogate

    response = pb.ValidateResponse.FromString(running.channel.unary_unary(VALIDATE)(wire))

    assert response.error.code == "INVALID_INPUT"
    assert json.loads(response.envelope)["_meta"]["audited"] is True
    assert len(running.records()) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["s", "A:b@c/d.e_f-9", "0" * 128])
def test_every_text_that_requests_take_the_audit_log_takes_too(text: str, start: Start, ask: Ask) -> None:
    assert CALLER_TEXT.fullmatch(text)
    running = start()

    running.stub.Validate(ask(session_id=text, request_id=text))

    (record,) = running.records()
    assert (record["session"], record["request_id"]) == (text, text)


def test_a_failure_inside_is_internal_without_a_trace_of_the_payload(
    start: Start, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(payload: bytes, **_: object) -> Verdict:
        raise RuntimeError(payload.decode())

    running = start(broken)

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Validate(ask(b"marker_7f3a"))

    envelope = infrastructure(failure.value, grpc.StatusCode.INTERNAL, "INTERNAL")
    assert envelope["retryable"] is False
    assert [record["code"] for record in running.records()] == ["INTERNAL"]
    everything = caplog.text + repr(failure.value) + json.dumps(envelope) + running.log.read_text()
    assert "marker_7f3a" not in everything


def test_without_an_audit_record_nothing_is_allowed_and_blocks_say_so(start: Start, ask: Ask) -> None:
    running = start()
    running.log.chmod(0o400)

    blocked = running.stub.Validate(ask(b"block"))
    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Validate(ask())

    assert json.loads(blocked.envelope)["_meta"]["audited"] is False
    assert blocked.error.code == "EVAL_BLOCKED_CONSTRUCT"
    envelope = infrastructure(failure.value, grpc.StatusCode.UNAVAILABLE, "AUDIT_UNAVAILABLE")
    assert envelope["_meta"]["audited"] is False


def test_past_its_bounds_the_service_refuses_at_once_and_health_still_answers(
    start: Start, ask: Ask, gate: Any
) -> None:
    running = start(gate.judge, Settings(max_concurrent=1, queue=0))
    first = running.stub.Validate.future(ask())
    gate.entered.wait()
    try:
        with pytest.raises(grpc.RpcError) as failure:
            running.stub.Validate(ask())
        health = health_pb2_grpc.HealthStub(running.channel).Check(
            health_pb2.HealthCheckRequest(), timeout=10
        )
    finally:
        gate.leave.set()

    envelope = infrastructure(failure.value, grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert (envelope["details"]["limit"], envelope["details"]["limit_value"]) == ("queue", 0)
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert first.result().WhichOneof("outcome") == "allowed"


@pytest.mark.exhaustive
def test_a_request_that_waits_too_long_is_refused_before_its_deadline(
    start: Start, ask: Ask, gate: Any
) -> None:
    running = start(gate.judge, Settings(max_concurrent=1, queue=8))
    first = running.stub.Validate.future(ask())
    gate.entered.wait()
    try:
        with pytest.raises(grpc.RpcError) as failure:
            running.stub.Validate(ask(), timeout=5)
    finally:
        gate.leave.set()

    envelope = infrastructure(failure.value, grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert envelope["details"]["limit"] == "max_concurrent"
    assert first.result().WhichOneof("outcome") == "allowed"


def test_a_call_without_a_request_ends_and_costs_nothing(
    start: Start, caplog: pytest.LogCaptureFixture, ask: Ask
) -> None:
    running = start()
    bare = running.channel.stream_unary("/evalward.v1.GuardService/Validate")
    with pytest.raises(grpc.RpcError) as refused:
        bare(iter([]), timeout=60)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert running.stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
    running.stop()
    assert [record["outcome"] for record in running.records()] == ["allow"]
    assert not [each for each in caplog.records if each.name.startswith("grpc")]


def test_a_message_far_above_the_limit_is_refused_by_the_transport(start: Start, ask: Ask) -> None:
    with pytest.raises(grpc.RpcError) as failure:
        start().stub.Validate(ask(b" " * 2_000_000))

    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_draining_lets_the_running_request_finish_and_refuses_new_ones(
    start: Start, ask: Ask, gate: Any
) -> None:
    running = start(gate.judge)
    first = running.stub.Validate.future(ask())
    gate.entered.wait()
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    try:
        watch = health_pb2_grpc.HealthStub(running.channel).Watch(health_pb2.HealthCheckRequest())
        assert any(update.status == health_pb2.HealthCheckResponse.NOT_SERVING for update in watch)
        with pytest.raises(grpc.RpcError) as failure:
            running.stub.Validate(ask())
    finally:
        gate.leave.set()
        stopping.join()

    assert first.result().WhichOneof("outcome") == "allowed"
    infrastructure(failure.value, grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    assert json.loads(running.log.read_text().splitlines()[-1])["kind"] == "stop"


def test_codes_and_policy_are_listed_and_the_rest_is_unimplemented(start: Start) -> None:
    running = start()

    codes = running.stub.ListErrorCodes(pb.ListErrorCodesRequest())
    policy = running.stub.GetPolicy(pb.GetPolicyRequest())

    assert {row.code for row in codes.codes} == set(Code)
    assert hashlib.sha256(policy.policy_json).hexdigest() == policy.digest
    assert list(policy.allowed_targets) == [pb.TARGET_RENDERER]
    for call, request in ((running.stub.GetErrorStats, pb.GetErrorStatsRequest()),):
        with pytest.raises(grpc.RpcError) as failure:
            call(request)
        assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED


def infrastructure(failure: Any, status: grpc.StatusCode, code: str) -> dict[str, Any]:
    """Check a rich status and return the envelope that it carries."""
    rich = rpc_status.from_call(failure)
    assert rich is not None
    assert failure.code() is status
    parts = {detail.type_url.rpartition(".")[2]: detail for detail in rich.details}
    info = error_details_pb2.ErrorInfo.FromString(parts["ErrorInfo"].value)
    attached = pb.ErrorEnvelope.FromString(parts["ErrorEnvelope"].value)
    envelope: dict[str, Any] = json.loads(attached.envelope)
    assert (info.reason, info.domain) == (code, "evalward")
    assert (envelope["ok"], envelope["code"], attached.error.code) == (False, code, code)
    assert ("RetryInfo" in parts) is envelope["retryable"]
    return envelope


@pytest.mark.exhaustive
def test_in_verbose_mode_an_internal_failure_shows_where_and_the_log_says_so(start: Start, ask: Ask) -> None:
    def broken(payload: bytes, **_: object) -> Verdict:
        raise RuntimeError(payload.decode())

    running = start(broken, Settings(errors_verbose=2))

    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Validate(ask(b"marker_7f3a"))

    envelope = infrastructure(failure.value, grpc.StatusCode.INTERNAL, "INTERNAL")
    assert envelope["details"]["failure"] == "RuntimeError"
    assert [frame.rpartition(" in ")[2] for frame in envelope["details"]["stack"]] == ["broken"]
    assert "marker_7f3a" not in json.dumps(envelope)
    assert "errors-verbose=2" in json.loads(running.log.read_text().splitlines()[0])["weakened"]
