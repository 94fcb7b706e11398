"""Requests that must fail on each RPC, with the code and the self-repair fields of each."""

import json
from dataclasses import dataclass, field
from typing import Any

from evalward.v1 import evalward_pb2 as pb

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
