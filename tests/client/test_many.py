"""Batches and streams: each payload is proven separately, and an unproven one is denied."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake_guard import CODE, POLICY_DIGEST, Requester, sha256

from evalward.client import AsyncGuardClient, BatchDecision, GuardClient, ItemDecision, Payload, spawn
from evalward.v1 import evalward_pb2 as pb

DATA = Path(__file__).parents[1] / "data/client"
BATCHES = json.loads((DATA / "batches.json").read_text("utf-8"))["cases"]
STREAMS = json.loads((DATA / "streams.json").read_text("utf-8"))["cases"]
PAYLOADS = [Payload(CODE, "renderer"), Payload(b"process.exit()", "renderer"), Payload(b"1", "renderer")]
META = {"decision_id": "d0", "provenance": {"policy_digest": POLICY_DIGEST}}
DENIED = {"ok": False, "code": "EVAL_BLOCKED_CONSTRUCT", "error": "e", "hint": "h", "_meta": META}
Serve = Callable[[Any, Any], str]


def binding_of(item: pb.ValidateRequest) -> pb.VerdictBinding:
    return pb.VerdictBinding(
        code_hash=sha256(item.code),
        target=item.target,
        policy_digest=POLICY_DIGEST,
        decision_id="d0",
        profile=pb.PROFILE_BALANCED,
        request_id=item.request_id,
    )


def batched(case: dict[str, Any], request: pb.ValidateBatchRequest) -> pb.ValidateBatchResponse:
    """Return a valid reply with the changes of ``case``."""
    text = json.dumps(DENIED).encode()
    error = pb.Error(code="EVAL_BLOCKED_CONSTRUCT")
    reply = pb.ValidateBatchResponse(
        item_count=3, bindings=map(binding_of, request.items), error=error, envelope=text
    )
    reply.failures.add(item_index=1, status=pb.ITEM_STATUS_FAILED, error=error, envelope=text)
    if case.get("skip"):
        reply.failures.add(item_index=2, status=pb.ITEM_STATUS_SKIPPED)
        del reply.bindings[2]
    if case.get("allow"):
        reply.allowed.SetInParent()
        reply.envelope = json.dumps({"ok": True, "_meta": META}).encode()
    replace(reply, case.get("set", {}))
    replace(reply.failures[0], case.get("failure", {}))
    reply.failures[0].envelope = case.get("failure_envelope", text.decode()).encode()
    reply.envelope = case.get("envelope", reply.envelope.decode()).encode()
    if "drop" in case:
        del reply.bindings[case["drop"]]
    if "swap" in case:
        one, other = case["swap"]
        bindings = [*reply.bindings]
        bindings[one], bindings[other] = bindings[other], bindings[one]
        del reply.bindings[:]
        reply.bindings.extend(bindings)
    if "binding" in case:
        values = {name: value for name, value in case["binding"].items() if name != "at"}
        replace(reply.bindings[case["binding"]["at"]], values)
    for name in case.get("clear", ()):
        reply.ClearField(name)
    return reply


def streamed(
    case: dict[str, Any], requests: Iterator[pb.ValidateStreamRequest]
) -> Iterator[pb.ValidateStreamResponse]:
    """Yield valid replies with the changes of ``case``."""
    for index, request in enumerate(requests):
        reply = pb.ValidateStreamResponse(item_index=index, binding=binding_of(request.item))
        if request.item.code == b"process.exit()":
            reply.status, reply.envelope = pb.ITEM_STATUS_FAILED, json.dumps(DENIED).encode()
            reply.error.code = "EVAL_BLOCKED_CONSTRUCT"
        else:
            reply.status = pb.ITEM_STATUS_ALLOWED
            reply.allowed.SetInParent()
            reply.envelope = json.dumps({"ok": True, "_meta": META}).encode()
        if case.get("at") == index:
            if case.get("cut"):
                return
            if case.get("late"):
                yield reply
            replace(reply, case.get("set", {}))
            replace(reply.binding, case.get("binding", {}))
            for name in case.get("clear", ()):
                reply.ClearField(name)
        yield reply


def replace(message: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(message, name, value)


@pytest.fixture
def serve_many() -> Iterator[Serve]:
    with ExitStack() as stack:

        def begin(batch: Any, stream: Any) -> str:
            server = grpc.server(ThreadPoolExecutor(4))
            handlers = {
                "ValidateBatch": grpc.unary_unary_rpc_method_handler(
                    lambda request, _: batch(request),
                    request_deserializer=pb.ValidateBatchRequest.FromString,
                    response_serializer=pb.ValidateBatchResponse.SerializeToString,
                ),
                "ValidateStream": grpc.stream_stream_rpc_method_handler(
                    lambda requests, _: stream(requests),
                    request_deserializer=pb.ValidateStreamRequest.FromString,
                    response_serializer=pb.ValidateStreamResponse.SerializeToString,
                ),
            }
            service = grpc.method_handlers_generic_handler("evalward.v1.GuardService", handlers)
            server.add_generic_rpc_handlers((service,))
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            return f"127.0.0.1:{port}"

        yield begin


def stream_with(
    requester: Requester, address: Any, items: Any, *, options: Any = None, **asked: Any
) -> list[ItemDecision]:
    options = {"timeout": 10, "policy_digest": POLICY_DIGEST} if options is None else options
    if requester.kind == "sync":
        with GuardClient(address, **options) as client:
            return list(client.validate_stream(items, **asked))

    async def ask() -> list[ItemDecision]:
        async with AsyncGuardClient(address, **options) as client:
            return [reply async for reply in client.validate_stream(items, **asked)]

    return asyncio.run(ask())


def assert_sound(replies: Any, allowed: list[bool]) -> None:
    assert [reply.allowed for reply in replies] == allowed
    for index, reply in enumerate(replies):
        assert reply.item_index == index
        assert reply.envelope["ok"] is reply.allowed
        assert (reply.code is None) is reply.allowed
        assert (reply.status == "allowed") is reply.allowed


@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case["name"])
def test_only_a_proven_item_of_a_batch_is_allowed(
    case: dict[str, Any], requester: Requester, serve_many: Serve
) -> None:
    address = serve_many(lambda request: batched(case, request), None)

    (reply,) = requester(
        address,
        ("validate_batch", (PAYLOADS,), {"stop_on_first": True}),
        timeout=10,
        policy_digest=POLICY_DIGEST,
    )

    assert isinstance(reply, BatchDecision)
    assert reply.allowed is False
    assert reply.code == reply.envelope["code"]
    assert_sound(reply.items, case["allowed"])


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_only_a_proven_item_of_a_stream_is_allowed(
    case: dict[str, Any], requester: Requester, serve_many: Serve
) -> None:
    address = serve_many(None, lambda requests: streamed(case, requests))

    assert_sound(stream_with(requester, address, PAYLOADS), case["allowed"])


@pytest.mark.exhaustive
def test_a_batch_and_a_stream_of_a_real_guard(requester: Requester, tmp_path: Path) -> None:
    with spawn(allow_eval=["renderer"], audit_log=tmp_path / "a.jsonl") as guard:
        options = {"timeout": 10, "connect_timeout": 10}
        whole, part, empty = requester(
            guard,
            ("validate_batch", (PAYLOADS[::2],), {}),
            ("validate_batch", (PAYLOADS,), {"stop_on_first": True, "session_id": "s1"}),
            ("validate_batch", ([],), {}),
            **options,
        )
        replies = stream_with(requester, guard, iter(PAYLOADS), options=options, stop_on_first=True)

    assert (whole.allowed, whole.code, [item.allowed for item in whole.items]) == (True, None, [True, True])
    assert [item.status for item in part.items] == ["allowed", "failed", "skipped"]
    assert [item.code for item in part.items[1:]] == ["EVAL_BLOCKED_KEYWORD"] * 2
    assert (empty.allowed, empty.code, empty.items) == (False, "MISSING_FIELD", ())
    assert [reply.status for reply in replies] == ["allowed", "failed", "skipped"]
    assert_sound(replies, [True, False, False])


def test_without_a_guard_every_item_is_denied(requester: Requester, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/nobody.sock"
    options = {"connect_timeout": 0.05}

    (batch,) = requester(address, ("validate_batch", (PAYLOADS,), {}), **options)
    replies = stream_with(requester, address, PAYLOADS, options=options)

    assert {item.code for item in (*batch.items, *replies)} == {"SERVICE_UNREACHABLE"}
    assert len(batch.items) == len(replies) == 3


@pytest.mark.parametrize(
    ("items", "pointer"),
    [
        ([b"1"], "/items"),
        ([Payload("1", "renderer")], "/code"),  # type: ignore[arg-type]  # what is refused
        ([Payload(b"1", "moon")], "/target"),
        ([Payload(b"1", "renderer", limits={"luck": 1})], "/limits"),
    ],
)
def test_an_item_that_cannot_be_sent_is_a_denial_that_names_it(
    items: Any, pointer: str, requester: Requester, serve_many: Serve
) -> None:
    address = serve_many(lambda _: 1 / 0, lambda _: 1 / 0)

    (batch,) = requester(address, ("validate_batch", (items,), {}))
    (reply,) = stream_with(requester, address, items)

    for denied in (batch, batch.items[0], reply):
        assert (denied.code, denied.envelope["details"]["field"]) == ("INVALID_INPUT", pointer)


def test_a_stream_that_is_not_answered_in_time_denies(requester: Requester, serve_many: Serve) -> None:
    def silent(requests: Any) -> Any:
        for _ in requests:
            yield from ()

    replies = stream_with(requester, serve_many(None, silent), PAYLOADS, options={"timeout": 0.1})

    assert [reply.code for reply in replies] == ["DEADLINE_EXCEEDED"] * 3
