"""Errors of invalid requests on every RPC: each self-repair field has one type, also in typed replies."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from bad_requests import BAD, Bad
from grpc_status import rpc_status

from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.sandbox import SandboxPool
from evalward.server.settings import Settings
from evalward.tools import load_manifest
from evalward.v1 import evalward_pb2 as pb

MANIFEST = load_manifest(Path(__file__).parents[2] / "data" / "tools" / "manifest.yaml")
POLICY = Policy.default().allowing([Target.RENDERER, Target.SANDBOX])
POINTER = re.compile(r"(/([^~/]|~[01])*)*")
NEVER_WITHOUT = {"INVALID_INPUT", "MISSING_FIELD", "UNSUPPORTED_OPTION", "STRICT_CONSTANT_OVERRIDE"}
JSON_TYPES = {"null", "boolean", "integer", "number", "string", "array", "object"}


@pytest.fixture(scope="module")
def sandbox() -> SandboxPool:
    return SandboxPool(workers=1, queue=1)


@pytest.fixture
def running(start: Callable[..., Any], sandbox: SandboxPool) -> Any:
    settings = Settings(batch_items=4)
    return start(judge, settings, policy=POLICY, runner=sandbox, manifest=MANIFEST)


def answer_to(running: Any, bad: Bad) -> tuple[dict[str, Any], pb.Error]:
    wire = bad.request if isinstance(bad.request, bytes) else bad.request.SerializeToString()
    method = running.channel.unary_unary(f"/evalward.v1.GuardService/{bad.rpc}")
    try:
        response = getattr(pb, f"{bad.rpc}Response").FromString(method(wire))
    except grpc.RpcError as failure:
        details = rpc_status.from_call(failure).details  # type: ignore[arg-type]  # it is a call
        attached = next(each for each in details if each.Is(pb.ErrorEnvelope.DESCRIPTOR))
        response = pb.ErrorEnvelope.FromString(attached.value)
    return json.loads(response.envelope), response.error


def check_types(details: dict[str, Any]) -> None:
    assert POINTER.fullmatch(details.get("field", ""))
    for name in ("allowed", "required", "types"):
        assert isinstance(details.get(name, []), list)
        assert all(isinstance(each, str) for each in details.get(name, []))
        # A value, a name or a flag, and no sentence.
        assert not [each for each in details.get(name, []) if re.search(r"[.:] |\bat (least|most)\b", each)]
    assert JSON_TYPES.issuperset(details.get("types", ()))
    bounds = details.get("range", {"minimum": 0})
    assert bounds
    assert {"minimum", "maximum"}.issuperset(bounds)
    assert all(type(bound) in {int, float} for bound in bounds.values())
    assert ("limit" in details) is ("limit_value" in details)
    assert type(details.get("limit_value", 0)) is int
    assert type(details.get("actual", 0)) is int
    assert re.compile(details.get("pattern", ""))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_request_says_how_to_repair_it(bad: Bad, running: Any) -> None:
    envelope, error = answer_to(running, bad)

    details = envelope.get("details", {})
    assert (envelope["code"], error.code) == (bad.code, bad.code), envelope["error"]
    check_types(details)
    assert bad.code not in NEVER_WITHOUT or "field" in details
    for name, expected in bad.repair.items():
        if isinstance(expected, dict):
            assert expected.items() <= details[name].items()
        elif expected is not ...:
            assert details[name] == expected, name
    # The typed fields say the same.
    assert (error.field, error.limit, error.pattern) == tuple(
        details.get(name, "") for name in ("field", "limit", "pattern")
    )
    for name in ("allowed", "required", "types"):
        assert [*getattr(error, name)] == details.get(name, [])
    assert error.HasField("limit_value") is ("limit_value" in details)
    assert error.HasField("actual") is ("actual" in details)
    assert (error.limit_value, error.actual) == (details.get("limit_value", 0), details.get("actual", 0))
    bounds = {
        name: getattr(error.range, name) for name in ("minimum", "maximum") if error.range.HasField(name)
    }
    assert bounds == details.get("range", {})


def test_the_table_has_every_code_that_is_repaired_and_every_rpc() -> None:
    assert {bad.code for bad in BAD} >= {*NEVER_WITHOUT, "EVAL_TARGET_DENIED", "EVAL_ANALYSIS_LIMIT"}
    assert {bad.rpc for bad in BAD} == {"Validate", "ValidateCall", "ValidateBatch", "Evaluate"}


def test_an_item_of_a_batch_is_repaired_as_a_request_of_its_own(running: Any) -> None:
    batch = pb.ValidateBatchRequest(items=[pb.ValidateRequest(code=b"1")])

    (failure,) = running.stub.ValidateBatch(batch).failures

    assert (failure.error.field, [*failure.error.required]) == ("/target", ["/target"])


def test_a_finding_has_its_offsets(running: Any) -> None:
    code = "'é'; process.exit()".encode()

    error = running.stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)).error

    place = error.location
    assert (place.line, place.column) == (1, 6)
    assert code[place.start : place.end] == b"process.exit"


@pytest.mark.parametrize("stack", [64 << 10, 128 << 10, 256 << 10])
def test_a_smaller_stack_holds_fewer_calls(stack: int, running: Any) -> None:
    def runs(depth: int, **limits: int) -> bool:
        code = f"(function f(n) {{ return n ? f(n - 1) : 0 }})({depth})".encode()
        reply = running.stub.Evaluate(pb.EvaluateRequest(code=code, limits=pb.EvaluateLimits(**limits)))
        return bool(reply.WhichOneof("outcome") == "allowed")

    deep = stack // 1024
    assert runs(deep)
    assert not runs(deep, stack_bytes=stack)
    assert runs(deep // 4, stack_bytes=stack)
