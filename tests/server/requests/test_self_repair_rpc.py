"""Errors of invalid requests on every RPC: each self-repair field has one type, also in typed replies."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
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
DEEP = "[" * 2100 + "]" * 2100


@dataclass(frozen=True)
class Bad:
    """A request that must fail with ``code``, and the expected self-repair fields of its details."""

    rpc: str
    request: Any
    code: str
    repair: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rpc} {self.code} {self.repair.get('field', '')} {self.repair.get('limit', '')}".strip()


def validate(refused: str, repair: dict[str, Any], **fields: Any) -> Bad:
    request = pb.ValidateRequest(**{"code": b"1", "target": pb.TARGET_RENDERER, **fields})
    return Bad("Validate", request, refused, repair)


def call(tool: str, arguments: str, code: str, repair: dict[str, Any], **fields: Any) -> Bad:
    request = pb.ValidateCallRequest(tool=tool, arguments_json=arguments.encode(), **fields)
    return Bad("ValidateCall", request, code, repair)


def evaluate(refused: str, repair: dict[str, Any], **fields: Any) -> Bad:
    return Bad("Evaluate", pb.EvaluateRequest(**{"code": b"1", **fields}), refused, repair)


def over(limit: str, value: int, pointer: str | None = None, **more: Any) -> dict[str, Any]:
    return {"limit": limit, "limit_value": value, **({} if pointer is None else {"field": pointer}), **more}


TARGETS = ["main", "renderer", "node", "sandbox"]
SHAPES = ["script", "expression", "function", "async_body", "module"]
BAD = [
    # Validate
    validate("MISSING_FIELD", {"field": "/target", "required": ["/target"], "allowed": TARGETS}, target=0),
    validate("INVALID_INPUT", {"field": "/target", "allowed": TARGETS}, target=99),
    validate("INVALID_INPUT", {"field": "/shape", "allowed": SHAPES}, shape=99),
    validate("INVALID_INPUT", {"field": "/profile"}, profile=99),
    validate("INVALID_INPUT", {"field": "/session_id"}, session_id="two words"),
    validate("INVALID_INPUT", {"field": "/request_id"}, request_id="x" * 129),
    validate("INVALID_INPUT", {"field": "/bindings"}, bindings={"a-b": "json"}),
    validate(
        "INVALID_INPUT",
        over("bindings", 64, "/bindings", actual=65),
        bindings={f"a{n}": "json" for n in range(65)},
    ),
    validate("STRICT_CONSTANT_OVERRIDE", {"field": "/bindings/process"}, bindings={"process": "json"}),
    validate(
        "STRICT_CONSTANT_OVERRIDE",
        {"field": "/profile", "allowed": ["balanced", "strict"]},
        profile=pb.PROFILE_SEED,
    ),
    validate(
        "STRICT_CONSTANT_OVERRIDE",
        over("steps", 10**9, "/limits/steps", actual=0, range={"minimum": 1}) | {"limit_value": ...},
        limits=pb.Limits(steps=0),
    ),
    validate(
        "STRICT_CONSTANT_OVERRIDE",
        over("depth", 2000, "/limits/depth", actual=10**6, range={"minimum": 1, "maximum": 2000}),
        limits=pb.Limits(depth=10**6),
    ),
    validate(
        "EVAL_TARGET_DENIED",
        {"field": "/target", "allowed": ["renderer", "sandbox"], "required": ["--allow-eval=main"]},
        target=pb.TARGET_MAIN,
    ),
    validate(
        "EVAL_PAYLOAD_TOO_LARGE",
        over("payload_bytes", 3, "/code", actual=4),
        code=b"1234",
        limits=pb.Limits(payload_bytes=3),
    ),
    validate("EVAL_ANALYSIS_LIMIT", over("depth", 2000, "/code"), code=DEEP.encode()),
    Bad("Validate", b"\x3a\x03\xed\xa0\x80", "INVALID_INPUT", {"field": ""}),
    # ValidateCall
    call("", "{}", "MISSING_FIELD", {"field": "/tool", "required": ["/tool"]}),
    call("two words", "{}", "INVALID_INPUT", {"field": "/tool"}),
    call("nothing", "{}", "TOOL_UNKNOWN", {"field": "/tool"}),
    call("run", "{}", "INVALID_INPUT", {"field": "/code"}),
    call("run", '{"code": 1}', "INVALID_INPUT", {"field": "/code", "types": ["string"]}),
    call("run", '{"code":"1","~x/y":2}', "INVALID_INPUT", {"field": "/~0x~1y"}),
    call("run", '{"code":"1","CODE":"2"}', "INVALID_INPUT", {"field": "/CODE", "allowed": ["code"]}),
    call("run", "[]", "INVALID_INPUT", {"field": "/arguments_json", "types": ["object"]}),
    call("run", "{", "INVALID_INPUT", {"field": "/arguments_json"}),
    call(
        "run",
        '{"code":"1","data":' + "[" * 40 + "]" * 40 + "}",
        "INVALID_INPUT",
        over("argument_depth", 32, "/arguments_json"),
    ),
    call("run", '{"code":"1","filename":"x"}', "TOOL_FIELD_FORBIDDEN", {"field": "/filename"}),
    call(
        "run",
        '{"code":"1","operation_type":"query"}',
        "STRICT_CONSTANT_OVERRIDE",
        {"field": "/operation_type"},
    ),
    call(
        "run",
        '{"code":"1"}',
        "STRICT_CONSTANT_OVERRIDE",
        {"field": "/limits/depth"},
        limits=pb.Limits(depth=10**6),
    ),
    call("run", json.dumps({"code": DEEP}), "EVAL_ANALYSIS_LIMIT", over("depth", 2000, "/code")),
    call(
        "app",
        "{}",
        "MISSING_FIELD",
        {"field": "/command", "required": ["/command"], "allowed": ["eval", "click", "title"]},
    ),
    call(
        "app",
        '{"command":"run"}',
        "INVALID_INPUT",
        {"field": "/command", "allowed": ["eval", "click", "title"]},
    ),
    call("type_text", "{}", "MISSING_FIELD", {"field": "/text", "required": ["/text"]}),
    call("type_text", '{"text":5}', "INVALID_INPUT", {"field": "/text", "types": ["string"]}),
    call(
        "type_text", '{"text":"a","clicks":0}', "INVALID_INPUT", {"field": "/clicks", "range": {"minimum": 1}}
    ),
    call("type_text", '{"text":"a","button":"middle"}', "INVALID_INPUT", {"field": "/button"}),
    call("type_text", '{"text":"a","more":1}', "INVALID_INPUT", {"field": "/more"}),
    # Batch
    Bad(
        "ValidateBatch",
        pb.ValidateBatchRequest(),
        "MISSING_FIELD",
        {"field": "/items", "required": ["/items"]},
    ),
    Bad(
        "ValidateBatch",
        pb.ValidateBatchRequest(items=[pb.ValidateRequest(code=b"1")] * 5),
        "BATCH_TOO_LARGE",
        over("batch_items", 4, "/items", actual=5),
    ),
    # Evaluate
    evaluate(
        "UNSUPPORTED_OPTION",
        {"field": "/shape", "allowed": ["script", "expression", "function", "async_body"]},
        shape=pb.SHAPE_MODULE,
    ),
    evaluate("INVALID_INPUT", {"field": "/argument_json"}, argument_json=b"{"),
    evaluate(
        "EVAL_PAYLOAD_TOO_LARGE",
        over("argument_bytes", 2**20, "/argument_json", actual=2**20 + 1),
        argument_json=b" " * (2**20 + 1),
    ),
    evaluate(
        "STRICT_CONSTANT_OVERRIDE", {"field": "/guard_limits/depth"}, guard_limits=pb.Limits(depth=10**6)
    ),
    *(
        evaluate(
            "STRICT_CONSTANT_OVERRIDE",
            over(name, own, f"/limits/{name}", actual=own + 1, range={"minimum": lowest, "maximum": own}),
            limits=pb.EvaluateLimits(**{name: own + 1}),
        )
        for name, lowest, own in (
            ("fuel", 1_000_000, 400_000_000),
            ("deadline_ms", 1, 1_000),
            ("memory_bytes", 16 << 20, 64 << 20),
            ("stack_bytes", 64 << 10, 512 << 10),
            ("result_bytes", 1, 1 << 20),
            ("console_bytes", 0, 64 << 10),
        )
    ),
    evaluate(
        "INVALID_INPUT",
        over("stack_bytes", 512 << 10, "/limits/stack_bytes", actual=1),
        limits=pb.EvaluateLimits(stack_bytes=1),
    ),
    evaluate(
        "EVAL_FUEL_EXHAUSTED",
        over("fuel", 1_000_000),
        code=b"for (;;);",
        limits=pb.EvaluateLimits(fuel=1_000_000),
    ),
    evaluate("EVAL_MEMORY_LIMIT", over("memory_bytes", 64 << 20), code=b"let s = 'x'; for (;;) s += s"),
    evaluate("EVAL_STACK_LIMIT", over("stack_bytes", 512 << 10), code=b"(function f() { f() })()"),
    evaluate(
        "EVAL_STACK_LIMIT",
        over("stack_bytes", 128 << 10),
        code=b"(function f() { f() })()",
        limits=pb.EvaluateLimits(stack_bytes=130 << 10),
    ),
    evaluate(
        "EVAL_RESULT_TOO_LARGE",
        over("result_bytes", 5),
        code=b"'123456'",
        limits=pb.EvaluateLimits(result_bytes=5),
    ),
]


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
