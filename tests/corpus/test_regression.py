"""The runner's counts: every case is in exactly one list, and denials for size are separate from catches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evalward.corpus.corpus_case import Case
from evalward.corpus.regression import Report, run_cases
from evalward.guard.target import Profile, Target
from evalward.policy import Policy

if TYPE_CHECKING:
    from evalward.guard.rules import Rules

OPEN = Policy.default().allowing(Target)
LISTS = ("caught", "limited", "missed", "wrong_construct", "allowed", "wrongly_blocked")
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("caught", {"code": "process['exit'](0)", "expect": "block", "construct": "process.exit"}),
    ("caught", {"code": "process['exit'](0)", "expect": "block", "construct": ["eval()", "process.exit"]}),
    ("caught", {"code": "process['exit'](0)", "expect": "block"}),
    (
        "caught",
        {"code": "process.exit(0)", "expect": "block", "construct": "with"},
    ),  # a keyword needs no construct
    ("limited", {"code": "process['exit'](0);" + " " * 500, "expect": "block", "construct": "process.exit"}),
    ("missed", {"code": "1 + 1", "expect": "block", "construct": "process.exit"}),
    ("wrong_construct", {"code": "process['exit'](0)", "expect": "block", "construct": "with"}),
    ("wrong_construct", {"code": "process['exit'](0) +", "expect": "block", "construct": "process.exit"}),
    ("allowed", {"code": "1 + 1", "expect": "allow"}),
    ("wrongly_blocked", {"code": "process['exit'](0)", "expect": "allow"}),
    ("wrongly_blocked", {"code": " " * 500, "expect": "allow"}),
]


def run_case(**fields: Any) -> Report:
    """Judge one case under a size limit of 400 bytes."""

    def rules_for(case: Case) -> Rules:
        rules = OPEN.rules_for(case.target)
        return replace(rules, limits=replace(rules.limits, payload_bytes=400))

    case = Case.model_validate({"id": "case", "target": "main"} | fields)
    return run_cases([case], profile=Profile.BALANCED, rules_for=rules_for)


@pytest.mark.parametrize(("name", "fields"), KINDS)
def test_a_case_is_in_exactly_one_list(name: str, fields: dict[str, Any]) -> None:
    report = run_case(**fields)

    assert [name] == [other for other in LISTS if getattr(report, other)]
    assert report.ok == (name in {"caught", "limited", "allowed"})


def test_a_target_that_the_policy_denies_is_no_catch() -> None:
    case = Case.model_validate(
        {"id": "case", "target": "main", "code": "process['exit'](0)", "expect": "block"}
    )
    closed = Policy.default()

    report = run_cases([case], profile=Profile.BALANCED, rules_for=lambda each: closed.rules_for(each.target))

    assert (len(report.caught), len(report.wrong_construct), report.ok) == (0, 1, False)


def test_a_case_that_expects_nothing_of_a_profile_is_not_judged() -> None:
    report = run_case(code="1", expect={"strict": "block"})

    assert (report.escapes, report.benign) == (0, 0)


def test_the_json_object_has_the_promised_keys() -> None:
    reports = [run_case(**fields).as_object(1.23456) for _, fields in KINDS]

    assert {("profile", "escapes", "benign", "elapsed_s")} == {tuple(report) for report in reports}
    assert {("total", "blocked", "limited", "missed", "wrong_construct")} == {
        tuple(r["escapes"]) for r in reports
    }
    assert {("total", "allowed", "blocked")} == {tuple(report["benign"]) for report in reports}
    assert reports[0]["elapsed_s"] == 1.235


def test_entries_say_what_was_answered() -> None:
    limited = run_case(**KINDS[4][1]).as_object(0)["escapes"]
    missed = run_case(**KINDS[5][1]).as_object(0)["escapes"]
    wrong = run_case(**KINDS[6][1]).as_object(0)["escapes"]
    benign = run_case(**KINDS[9][1]).as_object(0)["benign"]

    assert [(e["id"], e["error_code"]) for e in limited["limited"]] == [("case", "EVAL_PAYLOAD_TOO_LARGE")]
    assert (limited["total"], limited["blocked"]) == (1, 0)
    assert missed["missed"] == [{"id": "case", "code": "1 + 1"}]
    assert [(e["construct"], e["expected"]) for e in wrong["wrong_construct"]] == [("process.exit", ["with"])]
    assert benign["blocked"] == [
        {
            "id": "case",
            "code": "process['exit'](0)",
            "error_code": "EVAL_BLOCKED_CONSTRUCT",
            "construct": "process.exit",
        }
    ]


def test_progress_is_told_of_every_case() -> None:
    cases = [
        Case.model_validate({"id": str(i), "code": "1", "target": "main", "expect": "allow"})
        for i in range(3)
    ]
    seen: list[str] = []

    run_cases(
        cases,
        profile=Profile.BALANCED,
        rules_for=lambda case: OPEN.rules_for(case.target),
        judged=lambda case: seen.append(case.id),
    )

    assert seen == ["0", "1", "2"]
