"""The service with its verdict cache: judged once, recorded every time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.guard.verdict import Verdict

Start = Callable[..., Any]
Judge = Callable[..., "Verdict"]
Ask = Callable[..., pb.ValidateRequest]


class Counting:
    """A judge that counts its calls and returns the result of ``judge``."""

    def __init__(self, judge: Judge) -> None:
        self.asked = 0
        self._judge = judge
        self._lock = threading.Lock()

    def __call__(self, payload: bytes, **rest: Any) -> Verdict:
        with self._lock:
            self.asked += 1
        return self._judge(payload, **rest)


@pytest.mark.parametrize(("size", "judged"), [(100, 1), (0, 3)])
def test_a_repeated_payload_is_judged_once_unless_the_cache_is_off(
    size: int, judged: int, start: Start, ask: Ask, easy_judge: Judge
) -> None:
    judge = Counting(easy_judge)
    running = start(judge, Settings(verdict_cache=size))

    for _ in range(3):
        running.stub.Validate(ask())

    assert judge.asked == judged


@pytest.mark.parametrize("code", [b"document.title", b"block this"])
def test_each_repetition_has_a_decision_and_a_record_of_its_own(
    code: bytes, start: Start, ask: Ask, easy_judge: Judge
) -> None:
    running = start(Counting(easy_judge))

    replies = [running.stub.Validate(ask(code, request_id=f"r{number}")) for number in range(3)]

    ids = [reply.binding.decision_id for reply in replies]
    assert len(set(ids)) == 3
    assert [json.loads(reply.envelope)["_meta"]["decision_id"] for reply in replies] == ids
    records = running.records()
    assert [record["decision_id"] for record in records] == ids
    assert [record["request_id"] for record in records] == ["r0", "r1", "r2"]
    assert len({record["outcome"] for record in records}) == 1
    assert [record["seq"] for record in records] == [*range(records[0]["seq"], records[0]["seq"] + 3)]


def test_what_a_request_declares_is_part_of_the_key(start: Start, ask: Ask, easy_judge: Judge) -> None:
    judge = Counting(easy_judge)
    running = start(judge)

    running.stub.Validate(ask())
    running.stub.Validate(ask(profile=pb.PROFILE_STRICT))
    running.stub.Validate(ask(shape=pb.SHAPE_SCRIPT))
    running.stub.Validate(ask(bindings={"api": "json"}))
    running.stub.Validate(ask(limits=pb.Limits(depth=3)))
    running.stub.Validate(ask(limits=pb.Limits(depth=3)))

    assert judge.asked == 5


def test_a_repeated_payload_waits_for_no_place(start: Start, ask: Ask, gate: Any, easy_judge: Judge) -> None:
    def judge(payload: bytes, **rest: Any) -> Verdict:
        held: Judge = gate.judge
        return held(payload, **rest) if payload == b"slow" else easy_judge(payload, **rest)

    running = start(judge, Settings(max_concurrent=1, queue=0))
    running.stub.Validate(ask())
    slow = running.stub.Validate.future(ask(b"slow"))
    assert gate.entered.wait(30)

    assert running.stub.Validate(ask()).WhichOneof("outcome") == "allowed"

    gate.leave.set()
    assert slow.result(30).WhichOneof("outcome") == "allowed"


def test_requests_at_one_time_get_the_verdicts_of_their_own_payloads(
    start: Start, ask: Ask, easy_judge: Judge
) -> None:
    running = start(Counting(easy_judge), Settings(max_concurrent=4, queue=200, verdict_cache=3))
    codes = [f"{'block' if number % 3 else 'allow'} {number % 7}".encode() for number in range(150)]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda code: running.stub.Validate(ask(code)), codes))

    outcomes = [reply.WhichOneof("outcome") for reply in replies]
    assert outcomes == ["error" if code.startswith(b"block") else "allowed" for code in codes]
    assert len({reply.binding.decision_id for reply in replies}) == len(running.records()) == 150


def test_a_judge_that_raised_is_asked_again(start: Start, ask: Ask, easy_judge: Judge) -> None:
    calls = []

    def judge(payload: bytes, **rest: Any) -> Verdict:
        calls.append(payload)
        if len(calls) == 1:
            raise RuntimeError
        return easy_judge(payload, **rest)

    running = start(judge)
    with pytest.raises(Exception, match="INTERNAL"):
        running.stub.Validate(ask())

    assert running.stub.Validate(ask()).WhichOneof("outcome") == "allowed"
