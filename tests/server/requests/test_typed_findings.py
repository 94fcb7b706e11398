"""Over a real server: the typed reply has every finding, with its line, column and byte offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest

from evalward.audit import AuditLog
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.server.addresses import parse_listen
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROVENANCE = Provenance("0.0.0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[GuardServiceStub]:
    server = Server(
        judge,
        policy=Policy.default().allowing([Target.MAIN]),
        provenance=PROVENANCE,
        audit_log=AuditLog.open(tmp_path / "audit.jsonl"),
        settings=Settings(),
    )
    address = server.start([parse_listen("127.0.0.1:0")])[0]
    with grpc.insecure_channel(address) as channel:
        yield GuardServiceStub(channel)
    server.stop()


def test_all_findings_are_typed(stub: GuardServiceStub) -> None:
    code = b"1;\neval('2');\nprocess['kill'](3)"
    error = stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_MAIN, shape=pb.SHAPE_SCRIPT)).error

    assert (error.keyword, error.location.start, error.location.end) == ("eval(", 3, 8)
    assert [(each.keyword, each.construct) for each in error.findings] == [
        ("eval(", ""),
        ("", "eval()"),
        ("", "process.kill"),
    ]
    last = error.findings[-1].location
    assert (last.line, last.column) == (3, 1)
    assert code[last.start : last.end] == b"process['kill'](3)"


def test_a_syntax_error_has_its_place(stub: GuardServiceStub) -> None:
    error = stub.Validate(pb.ValidateRequest(code=b"let a = 1;\nlet b = ;", target=pb.TARGET_MAIN)).error

    assert error.code == "EVAL_SYNTAX_ERROR"
    place = error.location
    assert (place.line, place.column, place.start, place.end) == (2, 9, 19, 20)
