"""A token over plain TCP: it is never sent, and a machine in the middle cannot turn a denial into an ALLOW."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from evalward.challenge import AUTH, PROOF, digest_of
from evalward.client import AsyncGuardClient, GuardClient, Payload
from evalward.errors import Code, Meta, Provenance, error_envelope
from evalward.server.transport.caller_identity import token_principal
from evalward.server.transport.rich_status import rich_status
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
TOKEN = "a-token-of-the-test-0123456789"
GOOD, BAD = b"document.title", b"block: require('child_process')"
VALIDATE = "/evalward.v1.GuardService/Validate"
HEALTH = "/grpc.health.v1.Health/Check"


class Between:
    """A server at the guard's address: it records the requests, and may forward them to the real guard.

    ``unary`` and ``stream`` get the method, the requests' bytes and metadata, and a function that calls the guard.
    """

    def __init__(self, upstream: str | None, unary: Any = None, stream: Any = None) -> None:
        self.recorded: list[tuple[str, Any]] = []
        self.unary = unary or (lambda relay: relay())
        self.stream = stream or (lambda replies: replies)
        self.channel = None if upstream is None else grpc.insecure_channel(upstream)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        method, metadata = str(details.method), tuple(details.invocation_metadata)
        self.recorded.append((method, metadata))
        forwarded = [
            (key, value) for key, value in metadata if not key.startswith(("user-agent", ":", "grpc-"))
        ]
        if method.endswith("Stream"):
            return grpc.stream_stream_rpc_method_handler(
                lambda wires, _context: self.stream(self._streamed(method, wires, forwarded))
            )
        return grpc.unary_unary_rpc_method_handler(
            lambda wire, context: self._unary(method, wire, forwarded, context)
        )

    def _streamed(self, method: str, wires: Iterator[bytes], metadata: Any) -> Iterator[bytes]:
        assert self.channel is not None
        yield from self.channel.stream_stream(method, None, None)(wires, metadata=metadata)

    def _unary(self, method: str, wire: bytes, metadata: Any, context: grpc.ServicerContext) -> bytes:
        self.recorded.append((method, wire))

        def relay(instead: bytes = wire) -> tuple[bytes, Any]:
            assert self.channel is not None
            try:
                response, call = self.channel.unary_unary(method, None, None).with_call(
                    instead, metadata=metadata, timeout=10
                )
            except grpc.RpcError as failure:
                told: Any = failure.trailing_metadata()
                context.set_trailing_metadata(told)
                context.abort(failure.code(), "relayed")
            return response, call.trailing_metadata()

        if method == HEALTH:
            return b"\x08\x01"
        response, trailing = self.unary(relay) if self.channel else (self.unary(wire), ())
        context.set_trailing_metadata(trailing)
        return bytes(response)


class _Anything(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in the stubs only
    def __init__(self, between: Between) -> None:
        self.between = between

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self.between.service(handler_call_details)


@pytest.fixture
def squat() -> Iterator[Callable[..., tuple[str, Between]]]:
    with ExitStack() as stack:

        def begin(
            upstream: str | None = None, *, between: Between | None = None, **behaviour: Any
        ) -> tuple[str, Between]:
            between = between or Between(upstream, **behaviour)
            server = grpc.server(ThreadPoolExecutor(4), handlers=[_Anything(between)])
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            if between.channel is not None:
                stack.callback(between.channel.close)
            return f"127.0.0.1:{port}", between

        yield begin


Squat = Callable[..., tuple[str, Between]]


def ask(kind: str, address: str, *codes: bytes, method: str = "validate", **options: Any) -> list[Any]:
    """Ask about each of ``codes`` with a client that has the token."""
    options = {"token": TOKEN, "timeout": 10, **options}
    items = [Payload(code, "renderer") for code in codes]
    if kind == "sync":
        with GuardClient(address, **options) as client:
            if method == "validate_stream":
                return list(client.validate_stream(items))
            if method == "validate_batch":
                return list(client.validate_batch(items).items)
            return [client.validate(code, target="renderer") for code in codes]

    async def asked() -> list[Any]:
        async with AsyncGuardClient(address, **options) as client:
            if method == "validate_stream":
                return [reply async for reply in client.validate_stream(items)]
            if method == "validate_batch":
                return list((await client.validate_batch(items)).items)
            return [await client.validate(code, target="renderer") for code in codes]

    return asyncio.run(asked())


def forged(wire: bytes) -> bytes:
    """Answer ALLOW to any ValidateRequest, with a matching binding and envelope."""
    request = pb.ValidateRequest.FromString(wire)
    binding = pb.VerdictBinding(
        code_hash=digest_of(request.code),
        target=request.target,
        policy_digest="a" * 64,
        decision_id="f" * 32,
        profile=pb.PROFILE_BALANCED,
        request_id=request.request_id,
    )
    meta = {"decision_id": "f" * 32, "provenance": {"policy_digest": "a" * 64}}
    envelope = json.dumps({"ok": True, "_meta": meta}).encode()
    return pb.ValidateResponse(binding=binding, allowed=pb.Allowed(), envelope=envelope).SerializeToString()


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("method", ["validate", "validate_batch", "validate_stream"])
def test_a_guard_that_knows_the_token_is_believed(kind: str, method: str, start: Start) -> None:
    running = start(token=TOKEN)

    good, bad, again = ask(kind, running.address, GOOD, BAD, GOOD, method=method)

    assert (good.allowed, bad.allowed, again.allowed) == (True, False, True)
    assert (good.code, bad.code) == (None, "EVAL_BLOCKED_CONSTRUCT")
    assert {record["principal"] for record in running.records()} == {token_principal(TOKEN)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("method", ["validate", "validate_batch", "validate_stream"])
def test_nobody_between_learns_the_token(kind: str, method: str, start: Start, squat: Squat) -> None:
    address, between = squat(start(token=TOKEN).address)

    replies = ask(kind, address, GOOD, BAD, method=method)

    assert [reply.allowed for reply in replies] == [True, False]
    assert any(
        key == AUTH for _, entries in between.recorded for key, _ in entries if isinstance(entries, tuple)
    )
    assert TOKEN not in repr(between.recorded)
    assert "Bearer" not in repr(between.recorded)


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_an_allow_of_somebody_who_does_not_know_the_token_is_a_denial(kind: str, squat: Squat) -> None:
    address, between = squat(unary=forged)

    (reply,) = ask(kind, address, BAD)

    assert reply.allowed is False
    assert reply.code == "SERVICE_UNPROVEN"
    assert reply.envelope["retryable"] is False
    assert TOKEN not in repr(between.recorded)
    assert ask(kind, address, BAD, token=None)[0].allowed is True, "the forgery is good but for its proof"


def replayed(squat: Squat, upstream: str) -> tuple[str, Between]:
    """Answer everything with the proven ALLOW of the first request."""
    first: list[Any] = []

    def unary(relay: Any) -> Any:
        first[:] = first or [relay()]
        return first[0]

    return squat(upstream, unary=unary)


def altered_reply(squat: Squat, upstream: str) -> tuple[str, Between]:
    """Turn each denial into an ALLOW, and keep its proof."""

    def unary(relay: Any) -> Any:
        response, trailing = relay()
        message = pb.ValidateResponse.FromString(response)
        if message.WhichOneof("outcome") == "error":
            message.allowed.SetInParent()
            envelope = json.loads(message.envelope)
            message.envelope = json.dumps({"ok": True, "_meta": envelope["_meta"]}).encode()
        return message.SerializeToString(), trailing

    return squat(upstream, unary=unary)


def altered_request(squat: Squat, upstream: str) -> tuple[str, Between]:
    """Forward a harmless payload, and bind its verdict to the original request."""

    def unary(relay: Any) -> Any:
        harmless = pb.ValidateRequest(code=GOOD, target=pb.TARGET_RENDERER).SerializeToString()
        return relay(harmless)

    return squat(upstream, unary=unary)


def two_proofs(squat: Squat, upstream: str) -> tuple[str, Between]:
    """Send the correct proof and another one."""

    def unary(relay: Any) -> Any:
        response, trailing = relay()
        return response, (*trailing, (PROOF, "0" * 64))

    return squat(upstream, unary=unary)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("attack", [replayed, altered_reply, altered_request, two_proofs])
def test_somebody_between_gets_no_allow_for_what_is_denied(
    attack: Any, kind: str, start: Start, squat: Squat
) -> None:
    address, between = attack(squat, start(token=TOKEN).address)

    first, second = ask(kind, address, GOOD, BAD)

    assert second.allowed is False
    assert second.code in {"SERVICE_UNPROVEN", "UNAUTHENTICATED"}
    assert first.allowed is (attack in {replayed, altered_reply})
    assert TOKEN not in repr(between.recorded)


def cut(replies: Iterator[bytes]) -> Iterator[bytes]:
    """End the stream after its first reply."""
    yield next(replies)


def twice(replies: Iterator[bytes]) -> Iterator[bytes]:
    """Answer the second payload with the first one's reply."""
    first = next(replies)
    yield first
    next(replies)
    yield first


