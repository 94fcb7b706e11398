"""A fake service with scripted replies, and the same request through either client."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from evalward.client import AsyncGuardClient, GuardClient
from evalward.v1 import evalward_pb2 as pb

POLICY_DIGEST = "a" * 64
CODE = b"document.title"
ARGUMENTS = b'{"code":"document.title","nested":["a b"],"other":1}'
JUDGED = {"/code": CODE, "/nested/0": b"a b"}
REQUESTS: dict[str, Any] = {
    "Validate": pb.ValidateRequest,
    "ValidateCall": pb.ValidateCallRequest,
    "Evaluate": pb.EvaluateRequest,
}
RPCS = tuple(REQUESTS)
CLIENTS = ("sync", "asyncio")

Servicer = Callable[[Any, grpc.ServicerContext], Any]


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def true_allow(request: Any) -> Any:
    """Answer as a service does that allows exactly what was asked."""
    is_call = isinstance(request, pb.ValidateCallRequest)
    binding = pb.VerdictBinding(
        code_hash=sha256(request.arguments_json if is_call else request.code),
        target=pb.TARGET_RENDERER,
        policy_digest=POLICY_DIGEST,
        decision_id="d1",
        profile=request.profile or pb.PROFILE_BALANCED,
        request_id=request.request_id,
    )
    envelope = {"ok": True, "_meta": {"decision_id": "d1", "provenance": {"policy_digest": POLICY_DIGEST}}}
    if isinstance(request, pb.EvaluateRequest):
        binding.target = pb.TARGET_SANDBOX
        binding.shape = request.shape or pb.SHAPE_SCRIPT
        envelope |= {"result_json": "2", "console": [{"level": "log", "text": "hi"}]}
        return pb.EvaluateResponse(
            binding=binding, allowed=pb.Evaluated(result_json=b"2"), envelope=json.dumps(envelope).encode()
        )
    text = json.dumps(envelope).encode()
    if is_call:
        binding.shape = pb.SHAPE_EXPRESSION
        fields = [pb.JudgedField(path=path, sha256=sha256(code)) for path, code in JUDGED.items()]
        return pb.ValidateCallResponse(
            binding=binding, allowed=pb.Allowed(), envelope=text, tool=request.tool, fields=fields
        )
    if request.HasField("shape"):
        binding.shape = request.shape
    return pb.ValidateResponse(binding=binding, allowed=pb.Allowed(), envelope=text)


def question(rpc: str, payload: Any = CODE, **arguments: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the method of a client, and what it is called with."""
    asked: dict[str, Any] = {"shape": "expression", "profile": "strict"}
    if rpc == "Evaluate":
        return "evaluate", (payload,), asked | arguments
    asked["target"] = "renderer"
    if rpc == "Validate":
        return "validate", (payload,), asked | arguments
    asked |= {"runs": tuple(JUDGED)} | arguments
    return "validate_call", (asked.pop("tool", "eval_page"), ARGUMENTS if payload == CODE else payload), asked


@dataclass
class Requester:
    """Asks one question through a client of its own; ``kind`` is one of CLIENTS."""

    kind: str

    def __call__(self, address: Any, *questions: Any, **options: Any) -> list[Any]:
        if self.kind == "sync":
            with GuardClient(address, **options) as client:
                return [getattr(client, method)(*args, **rest) for method, args, rest in questions]

        async def ask() -> list[Any]:
            async with AsyncGuardClient(address, **options) as client:
                return [await getattr(client, method)(*args, **rest) for method, args, rest in questions]

        return asyncio.run(ask())


def is_allowed(reply: Any) -> bool:
    return bool(reply.ok if hasattr(reply, "ok") else reply.allowed)


def assert_denied(reply: Any, says: str = "", code: str | None = None) -> None:
    assert is_allowed(reply) is False
    assert getattr(reply, "result_json", None) is None
    assert reply.envelope["ok"] is False
    assert reply.code == reply.envelope["code"]
    assert code is None or reply.code == code
    assert says in reply.envelope["error"]
    assert reply.envelope["hint"]
    assert "_meta" in reply.envelope
    assert "\ud800" not in str(reply.envelope)
