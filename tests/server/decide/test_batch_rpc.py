"""ValidateBatch over a real channel."""

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from evalward.errors.envelope import estimate_tokens
from evalward.guard import judge
from evalward.server.decide.batch_decider import CHUNK
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]
BATCH = "/evalward.v1.GuardService/ValidateBatch"
UNREADABLE = b"\x3a\x03\xed\xa0\x80"  # an item whose session_id is a lone surrogate


def statuses(response: pb.ValidateBatchResponse) -> list[tuple[int, str, str]]:
    return [
        (each.item_index, pb.ItemStatus.Name(each.status).removeprefix("ITEM_STATUS_"), each.error.code)
        for each in response.failures
    ]


def test_failed_items_are_listed_and_every_item_is_bound_and_recorded(start: Start, ask: Ask) -> None:
    running = start()
    items = [ask(b"a"), ask(b"block"), ask(b"c", target=pb.TARGET_UNSPECIFIED), ask(b"d", request_id="r-3")]

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items, session_id="s"))

    assert response.item_count == 4
    assert statuses(response) == [(1, "FAILED", "EVAL_BLOCKED_CONSTRUCT"), (2, "FAILED", "MISSING_FIELD")]
    assert [each.code_hash for each in response.bindings] == [
        hashlib.sha256(item.code).hexdigest() for item in items
    ]
    assert len({each.decision_id for each in response.bindings}) == 4
    assert response.bindings[3].request_id == "r-3"
    assert json.loads(response.failures[0].envelope)["code"] == "EVAL_BLOCKED_CONSTRUCT"
    assert (response.WhichOneof("outcome"), response.error.code) == ("error", "EVAL_BLOCKED_CONSTRUCT")
    envelope = json.loads(response.envelope)
    assert envelope["details"]["items"] == [
        {"item_index": 1, "status": "failed", "code": "EVAL_BLOCKED_CONSTRUCT"},
        {"item_index": 2, "status": "failed", "code": "MISSING_FIELD"},
    ]
    records = running.records()
    assert [record["decision_id"] for record in records] == [each.decision_id for each in response.bindings]
    assert [record["outcome"] for record in records] == ["allow", "deny", "deny", "allow"]
    assert {record["session"] for record in records} == {"s"}


def test_when_every_item_may_run_none_is_listed(start: Start, ask: Ask) -> None:
    response = start().stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(b"a"), ask(b"b")]))

    assert (response.WhichOneof("outcome"), response.item_count, list(response.failures)) == (
        "allowed",
        2,
        [],
    )
    assert len(response.bindings) == 2
    assert json.loads(response.envelope)["items"] == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("stop", [True, False])
def test_stop_on_first_decides_whether_later_items_are_skipped(*, stop: bool, start: Start, ask: Ask) -> None:
    running = start()
    items = [ask(b"a"), ask(b"block"), ask(b"c")]

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items, stop_on_first=stop))

    skipped = [(2, "SKIPPED", "")] if stop else []
    assert statuses(response) == [(1, "FAILED", "EVAL_BLOCKED_CONSTRUCT"), *skipped]
    assert len(response.bindings) == len(running.records()) == (2 if stop else 3)


def test_an_item_that_does_not_decode_spoils_no_other(start: Start, ask: Ask) -> None:
    running = start()
    wire = b"".join(b"\x0a%c%s" % (len(item), item) for item in (ask(b"a").SerializeToString(), UNREADABLE))

    response = pb.ValidateBatchResponse.FromString(running.channel.unary_unary(BATCH)(wire))

    assert statuses(response) == [(1, "FAILED", "INVALID_INPUT")]
    assert [record["outcome"] for record in running.records()] == ["allow", "deny"]


def test_a_failure_inside_one_item_is_that_items_outcome(start: Start, ask: Ask) -> None:
    def broken_for_b(payload: bytes, **rest: Any) -> Any:
        if payload == b"b":
            raise RuntimeError
        return judge(payload, **rest)

    response = start(broken_for_b).stub.ValidateBatch(
        pb.ValidateBatchRequest(items=[ask(b"a"), ask(b"b"), ask(b"c")])
    )

    assert statuses(response) == [(1, "FAILED", "INTERNAL")]


def test_without_an_audit_record_no_item_is_allowed(start: Start, ask: Ask) -> None:
    running = start()
    running.log.unlink()

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(b"a"), ask(b"block")]))

    assert statuses(response) == [(0, "FAILED", "AUDIT_UNAVAILABLE"), (1, "FAILED", "EVAL_BLOCKED_CONSTRUCT")]