def unproven(replies: Iterator[bytes]) -> Iterator[bytes]:
    """Turn the second reply into an ALLOW."""
    yield next(replies)
    reply = pb.ValidateStreamResponse.FromString(next(replies))
    reply.status = pb.ITEM_STATUS_ALLOWED
    reply.allowed.SetInParent()
    envelope = json.loads(reply.envelope)
    reply.envelope = json.dumps({"ok": True, "_meta": envelope["_meta"]}).encode()
    yield reply.SerializeToString()


def bare(replies: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out the proofs."""
    for reply in replies:
        yield reply[:-35]


def extra(replies: Iterator[bytes]) -> Iterator[bytes]:
    """Send an unsolicited message."""
    first = next(replies)
    yield first
    yield first
    yield from replies


def only_trailers(_replies: Iterator[bytes]) -> Iterator[bytes]:
    """Send no message at all."""
    yield from ()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("attack", [cut, twice, unproven, bare, extra, only_trailers])
def test_a_stream_that_somebody_changes_denies_from_there_on(
    attack: Any, kind: str, start: Start, squat: Squat
) -> None:
    address, between = squat(start(token=TOKEN).address, stream=attack)

    replies = ask(kind, address, GOOD, BAD, GOOD, method="validate_stream")

    assert [reply.item_index for reply in replies] == [0, 1, 2]
    assert [reply.allowed for reply in replies[1:]] == [False, False]
    assert replies[0].allowed is (attack not in {bare, only_trailers})
    assert TOKEN not in repr(between.recorded)


class Liar(Between):
    """Answers every call with a status whose envelope gives advice."""

    def _unary(self, method: str, _wire: bytes, _metadata: Any, context: grpc.ServicerContext) -> bytes:
        if method != HEALTH:
            meta = Meta(
                elapsed_ms=0, decision_id="d", provenance=Provenance("1", "2", "3", "4"), audited=True
            )
            context.abort_with_status(
                rich_status(error_envelope(Code.OVERLOADED, "Run it by hand.", meta=meta))
            )
        return b"\x08\x01"


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_a_status_of_a_stranger_is_not_told_in_his_words(kind: str, squat: Squat) -> None:
    address, _ = squat(between=Liar(None))

    (reply,) = ask(kind, address, GOOD)
    (trusting,) = ask(kind, address, GOOD, token=None)

    assert "by hand" not in json.dumps(reply.envelope)
    # Any process can send the status; its details count only with a proof.
    assert (reply.allowed, reply.code) == (False, "OVERLOADED")
    assert reply.envelope["details"] == {"grpc_status": "RESOURCE_EXHAUSTED"}
    assert trusting.code == "OVERLOADED"
    assert "by hand" in json.dumps(trusting.envelope)


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_another_token_is_refused_and_says_what_may_be_wrong(kind: str, start: Start) -> None:
    running = start(token=TOKEN)

    (reply,) = ask(kind, running.address, GOOD, token="another-token-of-the-test")

    assert (reply.allowed, reply.code) == (False, "UNAUTHENTICATED")
    assert "another token" in reply.envelope["hint"]
