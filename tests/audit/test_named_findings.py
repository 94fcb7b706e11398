"""The record of a denial names every finding, in closed names and within bounds; policy drafts use these."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from evalward import Policy, validate
from evalward.audit.chain import GENESIS, Head, link, members
from evalward.audit.decision_record import decision_record
from evalward.audit.line_schema import audit_schema
from evalward.errors import Provenance
from evalward.guard.target import Target
from evalward.guard.verdict import MAX_FINDINGS
from evalward.policy.suggest import suggestion

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
POLICY = Policy.default().allowing([Target.MAIN])


def line_of(code: str) -> Any:
    verdict = validate(code.encode(), target="main", policy=POLICY)
    record = decision_record(verdict, decision_id="d", provenance=PROVENANCE, elapsed_us=1)
    data, _ = link(
        Head("c" * 32, 6, GENESIS),
        members(record),
        boot_id="0" * 32,
        key=None,
        nanoseconds=1_700_000_000_123_456_789,
    )
    return json.loads(data)


def test_all_names_are_recorded_and_drafted() -> None:
    line = line_of("eval('1'); process['kill'](1); process.zzzSecret()")

    assert line["keyword"] == "eval("
    assert line["findings"] == ["eval()", "keyword:eval(", "process", "process.kill"]
    Draft202012Validator(audit_schema()).validate(line)
    (draft,) = suggestion([line]).drafts
    assert draft.constructs == {*line["findings"]}


def test_one_name_needs_no_list() -> None:
    assert "findings" not in line_of("process['kill'](1); process['kill'](2)")


def test_a_payload_cannot_make_the_record_long_or_write_into_it() -> None:
    line = line_of("".join(f"process.secret{n}();" for n in range(400)) + "eval('1')" * 1)

    assert len(line["findings"]) <= MAX_FINDINGS
    assert "secret" not in json.dumps(line)
    Draft202012Validator(audit_schema()).validate(line)
