"""What the ledger writes for callers that have no time left, and what it only counts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.audit import AuditLog, Kind
from evalward.errors import Code, Provenance
from evalward.server.case import Case
from evalward.server.ledger import Ledger
from evalward.server.requests import Reading
from evalward.v1 import evalward_pb2 as pb

PROVENANCE = Provenance("0.0.0", "a" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")
HASH = "0" * 64


@pytest.mark.parametrize("seconds", [None, 0.0, -1.0, 30.0])
def test_a_refusal_is_recorded_whatever_time_the_caller_has_left(
    tmp_path: Path, seconds: float | None
) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path) as log:
        case = Case(Reading(b""), seconds)
        assert Ledger(log, PROVENANCE).refusal(case, Code.DEADLINE_EXCEEDED, HASH)
    (record,) = (json.loads(line) for line in path.read_bytes().splitlines())
    assert (record["kind"], record["code"]) == ("decision", "DEADLINE_EXCEEDED")


def test_refusals_for_want_of_room_are_counted_until_the_payload_was_allowed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path) as log:
        ledger = Ledger(log, PROVENANCE)
        for _ in range(3):
            assert not ledger.refusal(Case(Reading(b"")), Code.OVERLOADED, HASH)
        case = Case(Reading(b""))
        case.stage = Kind.EVALUATION
        assert ledger.refusal(case, Code.OVERLOADED, HASH)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {record["kind"]: record.get("count") for record in records} == {"evaluation": None, "refused": 3}


def test_strangers_are_counted_and_get_no_record_each(start: Callable[..., Any]) -> None:
    running = start(token="a-token-of-the-test")
    for _ in range(5):
        with pytest.raises(grpc.RpcError) as failure:
            running.stub.Validate(pb.ValidateRequest(code=b"1", target=pb.TARGET_RENDERER))
        assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED
    running.stop()
    records = [json.loads(line) for line in running.log.read_bytes().splitlines()]
    refused = [record for record in records if record["kind"] == "refused"]
    assert {record["kind"] for record in records} == {"start", "refused", "stop"}
    assert {record["code"] for record in refused} == {"UNAUTHENTICATED"}
    assert sum(record["count"] for record in refused) == 5
