"""A message above gRPC's limit: rejected before it is read, but counted and recorded."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from admin_http import samples

from evalward.guard import judge
from evalward.policy import Policy
from evalward.server.addresses import TcpAddress
from evalward.server.settings import Settings
from evalward.server.transport import pending_requests
from evalward.server.transport.grpc_server import message_bytes
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]

REFUSED = 'evalward_requests_total{code="INVALID_INPUT",outcome="deny",rpc="unread"}'
SETTINGS = Settings(admin=TcpAddress("127.0.0.1", 0))
MOST = message_bytes(SETTINGS, Policy.default().limits.payload_bytes)


def refusals(log: Path) -> list[tuple[str, int]]:
    """Return the code and the count of every record of refusals."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [(line["code"], line["count"]) for line in lines if line["kind"] == "refused"]


def test_what_is_too_large_for_grpc_is_counted_and_recorded(
    start: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine even a call that is rejected at once takes longer than a young one may.
    monkeypatch.setattr(pending_requests, "YOUNG_SECONDS", 60)
    running = start(settings=SETTINGS)
    for _ in range(3):
        with pytest.raises(grpc.RpcError) as refused:
            running.stub.Validate(ask(b" " * MOST), timeout=60)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    # The caller has its answer before the thread of the call has counted it.
    while (found := samples(running.server.admin_address)).get(REFUSED, 0) < 3:
        pass
    assert found[REFUSED] == 3
    assert found['evalward_limit{limit="message_bytes"}'] == MOST
    # The counts of a second are one record, and the calls may fall into several seconds.
    while sum(count for _, count in refusals(running.log)) < 3:
        threading.Event().wait(0.05)
    recorded = refusals(running.log)
    assert {code for code, _ in recorded} == {"INVALID_INPUT"}
    assert sum(count for _, count in recorded) == 3


def test_what_grpc_takes_is_answered_with_the_limit_of_a_payload(start: Start, ask: Ask) -> None:
    running = start(judge, SETTINGS)

    answer = running.stub.Validate(ask(b" " * (MOST - 1024)), timeout=60)

    assert (answer.error.code, answer.error.limit) == ("EVAL_PAYLOAD_TOO_LARGE", "payload_bytes")
    assert json.loads(answer.envelope)["_meta"]["decision_id"]
    assert [record["code"] for record in running.records()] == ["EVAL_PAYLOAD_TOO_LARGE"]
