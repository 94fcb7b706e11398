"""Requests that are never completed delay no verdict and no health check."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from benign import payload
from grpc_health.v1 import health_pb2, health_pb2_grpc
from raw_http2 import PREFACE, asking, connected, frame
from sidecar import sidecar

from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

MORE_THAN_THREADS = 200
TOKEN = "a-token-of-the-test"
BEARER = (("authorization", f"Bearer {TOKEN}"),)
VALIDATE = "evalward.v1.GuardService/Validate"
CHECK = "grpc.health.v1.Health/Check"
WATCH = "grpc.health.v1.Health/Watch"
PING, ACKNOWLEDGED = 6, 1


def half_sent(place: tuple[str, int], method: str) -> socket.socket:
    """Start a call whose request lacks its last byte."""
    sock = connected(place)
    sock.sendall(PREFACE + frame(4, b"") + asking(b"1234567890", method)[:-1])
    return sock


def wait_for_the_server(place: tuple[str, int]) -> None:
    """Return when a later connection has been answered."""
    with connected(place) as sock:
        sock.sendall(PREFACE + frame(4, b"") + frame(PING, bytes(8)))
        told = b""
        while frame(PING, bytes(8), flags=ACKNOWLEDGED) not in told:
            told += sock.recv(4096)


def answered(ask: Callable[[], Any]) -> Any:
    """Return the answer to a caller that retries while the pending requests are too recent to be cancelled."""
    end = time.monotonic() + 60
    while True:
        try:
            return ask()
        except grpc.RpcError as failure:
            if failure.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > end:
                raise
            time.sleep(0.05)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", [VALIDATE, CHECK, WATCH])
@pytest.mark.parametrize("has_tokens", [False, True])
def test_half_sent_requests_stop_nothing(method: str, *, has_tokens: bool, tmp_path: Path) -> None:
    flags = ["--allow-eval=renderer"]
    if has_tokens:
        tokens = tmp_path / "tokens"
        tokens.touch(0o600)
        tokens.write_text(TOKEN)
        flags += ["--token-file", str(tokens)]
    with sidecar(tmp_path, *flags) as served, ExitStack() as stack:
        host, _, port = served.address.rpartition(":")
        place = (host, int(port))
        for _ in range(MORE_THAN_THREADS):
            stack.enter_context(half_sent(place, method))
        wait_for_the_server(place)
        channel = stack.enter_context(grpc.insecure_channel(served.address))
        metadata = BEARER if has_tokens else ()
        stub, health = GuardServiceStub(channel), health_pb2_grpc.HealthStub(channel)
        question = health_pb2.HealthCheckRequest()
        for number in range(3):
            reply = answered(partial(stub.Validate, payload(number), timeout=60, metadata=metadata))
            assert reply.WhichOneof("outcome") == "allowed"
        said = answered(lambda: health.Check(question, timeout=60))
        assert said.status == health_pb2.HealthCheckResponse.SERVING
        watched = answered(lambda: next(health.Watch(question, timeout=60)))
        assert watched.status == health_pb2.HealthCheckResponse.SERVING
    # Rejected calls to health are not counted.
    if method != VALIDATE:
        return
    counted = [json.loads(line) for line in served.log.read_text(encoding="utf-8").splitlines()]
    refused = [line for line in counted if line["kind"] == "refused"]
    gave_way = "UNAUTHENTICATED" if has_tokens else "OVERLOADED"
    # At the end all disconnect; a call that was just accepted counts as one with an unreadable message.
    assert {gave_way} <= {line["code"] for line in refused} <= {gave_way, "INVALID_INPUT"}
    assert sum(line["count"] for line in refused if line["code"] == gave_way) > MORE_THAN_THREADS // 2
