"""ValidateStream over a real channel."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status

from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]
STREAM = "/evalward.v1.GuardService/ValidateStream"
UNREADABLE = b"\x3a\x03\xed\xa0\x80"  # an item whose session_id is a lone surrogate


def test_a_stream_answers_each_item_before_the_next_is_sent(start: Start, ask: Ask) -> None:
    running = start()
    sent: queue.SimpleQueue[pb.ValidateStreamRequest | None] = queue.SimpleQueue()
    answers = running.stub.ValidateStream(iter(sent.get, None), timeout=60)

    found = []
    for code in (b"a", b"block", b"c"):
        sent.put(pb.ValidateStreamRequest(item=ask(code)))
        found.append(next(answers))
    sent.put(None)

    assert list(answers) == []
    assert [each.item_index for each in found] == [0, 1, 2]
    assert [each.WhichOneof("outcome") for each in found] == ["allowed", "error", "allowed"]
    assert [each.status for each in found] == [
        pb.ITEM_STATUS_ALLOWED,
        pb.ITEM_STATUS_FAILED,
        pb.ITEM_STATUS_ALLOWED,
    ]
    assert [each.binding.decision_id for each in found] == [
        record["decision_id"] for record in running.records()
    ]
    assert json.loads(found[0].envelope)["ok"] is True


def stream_of(items: list[pb.ValidateRequest], *, stop: bool = False) -> Iterator[pb.ValidateStreamRequest]:
    for index, item in enumerate(items):
        yield pb.ValidateStreamRequest(item=item, stop_on_first=stop and index == 0)


def test_a_stream_skips_what_follows_the_first_failure_when_asked_to(start: Start, ask: Ask) -> None:
    running = start()

    found = list(running.stub.ValidateStream(stream_of([ask(b"block"), ask(b"b"), ask(b"c")], stop=True)))

    assert [each.status for each in found] == [pb.ITEM_STATUS_FAILED, *[pb.ITEM_STATUS_SKIPPED] * 2]
    assert [each.WhichOneof("outcome") for each in found] == ["error", None, None]
    assert not found[1].HasField("binding")
    assert len(running.records()) == 1


def test_a_stream_goes_on_behind_an_item_that_does_not_decode(start: Start, ask: Ask) -> None:
    item = pb.ValidateStreamRequest(item=ask(b"a")).SerializeToString()
    wires = [item, b"\x0a\x05" + UNREADABLE, b"\xff", item]

    replies = [
        pb.ValidateStreamResponse.FromString(each)
        for each in start().channel.stream_stream(STREAM)(iter(wires))
    ]

    assert [each.error.code for each in replies] == ["", "INVALID_INPUT", "INVALID_INPUT", ""]


def test_a_stream_ends_behind_its_limit(start: Start, ask: Ask) -> None:
    found = list(start(settings=Settings(batch_items=2)).stub.ValidateStream(stream_of([ask(b"a")] * 5)))

    assert [each.error.code for each in found] == ["", "", "BATCH_TOO_LARGE"]
    assert found[2].error.limit == "batch_items"


def test_streams_beyond_their_number_are_refused_and_single_requests_are_not(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(max_streams=1))
    sent: queue.SimpleQueue[pb.ValidateStreamRequest | None] = queue.SimpleQueue()
    first = running.stub.ValidateStream(iter(sent.get, None), timeout=60)
    sent.put(pb.ValidateStreamRequest(item=ask(b"a")))
    next(first)

    with pytest.raises(grpc.RpcError) as failure:
        list(running.stub.ValidateStream(stream_of([ask(b"a")])))
    single = running.stub.Validate(ask(b"a"))
    sent.put(None)

    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "OVERLOADED" in str(failure.value.details())
    assert single.WhichOneof("outcome") == "allowed"
    assert list(first) == []


def test_a_stream_that_sends_nothing_ends_with_a_code(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(stream_idle=1))
    sent: queue.SimpleQueue[pb.ValidateStreamRequest | None] = queue.SimpleQueue()
    answers = running.stub.ValidateStream(iter(sent.get, None), timeout=60)
    sent.put(pb.ValidateStreamRequest(item=ask(b"a")))
    assert next(answers).WhichOneof("outcome") == "allowed"

    with pytest.raises(grpc.RpcError) as failure:
        next(answers)
    sent.put(None)

    status = rpc_status.from_call(answers)
    assert status is not None
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(failure.value.details()).startswith("OVERLOADED: The stream was idle")
    envelope = pb.ErrorEnvelope()
    assert any(each.Unpack(envelope) for each in status.details)
    assert envelope.error.limit == "stream_idle"


def test_an_open_stream_does_not_hold_up_the_stop(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(drain_seconds=60))
    sent: queue.SimpleQueue[pb.ValidateStreamRequest | None] = queue.SimpleQueue()
    answers = running.stub.ValidateStream(iter(sent.get, None))
    sent.put(pb.ValidateStreamRequest(item=ask(b"a")))
    next(answers)

    stopping = threading.Thread(target=running.stop)
    stopping.start()
    stopping.join(30)

    assert not stopping.is_alive()
    with pytest.raises(grpc.RpcError):
        next(answers)
    sent.put(None)
