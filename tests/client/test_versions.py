"""A client and a service one version apart: new fields are ignored if that is safe, else the client denies."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake_guard import (
    POLICY_DIGEST,
    REQUESTS,
    RPCS,
    Requester,
    assert_denied,
    is_allowed,
    question,
    true_allow,
)
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no py.typed

from evalward.adapters import to_call_tool_result
from evalward.v1 import evalward_pb2 as pb

TABLE = json.loads((Path(__file__).parents[1] / "data/client/versions.json").read_text(encoding="utf-8"))
LATER_FIELD = bytes.fromhex("a00601")  # number 100, a varint
ServeFake = Callable[..., str]


def answered(case: Mapping[str, Any], request: Any, context: grpc.ServicerContext) -> Any:
    """Return the answer of ``case``, with a status where it has one."""
    reply = true_allow(request)
    for name, value in case.get("binding", {}).items():
        setattr(reply.binding, name, value)
    envelope = json.loads(reply.envelope)
    envelope["_meta"] |= case.get("meta", {})
    envelope |= case.get("envelope", {})
    if "denial" in case:
        del envelope["ok"]
        envelope |= {"ok": False, "code": case["denial"], "error": "It may not run.", "hint": "Change it."}
        reply.error.code = case["denial"]
    reply.envelope = json.dumps(envelope).encode()
    outcome = getattr(reply, reply.WhichOneof("outcome"))
    parts = {"reply": reply, "binding": reply.binding, "outcome": outcome}
    for name in case.get("unknown_in", ()):
        parts[name].MergeFromString(LATER_FIELD)
    if case.get("status"):
        packed = AnyMessage()
        packed.Pack(pb.ErrorEnvelope(envelope=reply.envelope))
        details = status_pb2.Status(code=14, details=[packed]).SerializeToString()
        context.set_trailing_metadata((("grpc-status-details-bin", details),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "no")
    return reply


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("case", TABLE["answers"], ids=lambda case: case["name"])
def test_an_answer_of_another_version(
    case: Mapping[str, Any], rpc: str, requester: Requester, serve_fake: ServeFake
) -> None:
    address = serve_fake(lambda request, context: answered(case, request, context))

    (reply,) = requester(address, question(rpc), policy_digest=POLICY_DIGEST, timeout=30)

    if case.get("allowed"):
        assert is_allowed(reply)
        assert (reply.code, reply.envelope["ok"]) == (None, True)
    else:
        assert_denied(reply, says=case.get("says", ""), code=case.get("code"))
    for name, value in case.get("envelope", {}).items():
        assert reply.envelope[name] == value
    assert to_call_tool_result(reply.envelope)["isError"] is not bool(case.get("allowed"))


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("field", TABLE["ignored"]["fields"])
def test_what_an_older_service_ignores_is_missing_in_its_binding_and_denies(
    field: str, rpc: str, requester: Requester, serve_fake: ServeFake
) -> None:
    def answer(request: Any, _: grpc.ServicerContext) -> Any:
        reply = true_allow(request)
        reply.binding.ClearField(field)
        return reply

    (reply,) = requester(serve_fake(answer), question(rpc), policy_digest=POLICY_DIGEST, timeout=30)

    assert_denied(reply)


@pytest.mark.parametrize("rpc", RPCS)
def test_an_rpc_that_an_older_service_does_not_have_is_a_denial(rpc: str, requester: Requester) -> None:
    server = grpc.server(ThreadPoolExecutor(2))
    service = grpc.method_handlers_generic_handler(
        "evalward.v1.GuardService",
        {
            other: grpc.unary_unary_rpc_method_handler(
                lambda request, _: true_allow(request),
                request_deserializer=kind.FromString,
                response_serializer=lambda reply: reply.SerializeToString(),
            )
            for other, kind in REQUESTS.items()
            if other != rpc
        },
    )
    server.add_generic_rpc_handlers((service,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        lacked, had = requester(address, question(rpc), question(RPCS[RPCS.index(rpc) - 1]), timeout=30)
    finally:
        server.stop(None).wait()

    assert_denied(lacked, code="INTERNAL")
    assert lacked.envelope["details"]["grpc_status"] == "UNIMPLEMENTED"
    assert lacked.envelope["retryable"] is False
    assert is_allowed(had)
