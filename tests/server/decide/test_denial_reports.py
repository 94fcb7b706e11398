"""ReportDenial: what a caller reports is recorded once, without payload, and only for its own decisions."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import grpc
import pytest

from evalward.audit import AuditRecord, Kind, Outcome
from evalward.errors import Code
from evalward.guard import judge
from evalward.server.decide import reportable
from evalward.server.decide.reportable import BURST, LIFETIME_SECONDS, ReportableDecisions
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Ask = Callable[..., pb.ValidateRequest]
Start = Callable[..., Any]
EXPRESSION = {"shape": pb.SHAPE_EXPRESSION}
RECORD = AuditRecord(
    kind=Kind.RUN_TIME_DENIAL,
    decision_id="d1",
    outcome=Outcome.DENY,
    code=Code.EVAL_DENIED_AT_RUN_TIME,
    code_hash="a" * 64,
    hardened_hash="b" * 64,
)


def reports(running: Any) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in running.log.read_text().splitlines()]
    return [line for line in lines if line["kind"] == "run_time_denial"]


def report(running: Any, decision_id: str, construct: str = "eval()") -> pb.ReportDenialResponse:
    request = pb.ReportDenialRequest(decision_id=decision_id, construct=construct)
    response: pb.ReportDenialResponse = running.stub.ReportDenial(request)
    return response


@pytest.mark.usefixtures("emitter")
def test_a_report_is_recorded_once_and_without_payload(start: Start, ask: Ask) -> None:
    running = start(judge)
    request = ask(b"document.marker_1f2e3d", session_id="s-1", request_id="r-1", **EXPRESSION)
    binding = running.stub.Validate(request).binding

    first, second = (report(running, binding.decision_id) for _ in range(2))

    assert first.WhichOneof("outcome") == second.WhichOneof("outcome") == "reported"
    assert json.loads(first.envelope)["_meta"]["decision_id"] == binding.decision_id
    (line,) = reports(running)
    expected = {
        "outcome": "deny",
        "code": "EVAL_DENIED_AT_RUN_TIME",
        "construct": "eval()",
        "decision_id": binding.decision_id,
        "session": "s-1",
        "request_id": "r-1",
        "target": "renderer",
        "shape": "expression",
        "code_hash": binding.code_hash,
        "hardened_hash": binding.hardened_hash,
        "policy_digest": binding.policy_digest,
    }
    assert {name: line[name] for name in expected} == expected
    assert "marker_1f2e3d" not in running.log.read_text()


@pytest.mark.usefixtures("emitter")
def test_only_an_allow_with_a_program_can_be_reported(start: Start, ask: Ask) -> None:
    running = start(judge)
    plain = running.stub.Validate(ask(harden=pb.HARDEN_OFF, **EXPRESSION)).binding
    denied = running.stub.Validate(ask(b"globalThis['ev' + 'al']('1')", **EXPRESSION)).binding

    for decision_id in (plain.decision_id, denied.decision_id, "0" * 32):
        refused = report(running, decision_id)
        assert (refused.error.code, refused.error.field) == ("INVALID_INPUT", "/decision_id")
    assert reports(running) == []


@pytest.mark.usefixtures("emitter")
@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({}, "MISSING_FIELD", "/decision_id"),
        ({"decision_id": "d"}, "MISSING_FIELD", "/construct"),
        ({"decision_id": "a b", "construct": "eval()"}, "INVALID_INPUT", "/decision_id"),
        ({"decision_id": "d", "construct": "marker of the payload"}, "INVALID_INPUT", "/construct"),
    ],
)
def test_an_invalid_report_is_refused_by_field(
    start: Start, fields: dict[str, str], code: str, field: str
) -> None:
    running = start(judge)

    response = running.stub.ReportDenial(pb.ReportDenialRequest(**fields))

    assert response.error.code == code
    assert field in (response.error.field, *response.error.required)
    assert b"marker" not in response.envelope
    assert reports(running) == []


@pytest.mark.usefixtures("emitter")
def test_a_flood_of_reports_is_turned_away_and_leaves_no_records(start: Start) -> None:
    running = start(judge, Settings())
    codes = []
    for _ in range(BURST + 5):
        try:
            codes.append(report(running, "0" * 32).error.code)
        except grpc.RpcError as refusal:
            codes.append(refusal.code().name)

    assert codes[:BURST] == ["INVALID_INPUT"] * BURST
    assert "RESOURCE_EXHAUSTED" in codes[BURST:]
    assert running.records() == reports(running) == []


def test_another_caller_cannot_report_a_decision() -> None:
    decisions = ReportableDecisions()
    decisions.add("token:one", RECORD)

    assert decisions.find("token:one", "d1") == RECORD
    assert decisions.find("token:two", "d1") is None
    assert decisions.find("token:one", "d2") is None


def test_a_decision_is_forgotten_after_its_time_and_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reportable, "MOST_DECISIONS", 2)
    now = [0.0]
    decisions = ReportableDecisions(lambda: now[0])
    for number in range(3):
        decisions.add("c", replace(RECORD, decision_id=f"d{number}"))

    assert [decisions.find("c", f"d{number}") is not None for number in range(3)] == [False, True, True]
    now[0] = LIFETIME_SECONDS + 1
    assert decisions.find("c", "d2") is None


def test_each_caller_has_room_for_its_own_reports() -> None:
    now = [0.0]
    decisions = ReportableDecisions(lambda: now[0])

    assert sum(decisions.has_room("one") for _ in range(2 * BURST)) == BURST
    assert decisions.has_room("two")
    now[0] = 3.0
    assert sum(decisions.has_room("one") for _ in range(10)) == 3
