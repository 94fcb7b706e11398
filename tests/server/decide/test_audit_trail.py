"""The audit trail for callers whose deadline has passed, and the rejections that are only counted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.audit import AuditLog, Kind
from evalward.errors import Code, Provenance
from evalward.server.decide.audit_trail import AuditTrail
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.validate_request import RequestReader
from evalward.v1 import evalward_pb2 as pb

PROVENANCE = Provenance("0.0.0", "a" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")
HASH = "0" * 64


@pytest.mark.parametrize("seconds", [None, 0.0, -1.0, 30.0])
def test_a_refusal_is_recorded_whatever_time_the_caller_has_left(
    tmp_path: Path, seconds: float | None
) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path) as log:
        request = RequestContext(RequestReader(b""), seconds)
        assert AuditTrail(log, PROVENANCE).refusal(request, Code.DEADLINE_EXCEEDED, HASH)
    (record,) = (json.loads(line) for line in path.read_bytes().splitlines())
    assert (record["kind"], record["code"]) == ("decision", "DEADLINE_EXCEEDED")


def test_refusals_for_want_of_room_are_counted_until_the_payload_was_allowed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path) as log:
        audit_trail = AuditTrail(log, PROVENANCE)
        for _ in range(3):
            assert not audit_trail.refusal(RequestContext(RequestReader(b"")), Code.OVERLOADED, HASH)
        request = RequestContext(RequestReader(b""))
        request.stage = Kind.EVALUATION
        assert audit_trail.refusal(request, Code.OVERLOADED, HASH)
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
