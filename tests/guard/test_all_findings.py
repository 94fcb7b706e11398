"""One denial names everything that denies the payload: a keyword hides no construct, and no occurrence another."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from guard_cases import RULES, verdict

from evalward import Policy, validate
from evalward.codes import Code
from evalward.guard.rules import BlocklistMode
from evalward.guard.target import Target
from evalward.guard.verdict import MAX_FINDINGS


def names(found: Any) -> list[str]:
    return [each.name for each in found.findings]


def test_every_occurrence_and_every_construct_is_found() -> None:
    code = "eval('1');\n" * 3 + "require('fs');\nprocess['kill'](1);"
    found = verdict(code, shape="script")

    assert (found.code, found.keyword) == (Code.EVAL_BLOCKED_KEYWORD, "eval(")
    assert names(found) == [
        *["keyword:eval("] * 3,
        "keyword:require(",
        *["eval()"] * 3,
        "require()",
        "process.kill",
    ]
    assert found.findings_total == 9
    places = [(each.location.line, each.location.column) for each in found.findings if each.location]
    assert places == [(1, 1), (2, 1), (3, 1), (4, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]
    for each in found.findings:
        if each.keyword is not None and each.location is not None:
            assert code[each.location.start : each.location.end] == each.keyword


def test_what_hides_behind_many_occurrences_is_named_and_all_are_counted() -> None:
    found = verdict("eval('1');" * 500 + "process['kill'](1);", shape="script")

    assert len(found.findings) == MAX_FINDINGS
    assert {*names(found)} == {"keyword:eval(", "eval()", "process.kill"}
    assert found.findings_total == 1001


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("require('a') ((", ["keyword:require("]),
        ("require('a'); x<!--y", ["keyword:require(", "parser-ambiguity"]),
        ("({ a: 'eval(', b: process['kill'](1) })", ["process.kill"]),
    ],
)
def test_what_does_not_parse_or_does_not_count(code: str, expected: list[str]) -> None:
    assert names(verdict(code)) == expected


def test_in_substring_mode_too() -> None:
    rules = replace(RULES, blocklist_mode=BlocklistMode.SUBSTRING)
    found = verdict("$eval('1'); process['kill'](1)", shape="script", rules=rules)
    assert names(found) == ["keyword:eval(", "process.kill"]


def test_the_seed_profile_says_no_more_than_the_seed_did() -> None:
    assert names(verdict("eval('1'); eval('2')", profile="seed")) == ["keyword:eval("] * 2


CODE = "eval('1 + 1')"


def exempting(*constructs: str, code: str = CODE) -> Policy:
    entry = {
        "sha256": sha256(code.encode()).hexdigest(),
        "targets": ["main"],
        "constructs": [*constructs],
        "reason": "vetted",
        "owner": "team",
        "expires": "2099-01-01",
    }
    return Policy.model_validate({"targets": {"main": {"allowed": True}}, "exceptions": [entry]})


@pytest.mark.parametrize("constructs", [("eval()",), ("eval()", "keyword:eval(")])
def test_an_exception_for_a_construct_brings_the_word_that_is_its_text(constructs: tuple[str, ...]) -> None:
    found = validate(CODE.encode(), target="main", policy=exempting(*constructs))
    assert found.allowed
    assert found.exception_id is not None


def test_an_exception_for_the_word_alone_does_not_bring_the_construct() -> None:
    found = validate(CODE.encode(), target="main", policy=exempting("keyword:eval("))
    assert (found.code, found.construct) == (Code.EVAL_BLOCKED_CONSTRUCT, "eval()")


def test_an_exception_for_another_construct_brings_nothing() -> None:
    found = validate(CODE.encode(), target="main", policy=exempting("require()"))
    assert names(found) == ["keyword:eval(", "eval()"]


def test_an_exception_that_lists_what_the_denial_names_lets_the_payload_through() -> None:
    code = "eval('1'); require('x'); process['kill'](1); ({ a: 'child_process' })"
    denied = validate(code.encode(), target="main", policy=Policy.default().allowing([Target.MAIN]))
    named = sorted({*names(denied)})
    assert named == [
        "eval()",
        "keyword:child_process",
        "keyword:eval(",
        "keyword:require(",
        "process.kill",
        "require()",
    ]
    assert validate(code.encode(), target="main", policy=exempting(*named, code=code)).allowed
    short = exempting("eval()", "require()", "process.kill", code=code)
    assert names(validate(code.encode(), target="main", policy=short)) == ["keyword:child_process"]
