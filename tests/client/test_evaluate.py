"""``GuardClient.evaluate`` gives a result only for a reply that is proven to be about what was asked."""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from evalward.audit import AuditLog
from evalward.client import GuardClient
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.server.lifecycle import Server, Settings
from evalward.server.listen import parse_listen
from evalward.v1 import evalward_pb2 as pb

POLICY_DIGEST = "a" * 64
CODE = b"1 + 1"


def true_result(request: pb.EvaluateRequest) -> pb.EvaluateResponse:
    """Answer as a service does that ran exactly what was asked."""
    binding = pb.VerdictBinding(
        code_hash=hashlib.sha256(request.code).hexdigest(),
        target=pb.TARGET_SANDBOX,
        shape=request.shape or pb.SHAPE_SCRIPT,
        policy_digest=POLICY_DIGEST,
        decision_id="d1",
        profile=request.profile or pb.PROFILE_BALANCED,
        request_id=request.request_id,
    )
    envelope = {
        "ok": True,
        "result_json": "2",
        "console": [{"level": "log", "text": "hi"}],
        "_meta": {"decision_id": "d1", "provenance": {"policy_digest": POLICY_DIGEST}},
    }
    return pb.EvaluateResponse(
        binding=binding, allowed=pb.Evaluated(result_json=b"2"), envelope=json.dumps(envelope).encode()
    )


@pytest.fixture
def client_of() -> Iterator[Callable[..., GuardClient]]:
    """Return a client of a fake service that gives one answer to everything."""
    with ExitStack() as stack:

        def build(answer: Any) -> GuardClient:
            server = grpc.server(ThreadPoolExecutor(2))
            handler = grpc.unary_unary_rpc_method_handler(
                answer,
                request_deserializer=pb.EvaluateRequest.FromString,
                response_serializer=lambda reply: (
                    reply if isinstance(reply, bytes) else reply.SerializeToString()
                ),
            )
            service = grpc.method_handlers_generic_handler("evalward.v1.GuardService", {"Evaluate": handler})
            server.add_generic_rpc_handlers((service,))
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            return stack.enter_context(GuardClient(f"127.0.0.1:{port}", timeout=10))

        yield build


def test_a_true_result_is_a_result(client_of: Callable[..., GuardClient]) -> None:
    client = client_of(lambda request, _: true_result(request))

    for shape in (None, "expression"):
        reply = client.evaluate(CODE, shape=shape, limits={"deadline_ms": 50}, seed=1)

        assert (reply.ok, reply.code, reply.result_json) == (True, None, b"2")
        assert reply.console == ("hi",)
        assert reply.code_hash == hashlib.sha256(CODE).hexdigest()


def changed(**fields: Any) -> Any:
    def answer(request: pb.EvaluateRequest, _: grpc.ServicerContext) -> pb.EvaluateResponse:
        response = true_result(request)
        for name, value in fields.items():
            if value is None:
                response.binding.ClearField(name)  # type: ignore[arg-type]  # the table's own names
            else:
                setattr(response.binding, name, value)
        return response

    return answer


def with_result(text: bytes) -> Any:
    def answer(request: pb.EvaluateRequest, _: grpc.ServicerContext) -> pb.EvaluateResponse:
        response = true_result(request)
        response.allowed.result_json = text
        return response

    return answer


def error_with_ok_envelope(request: pb.EvaluateRequest, _: grpc.ServicerContext) -> pb.EvaluateResponse:
    response = true_result(request)
    response.error.code = "EVAL_UNSETTLED"
    return response


def crash(_request: pb.EvaluateRequest, _context: grpc.ServicerContext) -> pb.EvaluateResponse:
    raise RuntimeError("fault of the service")


REPLIES = {
    "nothing": lambda *_: pb.EvaluateResponse(),
    "only a result": lambda *_: pb.EvaluateResponse(allowed=pb.Evaluated(result_json=b"2")),
    "not a message": lambda *_: b"\xff\xff\xff",
    "another payload": changed(code_hash="0" * 64),
    "another target": changed(target=pb.TARGET_MAIN),
    "another shape": changed(shape=pb.SHAPE_SCRIPT),
    "no shape": changed(shape=None),
    "another profile": changed(profile=pb.PROFILE_SEED),
    "another request": changed(request_id="somebody-elses"),
    "another decision": changed(decision_id="d2"),
    "another policy": changed(policy_digest="b" * 64),
    "another result than its envelope's": with_result(b"3"),
    "a result that is not UTF-8": with_result(b"\xff"),
    "no result but its envelope's": with_result(b""),
    "error with the envelope of a result": error_with_ok_envelope,
    "a crash": crash,
}


@pytest.mark.parametrize("name", REPLIES)
def test_anything_else_is_no_result(name: str, client_of: Callable[..., GuardClient]) -> None:
    reply = client_of(REPLIES[name]).evaluate(CODE, shape="function", profile="strict")

    assert (reply.ok, reply.result_json, reply.envelope["ok"]) == (False, None, False)
    assert reply.code == reply.envelope["code"]


@pytest.mark.parametrize("shape", [None, pb.SHAPE_MODULE])
def test_a_result_without_the_shape_that_ran_is_no_result(
    shape: Any, client_of: Callable[..., GuardClient]
) -> None:
    assert not client_of(changed(shape=shape)).evaluate(CODE).ok


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "1"},
        {"code": b"1", "shape": "no such"},
        {"code": b"1", "limits": {"no such": 1}},
        {"code": b"1", "seed": -1},
        {"code": b"1", "arg_json": "{}"},
    ],
)
def test_a_request_that_cannot_be_built_is_no_result(fields: dict[str, Any]) -> None:
    with GuardClient("127.0.0.1:1", connect_timeout=0.01) as client:
        reply = client.evaluate(**fields)

    assert (reply.ok, reply.code) == (False, "INVALID_INPUT")


def test_without_a_service_there_is_no_result() -> None:
    with GuardClient("127.0.0.1:1", connect_timeout=0.01) as client:
        reply = client.evaluate(CODE)

    assert (reply.ok, reply.result_json) == (False, None)
    assert reply.envelope["retryable"] is True


def test_a_real_service_runs_what_the_client_sends(tmp_path: Any) -> None:

    policy = Policy.default().allowing([Target.SANDBOX])
    server = Server(
        judge,
        policy=policy,
        provenance=Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0"),
        audit_log=AuditLog.open(tmp_path / "audit.jsonl"),
        settings=Settings(),
    )
    (address,) = server.start([parse_listen(f"unix:{tmp_path}/guard.sock")])
    try:
        with GuardClient(address, timeout=30, policy_digest=policy.digest) as client:
            doubled = client.evaluate(b"(a) => a.map(x => x * 2)", arg_json=b"[1, 2]")
            thrown = client.evaluate(b"console.log('before'); null.x")
            denied = client.evaluate(b"[].at.constructor('1')()")
            nothing = client.evaluate(b"undefined")
    finally:
        server.stop()

    assert (doubled.ok, doubled.result_json) == (True, b"[2,4]")
    assert (thrown.code, thrown.console) == ("EVAL_RUNTIME_ERROR", ("before",))
    assert (denied.code, denied.ok) == ("EVAL_BLOCKED_CONSTRUCT", False)
    assert (nothing.ok, nothing.result_json) == (True, None)
