"""The signature of a call: each part of the header counts, once and in its time, across restarts and clocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from evalward.challenge import AUTH, STREAM, challenge, digest_of, read_header
from evalward.server.transport.signed_calls import MOST_NONCES, TOO_OLD, WINDOW_MS, Nonces
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
TOKEN = "a-token-of-the-test-0123456789"
GOOD = b"document.title"
VALIDATE = "/evalward.v1.GuardService/Validate"


def call(running: Any, header: str, wire: bytes) -> grpc.RpcError | bytes:
    try:
        response: bytes = running.channel.unary_unary(VALIDATE, None, None)(
            wire, metadata=((AUTH, header),), timeout=10
        )
    except grpc.RpcError as failure:
        return failure
    return response


WIRE = pb.ValidateRequest(code=GOOD, target=pb.TARGET_RENDERER).SerializeToString()


def header_of(*, method: str = VALIDATE, wire: bytes = WIRE, age_ms: int = 0, token: str = TOKEN) -> str:
    now = time.time_ns() // 1_000_000
    return challenge(token, method, digest_of(wire), milliseconds=now - age_ms)[0]


def test_a_call_counts_once_and_only_in_its_time(start: Start) -> None:
    running = start(token=TOKEN)
    header = header_of()

    assert isinstance(call(running, header, WIRE), bytes)
    for refused, why in [
        (header, "repeats a nonce"),
        (header_of(age_ms=WINDOW_MS + 1_000), "set the clocks"),
        (header_of(age_ms=-WINDOW_MS - 5_000), "set the clocks"),
        (header_of(wire=b"other"), "differs from the signed one"),
        (header_of(token="another-token-of-the-test"), "not signed"),
        (header_of(method="/evalward.v1.GuardService/Evaluate"), "not signed"),
        (header_of().replace("v1", "v2"), "not signed"),
        (header_of().upper(), "not signed"),
        (header_of() + " ", "not signed"),
        ("", "not signed"),
    ]:
        answer = call(running, refused, WIRE)
        assert isinstance(answer, grpc.RpcError)
        assert answer.code() is grpc.StatusCode.UNAUTHENTICATED
        assert why in str(answer.details())


def test_every_part_of_the_header_is_signed() -> None:
    header = header_of()
    for place, letter in enumerate(header):
        changed = header[:place] + ("1" if letter == "0" else "0") + header[place + 1 :]
        read = read_header(VALIDATE, changed)
        assert read is None or not read.is_signed_with(TOKEN)
    read = read_header(VALIDATE, header)
    assert read is not None
    assert read.is_signed_with(TOKEN)


def test_a_bearer_token_and_a_signature_together_are_judged_by_the_signature(start: Start) -> None:
    running = start(token=TOKEN)
    metadata = (("authorization", f"Bearer {TOKEN}"), (AUTH, "v1 nonsense"))

    with pytest.raises(grpc.RpcError) as refused:
        running.channel.unary_unary(VALIDATE, None, None)(WIRE, metadata=metadata, timeout=10)

    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


def signed(milliseconds: int) -> Any:
    header, _ = challenge(TOKEN, VALIDATE, STREAM, milliseconds=milliseconds)
    found = read_header(VALIDATE, header)
    assert found is not None
    return found


class Clocks:
    """The two clocks of a service: the wall clock, which can be set, and the monotonic one."""

    def __init__(self) -> None:
        self.milliseconds = 1_000_000_000
        self.seconds = 0.0

    def pass_by(self, milliseconds: int) -> None:
        self.milliseconds += milliseconds
        self.seconds += milliseconds / 1000

    def nonces(self, most: int = MOST_NONCES) -> Nonces:
        return Nonces(now_ms=lambda: self.milliseconds, seconds=lambda: self.seconds, most=most)


def test_what_was_answered_before_a_restart_is_not_answered_again_behind_it() -> None:
    clocks = Clocks()
    before = clocks.nonces()
    clocks.pass_by(500)
    call = signed(clocks.milliseconds)
    assert before.fault(call) is None

    clocks.pass_by(500)
    after = clocks.nonces()

    assert after.fault(call) == TOO_OLD
    clocks.pass_by(1)
    assert after.fault(signed(clocks.milliseconds)) is None


def test_a_clock_that_is_set_back_shuts_nobody_out() -> None:
    clocks = Clocks()
    clocks.milliseconds += 3_600_000
    nonces = clocks.nonces(most=3)
    clocks.pass_by(1)
    assert nonces.fault(signed(clocks.milliseconds)) is None
    clocks.milliseconds -= 3_600_000

    clocks.pass_by(2 * WINDOW_MS + 1)
    calls = [signed(clocks.milliseconds + index) for index in range(5)]

    assert [nonces.fault(each) for each in calls] == [None] * 5
    assert all(nonces.fault(each) is not None for each in calls)


def test_nonces_are_bounded_and_none_counts_twice() -> None:
    clocks = Clocks()
    nonces = clocks.nonces(most=3)
    clocks.pass_by(100)
    calls = [signed(clocks.milliseconds - 10 + index) for index in range(6)]

    assert [nonces.fault(each) for each in calls] == [None] * 6
    assert len(nonces) == 3
    assert all(nonces.fault(each) is not None for each in calls)
    clocks.pass_by(2 * WINDOW_MS + 1)
    assert nonces.fault(signed(clocks.milliseconds)) is None
    assert len(nonces) == 1
    assert MOST_NONCES >= 2 * WINDOW_MS // 1000 * 2_000
