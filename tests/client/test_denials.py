"""Every reply that is not a proven ALLOW for the request is a denial, with the reason in its envelope."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from fake_guard import (
    JUDGED,
    POLICY_DIGEST,
    RPCS,
    Requester,
    assert_denied,
    is_allowed,
    question,
    sha256,
    true_allow,
)
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no py.typed
from raw_guard import serving_raw

from evalward.v1 import evalward_pb2 as pb

TABLE = yaml.safe_load((Path(__file__).parents[1] / "data/client/denials.yaml").read_text(encoding="utf-8"))
ServeFake = Callable[..., str]


def pairs(kind: str) -> list[Any]:
    """Return every case of ``kind`` with every call to which it applies."""
    return [
        pytest.param(case, rpc, id=f"{rpc}: {case['name']}")
        for case in TABLE[kind]
        for rpc in case.get("rpcs", RPCS)
    ]


@pytest.mark.parametrize("rpc", RPCS)
def test_a_true_allow_is_an_allow(rpc: str, requester: Requester, serve_fake: ServeFake) -> None:
    address = serve_fake(lambda request, _: true_allow(request))

    (reply,) = requester(address, question(rpc), policy_digest=POLICY_DIGEST, timeout=10)

    assert is_allowed(reply)
    assert (reply.code, reply.decision_id, reply.envelope["ok"]) == (None, "d1", True)


def test_the_table_has_every_status() -> None:
    assert set(TABLE["statuses"]) == {status.name for status in grpc.StatusCode} - {"OK"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("status", TABLE["statuses"])
def test_every_status_is_a_denial(status: str, rpc: str, requester: Requester, serve_fake: ServeFake) -> None:
    def answer(_: Any, context: grpc.ServicerContext) -> Any:
        context.abort(grpc.StatusCode[status], "no")

    (reply,) = requester(serve_fake(answer), question(rpc), timeout=10)

    assert_denied(reply, says=status, code=TABLE["statuses"][status])
    assert reply.envelope["details"]["grpc_status"] == status


def changed(case: dict[str, Any], request: Any) -> Any:
    """Return a valid ALLOW with the changes of ``case``."""
    if "wire" in case:
        return bytes.fromhex(case["wire"])
    reply = true_allow(request)
    for name, value in case.get("binding", {}).items():
        if value is None:
            reply.binding.ClearField(name)
        else:
            setattr(reply.binding, name, getattr(pb, str(value), value))
    envelope = json.loads(reply.envelope)
    for name, value in case.get("meta", {}).items():
        envelope["_meta"][name] = value
    envelope |= case.get("add", {})
    reply.envelope = case.get("envelope", json.dumps(envelope)).encode()
    if "tool" in case:
        reply.tool = case["tool"]
    if "fields" in case:
        del reply.fields[:]
        reply.fields.extend(
            pb.JudgedField(
                path=field["path"], sha256=field.get("sha256", sha256(JUDGED.get(field["path"], b"")))
            )
            for field in case["fields"]
        )
    if "error" in case:
        reply.error.code = case["error"]
    if "result" in case:
        reply.allowed.result_json = case["result"].encode(errors="surrogateescape")
    for name in case.get("clear", ()):
        reply.ClearField(name)
    return reply.SerializeToString() + bytes.fromhex(case.get("append", ""))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("case", "rpc"), pairs("replies"))
def test_a_reply_that_is_not_about_the_question_is_a_denial(
    case: dict[str, Any], rpc: str, requester: Requester, serve_fake: ServeFake
) -> None:
    address = serve_fake(lambda request, _: changed(case, request))

    asked = {"profile": None} if case.get("unasked") else {}
    (reply,) = requester(address, question(rpc, **asked), policy_digest=POLICY_DIGEST, timeout=10)

    assert_denied(reply, says=case["says"])


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("case", "rpc"), pairs("unsendable"))
def test_a_request_that_cannot_be_sent_is_a_denial(
    case: dict[str, Any], rpc: str, requester: Requester, serve_fake: ServeFake
) -> None:
    asked: list[Any] = []

    def answer(request: Any, _: grpc.ServicerContext) -> Any:
        asked.append(request)
        return true_allow(request)

    address = serve_fake(answer)
    payload = {"payload": case["payload"]} if "payload" in case else {}

    (reply,) = requester(address, question(rpc, **payload, **case.get("arguments", {})), timeout=10)

    assert_denied(reply, says="cannot be built", code="INVALID_INPUT")
    assert asked == []


@pytest.mark.parametrize("rpc", RPCS)
def test_no_answer_in_time_is_a_denial(rpc: str, requester: Requester, serve_fake: ServeFake) -> None:
    late = threading.Event()
    address = serve_fake(lambda request, _: late.wait(30) and true_allow(request))
    limits = {"limits": {"deadline_ms": 1}} if rpc == "Evaluate" else {}

    (reply,) = requester(address, question(rpc, **limits))

    late.set()
    assert_denied(reply, code="DEADLINE_EXCEEDED")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("case", "rpc"), pairs("connections"))
def test_a_connection_that_breaks_is_a_denial(case: dict[str, Any], rpc: str, requester: Requester) -> None:
    limits = {"limits": {"deadline_ms": 1}} if rpc == "Evaluate" else {}
    with serving_raw(case["does"]) as address:
        (reply,) = requester(address, question(rpc, **limits), connect_timeout=0.2, timeout=0.2)

    assert_denied(reply)
    assert reply.envelope["retryable"] or reply.code == "INTERNAL"


@pytest.mark.parametrize("rpc", RPCS)
def test_nobody_there_is_a_denial(rpc: str, requester: Requester, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]

    for address in (f"127.0.0.1:{port}", f"unix:{tmp_path}/nobody.sock"):
        (reply,) = requester(address, question(rpc), connect_timeout=0.05)

        assert_denied(reply, says="cannot be reached", code="SERVICE_UNREACHABLE")
        assert reply.envelope["retryable"] is True


def attached(envelope: bytes) -> bytes:
    packed = AnyMessage()
    packed.Pack(pb.ErrorEnvelope(envelope=envelope))
    details: bytes = status_pb2.Status(code=14, details=[packed]).SerializeToString()
    return details


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize(
    ("details", "code"),
    [
        (b"\xff", "INTERNAL"),
        (attached(b""), "INTERNAL"),
        (attached(b'{"ok":true,"_meta":{}}'), "INTERNAL"),
        (attached(b'{"ok":false,"_meta":{}}'), "INTERNAL"),
        (attached(b'{"ok":false,"code":"OVERLOADED","error":"e","hint":"h","_meta":{}}'), "OVERLOADED"),
    ],
)
def test_the_envelope_of_a_status_is_the_denials_if_it_is_one(
    details: bytes, code: str, rpc: str, requester: Requester, serve_fake: ServeFake
) -> None:
    def answer(_: Any, context: grpc.ServicerContext) -> Any:
        context.set_trailing_metadata((("grpc-status-details-bin", details),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "no")

    (reply,) = requester(serve_fake(answer), question(rpc), timeout=10)

    assert_denied(reply, code=code)


ARGUMENTS_OF_TWO_MINDS = [
    b'{"code":"a","code":"document.title","nested":["a b"]}',
    b"NaN",
    b"{",
    b"\xff",
    b"[" * 9000,
]


@pytest.mark.parametrize("arguments", ARGUMENTS_OF_TWO_MINDS, ids=["twice", "NaN", "cut", "bytes", "deep"])
def test_arguments_with_two_readings_are_denied_even_if_the_service_allows_them(
    arguments: bytes, requester: Requester, serve_fake: ServeFake
) -> None:
    address = serve_fake(lambda request, _: true_allow(request))

    (reply,) = requester(address, question("ValidateCall", arguments), timeout=10)

    assert_denied(reply, says="plain JSON")


def test_an_escaped_lone_surrogate_is_denied_even_if_the_service_allows_it(
    requester: Requester, serve_fake: ServeFake
) -> None:
    address = serve_fake(lambda request, _: true_allow(request))

    (reply,) = requester(address, question("ValidateCall", b'{"code":"\\ud800"}'), timeout=10)

    assert_denied(reply, says="not UTF-8")


@pytest.mark.parametrize("rpc", RPCS)
def test_a_closed_client_denies(rpc: str, requester: Requester, serve_fake: ServeFake) -> None:
    address = serve_fake(lambda request, _: true_allow(request))

    allowed, _, denied = requester(address, question(rpc), ("close", (), {}), question(rpc), timeout=10)

    assert is_allowed(allowed)
    assert_denied(denied)
