"""The exported JSON Schema, checked against written records."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from log_lines import lines

from evalward.audit import (
    AuditKey,
    AuditLog,
    AuditRecord,
    Durability,
    Kind,
    Outcome,
    decision_record,
)
from evalward.audit.fingerprint import fingerprint
from evalward.audit.line_schema import audit_schema
from evalward.audit.record_values import Integrity, Reason
from evalward.errors import Code, Provenance
from evalward.guard.rules import Enforcement
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Verdict

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "audit.md"
KEY = AuditKey(bytes(range(32)))
HASH = "0123456789abcdef" * 4
PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
BLOCKED = Verdict(
    Code.EVAL_BLOCKED_CONSTRUCT,
    Target.MAIN,
    Shape.SCRIPT,
    Profile.STRICT,
    HASH,
    12,
    construct="process.exit",
    shadow=(Finding("with"), Finding("process.madeUp")),
)
DECISION = decision_record(
    BLOCKED,
    decision_id="d",
    provenance=PROVENANCE,
    elapsed_us=1,
    session="s",
    request_id="r",
    tool="t",
    fingerprint=fingerprint(HASH, b"code", key=KEY, fnv1a32=True),
)
EVERY_KIND = (
    AuditRecord(
        kind=Kind.START,
        version="0.1.0",
        integrity=Integrity.PLAIN,
        durability=Durability.DISK,
        weakened=("reflection", "profile-seed=main"),
        reason=Reason.OTHER_KEY,
    ),
    DECISION,
    AuditRecord(
        kind=Kind.DECISION,
        decision_id="d",
        trace_id="0" * 32,
        principal="token:0123456789abcdef",
        field_path="steps[0].code",
        enforcement=Enforcement.AUDIT,
        outcome=Outcome.DENY,
        code=Code.EVAL_BLOCKED_KEYWORD,
        keyword="Function(",
        exception_id="axe",
        hash_alg="sha256",
        code_hash=HASH,
        code_length=4,
        manifest_digest="c" * 64,
    ),
    AuditRecord(
        kind=Kind.EVALUATION,
        decision_id="d",
        outcome=Outcome.COMPLETED,
        hash_alg="sha256",
        code_hash=HASH,
        code_length=4,
        fuel=1,
        memory_bytes=2,
    ),
    AuditRecord(
        kind=Kind.RUN_TIME_DENIAL,
        decision_id="d",
        outcome=Outcome.DENY,
        code=Code.EVAL_DENIED_AT_RUN_TIME,
        construct="eval()",
        hash_alg="sha256",
        code_hash=HASH,
        code_length=4,
        hardened_hash="f" * 64,
    ),
    AuditRecord(kind=Kind.REFUSED, code=Code.OVERLOADED, count=3),
    AuditRecord(kind=Kind.POLICY_LOAD, policy_digest="a" * 64, previous_policy_digest="b" * 64),
    AuditRecord(kind=Kind.POLICY_REJECT, code=Code.POLICY_INVALID, policy_digest="a" * 64),
    AuditRecord(kind=Kind.TOKEN_LOAD, count=2),
    AuditRecord(kind=Kind.TOKEN_REJECT, code=Code.CONFIG_INVALID),
    AuditRecord(kind=Kind.TLS_LOAD, certificate="e" * 64),
    AuditRecord(kind=Kind.TLS_REJECT, code=Code.CONFIG_INVALID),
    AuditRecord(kind=Kind.ROTATE, reason=Reason.SIZE),
    AuditRecord(kind=Kind.TORN, torn_bytes=1, torn_hash="d" * 64),
    AuditRecord(kind=Kind.GAP, reason=Reason.FULL, unrecorded=1, unacknowledged=0, gap_us=5),
    AuditRecord(kind=Kind.STOP, version="0.1.0"),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    with AuditLog.open(path, key=KEY) as log:
        for record in EVERY_KIND:
            log.append(record)
    return lines(path)


def test_the_schema_is_a_schema_and_takes_a_record_of_every_kind(written: list[Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(audit_schema())
    validator = jsonschema.Draft202012Validator(audit_schema())
    assert {record["kind"] for record in written} == {*Kind}
    assert [error.message for record in written for error in validator.iter_errors(record)] == []


def test_every_field_of_a_record_is_in_the_schema_and_nothing_else(written: list[Any]) -> None:
    fields = {field for record in written for field in record} | {*AuditRecord.__slots__}
    assert {*audit_schema()["properties"]} == fields


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"seq": 0},
        {"outcome": "maybe"},
        {"outcome": "completed"},
        {"construct": "marker"},
        {"tool": "a b"},
        {"v": 1},
        {"ts": "yesterday"},
    ],
    ids=json.dumps,
)
def test_what_no_record_can_be_is_refused(written: list[Any], change: dict[str, Any]) -> None:
    decision = next(record for record in written if record["kind"] == "decision")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**decision, **change}, audit_schema())


def test_a_missing_member_is_refused(written: list[Any]) -> None:
    for name in ("mac", "prev", "chain", "kind"):
        broken = {key: value for key, value in written[0].items() if key != name}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, audit_schema())


def test_the_page_names_every_field_and_reason_and_no_other() -> None:
    text = PAGE.read_text("utf-8")
    table = text.partition("| field | content |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = dict(row.strip("| ").split(" | ", 1) for row in table.splitlines())
    named = [name for cell in rows for name in re.findall(r"`(\w+)`", cell)]

    assert sorted(named) == sorted(audit_schema()["properties"])
    reasons = {word for part in rows["`reason`"].split(";") for word in part.partition(":")[2].split(", ")}
    assert {word.strip(" `") for word in reasons} == {*Reason}
