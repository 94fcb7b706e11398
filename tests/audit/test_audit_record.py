import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.audit import AuditRecord, Kind, Outcome, decision_record
from evalward.audit.chain import GENESIS, Head, link, members
from evalward.errors import Code, Provenance
from evalward.guard.constructs.labels import CONSTRUCT_LABELS
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Location, TraceStep, Verdict

DATA = Path(__file__).parents[1] / "data" / "audit"
with (DATA / "refused-fields.tsv").open(encoding="utf-8") as stream:
    REFUSED = [(row["field"], json.loads(row["value"])) for row in csv.DictReader(stream, delimiter="\t")]

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
HASH = "0123456789abcdef" * 4
MARKERS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=32, max_size=32)


def line_of(record: AuditRecord) -> Any:
    before = Head("c" * 32, 6, GENESIS)
    data, _ = link(
        before,
        members(record),
        boot_id="0" * 32,
        key=None,
        nanoseconds=1_700_000_000_123_456_789,
    )
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    return json.loads(data)


def test_allow_record_has_every_known_field() -> None:
    verdict = Verdict(None, Target.MAIN, Shape.SCRIPT, Profile.STRICT, HASH, 12, shadow=(Finding("with"),))
    record = decision_record(
        verdict,
        decision_id="d-1",
        provenance=PROVENANCE,
        elapsed_us=250,
        session="s:1",
        request_id="r/1",
        tool="electron_eval_main",
    )
    line = line_of(record)
    assert len(line.pop("mac")) == 64
    assert line == {
        "v": 2,
        "seq": 7,
        "ts": "2023-11-14T22:13:20.123456Z",
        "chain": "c" * 32,
        "boot_id": "0" * 32,
        "kind": "decision",
        "decision_id": "d-1",
        "session": "s:1",
        "request_id": "r/1",
        "tool": "electron_eval_main",
        "target": "main",
        "shape": "script",
        "profile": "strict",
        "enforcement": "enforce",
        "outcome": "allow",
        "shadow": ["with"],
        "hash_alg": "sha256",
        "code_hash": HASH,
        "code_length": 12,
        "policy_digest": "a" * 64,
        "ruleset": "b" * 12,
        "grammar": "tree-sitter-javascript 0.25.0",
        "version": "0.1.0",
        "elapsed_us": 250,
        "prev": GENESIS,
    }


def test_deny_record_names_code_and_construct_or_keyword() -> None:
    blocked = Verdict(
        Code.EVAL_BLOCKED_CONSTRUCT, Target.MAIN, None, Profile.BALANCED, HASH, 1, construct="process.exit"
    )
    line = line_of(decision_record(blocked, decision_id="d", provenance=PROVENANCE, elapsed_us=1))
    assert (line["outcome"], line["code"], line["construct"]) == (
        "deny",
        "EVAL_BLOCKED_CONSTRUCT",
        "process.exit",
    )
    listed = Verdict(
        Code.EVAL_BLOCKED_KEYWORD, Target.MAIN, None, Profile.BALANCED, HASH, 1, keyword="Function("
    )
    line = line_of(decision_record(listed, decision_id="d", provenance=PROVENANCE, elapsed_us=1))
    assert line["keyword"] == "Function("
    assert "shape" not in line


@given(MARKERS)
def test_no_run_of_the_payload_reaches_the_line(marker: str) -> None:
    place = Location(1, 1, 0, 1)
    verdict = Verdict(
        Code.EVAL_BLOCKED_CONSTRUCT,
        Target.MAIN,
        None,
        Profile.BALANCED,
        HASH,
        99,
        construct=f"process.{marker}",
        location=place,
        findings=(Finding(f"process.{marker}", place, (TraceStep(marker),)),),
        shadow=(Finding(f"process.{marker}"),),
        message=marker,
        details=(("text", marker),),
    )
    record = decision_record(verdict, decision_id="d", provenance=PROVENANCE, elapsed_us=1)
    line = json.dumps(line_of(record))
    assert [marker[i : i + 8] for i in range(25) if marker[i : i + 8] in line] == []
    assert record.construct == "process"
    assert record.shadow == ("process",)


@pytest.mark.parametrize("label", [*sorted(CONSTRUCT_LABELS), "process.umask", "process.mainModule"])
def test_labels_of_the_catalogue_stay_whole(label: str) -> None:
    record = AuditRecord(kind=Kind.DECISION, outcome=Outcome.DENY, construct=label)
    assert line_of(record)["construct"] == label


@pytest.mark.parametrize(("field", "value"), REFUSED)
def test_values_outside_of_their_pattern_are_refused_and_not_repeated(field: str, value: object) -> None:
    fields: dict[str, Any] = {"kind": Kind.DECISION, "outcome": Outcome.DENY}
    fields[field] = tuple(value) if isinstance(value, list) else value
    named = "construct" if field == "shadow" else field
    with pytest.raises(ValueError, match=f"{named} |construct label") as caught:
        AuditRecord(**fields)
    if isinstance(value, str) and len(value) > 3:
        assert value not in str(caught.value)


def test_every_field_is_tried_with_a_refused_value() -> None:
    names = {field.name for field in dataclasses.fields(AuditRecord)}
    assert {field for field, _ in REFUSED} == names


@pytest.mark.parametrize("kind", sorted({*Kind} - {Kind.DECISION, Kind.EVALUATION, Kind.RUN_TIME_DENIAL}))
def test_only_what_is_about_a_payload_has_an_outcome(kind: Kind) -> None:
    with pytest.raises(ValueError, match="outcome"):
        AuditRecord(kind=kind, outcome=Outcome.ALLOW)
    assert line_of(AuditRecord(kind=kind))["kind"] == kind


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (Kind.DECISION, None),
        (Kind.DECISION, Outcome.COMPLETED),
        (Kind.EVALUATION, None),
        (Kind.EVALUATION, Outcome.ALLOW),
        (Kind.RUN_TIME_DENIAL, None),
        (Kind.RUN_TIME_DENIAL, Outcome.ALLOW),
    ],
)
def test_an_outcome_is_one_of_its_kind(kind: Kind, outcome: Outcome | None) -> None:
    with pytest.raises(ValueError, match="outcome"):
        AuditRecord(kind=kind, outcome=outcome)


def test_start_record_names_weakened_controls() -> None:
    record = AuditRecord(kind=Kind.START, version="0.1.0", weakened=("profile=seed", "no-tls"))
    assert line_of(record)["weakened"] == ["profile=seed", "no-tls"]
