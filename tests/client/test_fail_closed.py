"""Whatever is not a proven ALLOW for what was asked is a denial, with an envelope that says why."""

import hashlib
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from evalward.client import Decision, GuardClient
from evalward.v1 import evalward_pb2 as pb

POLICY_DIGEST = "a" * 64
CODE = b"document.title"

Answer = Callable[[pb.ValidateRequest, grpc.ServicerContext], pb.ValidateResponse]


def true_allow(request: pb.ValidateRequest, **meta: Any) -> pb.ValidateResponse:
    """Answer as a service does that allows exactly what was asked."""
    binding = pb.VerdictBinding(
        code_hash=hashlib.sha256(request.code).hexdigest(),
        target=request.target,
        policy_digest=POLICY_DIGEST,
        decision_id="d1",
        profile=request.profile or pb.PROFILE_BALANCED,
        request_id=request.request_id,
    )
    if request.HasField("shape"):
        binding.shape = request.shape
    provenance = {"policy_digest": POLICY_DIGEST}
    envelope = {"ok": True, "_meta": {"decision_id": "d1", "provenance": provenance, **meta}}
    return pb.ValidateResponse(binding=binding, allowed=pb.Allowed(), envelope=json.dumps(envelope).encode())


@pytest.fixture
def client_of() -> Iterator[Callable[..., GuardClient]]:
    """Return a client of a fake service that gives one answer to everything."""
    with ExitStack() as stack:

        def build(answer: Any, **options: Any) -> GuardClient:
            server = grpc.server(ThreadPoolExecutor(2))
            handler = grpc.unary_unary_rpc_method_handler(
                answer,
                request_deserializer=pb.ValidateRequest.FromString,
                response_serializer=lambda reply: (
                    reply if isinstance(reply, bytes) else reply.SerializeToString()
                ),
            )
            service = grpc.method_handlers_generic_handler("evalward.v1.GuardService", {"Validate": handler})
            server.add_generic_rpc_handlers((service,))
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            return stack.enter_context(GuardClient(f"127.0.0.1:{port}", timeout=10, **options))

        yield build


def test_a_true_allow_is_an_allow(client_of: Callable[..., GuardClient]) -> None:
    client = client_of(lambda request, _: true_allow(request), policy_digest=POLICY_DIGEST)

    for shape in (None, "expression"):
        decision = client.validate(CODE, target="renderer", shape=shape, profile="strict")

        assert decision.allowed
        assert decision.code is None
        assert decision.code_hash == hashlib.sha256(CODE).hexdigest()


def changed(**fields: Any) -> Answer:
    """Answer a true ALLOW whose binding differs in ``fields``; None clears one."""

    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> pb.ValidateResponse:
        response = true_allow(request)
        for name, value in fields.items():
            if value is None:
                response.binding.ClearField(name)  # type: ignore[arg-type]  # the table's own names
            else:
                setattr(response.binding, name, value)
        return response

    return answer


def with_envelope(text: bytes) -> Answer:
    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> pb.ValidateResponse:
        response = true_allow(request)
        response.envelope = text
        return response

    return answer


def no_outcome(request: pb.ValidateRequest, _: grpc.ServicerContext) -> pb.ValidateResponse:
    response = true_allow(request)
    response.ClearField("allowed")
    return response


def unknown_outcome(request: pb.ValidateRequest, context: grpc.ServicerContext) -> bytes:
    # Field 15, which this version's outcome does not know.
    return no_outcome(request, context).SerializeToString() + b"\x7a\x00"


def error_with_ok_envelope(request: pb.ValidateRequest, _: grpc.ServicerContext) -> pb.ValidateResponse:
    response = true_allow(request)
    response.error.code = "EVAL_BLOCKED_CONSTRUCT"
    return response


def both_outcomes(request: pb.ValidateRequest, context: grpc.ServicerContext) -> bytes:
    # The last one on the wire wins, and the envelope still says ok.
    reply = error_with_ok_envelope(request, context)
    return true_allow(request).SerializeToString() + reply.SerializeToString()


def crash(_request: pb.ValidateRequest, _context: grpc.ServicerContext) -> pb.ValidateResponse:
    raise RuntimeError("fault of the service")