def test_behind_an_allow_that_lacks_its_record_a_batch_stops_too(start: Start, ask: Ask) -> None:
    running = start()
    running.log.unlink()

    response = running.stub.ValidateBatch(
        pb.ValidateBatchRequest(items=[ask(b"a"), ask(b"b"), ask(b"block")], stop_on_first=True)
    )

    assert statuses(response) == [(0, "FAILED", "AUDIT_UNAVAILABLE"), (1, "SKIPPED", ""), (2, "SKIPPED", "")]


def test_a_short_write_takes_every_allow_of_its_chunk_with_it(
    start: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start()
    real = os.write
    log = running.log.stat()

    def cut(descriptor: int, data: bytes) -> int:
        status = os.fstat(descriptor)
        is_log = (status.st_dev, status.st_ino) == (log.st_dev, log.st_ino)
        return real(descriptor, data[: data.index(b"\n") + 5] if is_log else data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", cut)
        response = running.stub.ValidateBatch(
            pb.ValidateBatchRequest(items=[ask(b"a"), ask(b"block"), ask(b"c")])
        )

    assert statuses(response) == [
        (0, "FAILED", "AUDIT_UNAVAILABLE"),
        (1, "FAILED", "EVAL_BLOCKED_CONSTRUCT"),
        (2, "FAILED", "AUDIT_UNAVAILABLE"),
    ]
    assert json.loads(response.failures[1].envelope)["_meta"]["audited"] is False


def test_the_records_of_a_chunk_are_one_write(
    start: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start(settings=Settings(batch_items=CHUNK + 3))
    real = os.write
    log = running.log.stat()
    lines: list[int] = []

    def counted(descriptor: int, data: bytes) -> int:
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) == (log.st_dev, log.st_ino):
            lines.append(data.count(b"\n"))
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", counted)
        response = running.stub.ValidateBatch(
            pb.ValidateBatchRequest(items=[ask(f"a{number}".encode()) for number in range(CHUNK + 3)])
        )

    assert lines == [CHUNK, 3]
    assert [record["decision_id"] for record in running.records()] == [
        each.decision_id for each in response.bindings
    ]


@pytest.mark.parametrize(
    ("settings", "items", "limit"),
    [
        (Settings(batch_items=3), [b"a"] * 4, ("batch_items", 3, 4)),
        (Settings(batch_bytes=140_000), [b"a" * 75_000] * 2, ("batch_bytes", 140_000, None)),
    ],
)
def test_a_batch_beyond_its_limits_is_refused_as_a_whole(
    settings: Settings, items: list[bytes], limit: tuple[str, int, int | None], start: Start, ask: Ask
) -> None:
    running = start(settings=settings)

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(each) for each in items]))

    details = json.loads(response.envelope)["details"]
    assert (response.error.code, response.error.limit) == ("BATCH_TOO_LARGE", limit[0])
    assert (details["limit"], details["limit_value"], limit[2] or details["actual"]) == (
        *limit[:2],
        details["actual"],
    )
    assert (list(response.bindings), list(response.failures)) == ([], [])
    # The whole batch was rejected, with all its items.
    assert (response.item_count, details["item_count"]) == (len(items), len(items))
    assert [(record["code"], record["count"]) for record in running.records()] == [
        ("BATCH_TOO_LARGE", len(items))
    ]


@pytest.mark.parametrize("spare", [0, -1])
def test_the_bytes_of_a_batch_are_what_the_setting_says(spare: int, start: Start, ask: Ask) -> None:
    items = [ask(b"a" * 300), ask(b"b" * 300)]
    size = sum(item.ByteSize() for item in items)
    running = start(settings=Settings(batch_bytes=size + spare))

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items))

    assert response.WhichOneof("outcome") == ("error" if spare < 0 else "allowed")
    assert response.error.limit == ("batch_bytes" if spare < 0 else "")


def test_an_items_envelope_says_which_item_it_is(start: Start, ask: Ask) -> None:
    running = start()
    items = [ask(b"a"), ask(b"block"), ask(b"c", target=pb.TARGET_UNSPECIFIED), ask(b"d")]

    batch = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items))
    stream = list(
        running.stub.ValidateStream(iter([pb.ValidateStreamRequest(item=item) for item in items]), timeout=60)
    )

    assert [json.loads(each.envelope)["details"]["item_index"] for each in batch.failures] == [1, 2]
    told = [json.loads(each.envelope) for each in stream]
    assert [(each if each["ok"] else each["details"])["item_index"] for each in told] == [0, 1, 2, 3]
    assert "item_index" not in json.loads(running.stub.Validate(ask(b"a")).envelope)
    # The estimate covers the whole body, including the new field.
    body = {key: value for key, value in told[0].items() if key != "_meta"}
    assert told[0]["_meta"]["estimated_tokens"] == estimate_tokens(body)


def test_an_empty_batch_allows_nothing(start: Start) -> None:
    assert start().stub.ValidateBatch(pb.ValidateBatchRequest()).error.code == "MISSING_FIELD"