REPLIES = {
    "no outcome": no_outcome,
    "unknown outcome": unknown_outcome,
    "error with the envelope of an allow": error_with_ok_envelope,
    "both outcomes": both_outcomes,
    "nothing": lambda *_: pb.ValidateResponse(),
    "only an allow": lambda *_: pb.ValidateResponse(allowed=pb.Allowed()),
    "not a message": lambda *_: b"\xff\xff\xff",
    "another payload": changed(code_hash=hashlib.sha256(b"process.exit()").hexdigest()),
    "no payload": changed(code_hash=None),
    "another target": changed(target=pb.TARGET_SANDBOX),
    "no target": changed(target=None),
    "another shape": changed(shape=pb.SHAPE_SCRIPT),
    "no shape": changed(shape=None),
    "another profile": changed(profile=pb.PROFILE_SEED),
    "another request": changed(request_id="somebody-elses"),
    "another policy": changed(policy_digest="b" * 64),
    "no policy": changed(policy_digest=None),
    "another decision": changed(decision_id="d2"),
    "no decision": changed(decision_id=None),
    "no envelope": with_envelope(b""),
    "an envelope that is not JSON": with_envelope(b"{"),
    "an envelope that is not UTF-8": with_envelope(b"\xff"),
    "an envelope that is a list": with_envelope(b"[]"),
    "an envelope of an error": with_envelope(b'{"ok":false,"code":"INTERNAL","_meta":{}}'),
    "an envelope whose ok is a number": with_envelope(b'{"ok":1,"_meta":{}}'),
    "an envelope without _meta": with_envelope(b'{"ok":true}'),
    "an envelope without provenance": with_envelope(b'{"ok":true,"_meta":{"decision_id":"d1"}}'),
    "a crash": crash,
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_is_not_about_the_question_is_a_denial(
    name: str, client_of: Callable[..., GuardClient]
) -> None:
    client = client_of(REPLIES[name], policy_digest=POLICY_DIGEST)

    assert_denied(client.validate(CODE, target="renderer", shape="expression", profile="strict"))


@pytest.mark.parametrize("status", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status_is_a_denial(status: grpc.StatusCode, client_of: Callable[..., GuardClient]) -> None:
    def answer(_: pb.ValidateRequest, context: grpc.ServicerContext) -> pb.ValidateResponse:
        context.abort(status, "no")

    decision = client_of(answer).validate(CODE, target="renderer")

    assert_denied(decision)
    assert decision.envelope["details"]["grpc_status"] == status.name


def test_details_that_do_not_parse_are_a_denial(client_of: Callable[..., GuardClient]) -> None:
    def answer(_: pb.ValidateRequest, context: grpc.ServicerContext) -> pb.ValidateResponse:
        context.set_trailing_metadata((("grpc-status-details-bin", b"\xff\xff"),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "no")

    assert_denied(client_of(answer).validate(CODE, target="renderer"))


def test_an_attached_allow_is_a_denial(client_of: Callable[..., GuardClient]) -> None:
    from google.protobuf.any_pb2 import Any as AnyMessage  # noqa: PLC0415 - beside its only use
    from google.rpc import status_pb2  # type: ignore[import-untyped]  # noqa: PLC0415

    packed = AnyMessage()
    packed.Pack(pb.ErrorEnvelope(envelope=b'{"ok":true,"_meta":{}}'))
    details = status_pb2.Status(code=14, details=[packed]).SerializeToString()

    def answer(_: pb.ValidateRequest, context: grpc.ServicerContext) -> pb.ValidateResponse:
        context.set_trailing_metadata((("grpc-status-details-bin", details),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "no")

    assert_denied(client_of(answer).validate(CODE, target="renderer"))


def test_no_answer_in_time_is_a_denial() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with GuardClient(f"127.0.0.1:{port}", connect_timeout=0.2) as client:
            assert not client.ready()
            assert_denied(client.validate(CODE, target="renderer"))


def test_a_service_that_goes_away_is_a_denial(client_of: Callable[..., GuardClient]) -> None:
    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> pb.ValidateResponse:
        return true_allow(request)

    client = client_of(answer)
    assert client.validate(CODE, target="renderer").allowed
    client.close()

    assert_denied(client.validate(CODE, target="renderer"))


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("document.title", {"target": "renderer"}),
        ("\ud800", {"target": "renderer"}),
        (None, {"target": "renderer"}),
        (CODE, {"target": "moon"}),
        (CODE, {"target": "unspecified", "shape": "moon"}),
        (CODE, {"target": "renderer", "shape": "round"}),
        (CODE, {"target": "renderer", "profile": "none"}),
        (CODE, {"target": None}),
        (CODE, {"target": "renderer", "bindings": {"page": 1}}),
        (CODE, {"target": "renderer", "session_id": "\ud800"}),
    ],
)
def test_a_request_that_cannot_be_sent_is_a_denial(
    code: Any, options: dict[str, Any], client_of: Callable[..., GuardClient]
) -> None:
    client = client_of(lambda request, _: true_allow(request))

    decision = client.validate(code, **options)

    assert_denied(decision)
    assert decision.code == "INVALID_INPUT"


def assert_denied(decision: Decision) -> None:
    assert decision.allowed is False
    assert decision.code == decision.envelope["code"]
    assert decision.envelope["ok"] is False
    assert decision.envelope["error"]
    assert decision.envelope["hint"]
