"""Shadow mode and exceptions: the findings that they allow, until when, and those that they never allow."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from typing import Any

import pytest

from evalward import Policy, Shape, Target, validate
from evalward.errors import Code, would_block_names
from evalward.guard import judge
from evalward.guard.rules import Enforcement
from evalward.policy import exception_of, parse_policy, settled, utc_day

BLOCKED = b"process['ex' + 'it'](0)"
KEYWORD = b"eval(x)"
TODAY = date(2027, 3, 31)
# What no shadow mode may cover: the code, and a payload that is denied with it.
NEVER = [
    (Code.EVAL_BLOCKED_CONSTRUCT, b"<!--\rP()", Shape.SCRIPT),
    (Code.EVAL_SYNTAX_ERROR, b"(((", None),
    (Code.EVAL_BAD_ENCODING, b"\xff", None),
    (Code.EVAL_PAYLOAD_TOO_LARGE, b" " * 200_000, None),
]


def policy(**fields: Any) -> Policy:
    """Return a policy that opts the renderer in."""
    document = {"api_version": "evalward/v1", "targets": {"renderer": {"allowed": True}}, **fields}
    return parse_policy(document, source="test")


def exception(code: bytes, *constructs: str, **fields: Any) -> dict[str, Any]:
    """Return an exception for ``code`` that holds for years."""
    return {
        "sha256": hashlib.sha256(code).hexdigest(),
        "targets": ["renderer"],
        "constructs": list(constructs),
        "reason": "vetted",
        "owner": "security",
        "expires": date(2099, 1, 1),
        **fields,
    }


def test_shadow_mode_lets_pass_and_says_what_it_would_deny() -> None:
    shadow = policy(enforcement="audit")
    verdict = validate(BLOCKED, target="renderer", policy=shadow)
    assert verdict.allowed
    assert verdict.enforcement is Enforcement.AUDIT
    assert would_block_names(verdict) == ("process.exit",)
    assert verdict.withheld is not None
    assert verdict.withheld.code is Code.EVAL_BLOCKED_CONSTRUCT
    assert would_block_names(validate(KEYWORD, target="renderer", policy=shadow)) == (
        "eval()",
        "keyword:eval(",
    )
    assert would_block_names(
        validate(b"(" * 2_100 + b"1" + b")" * 2_100, target="renderer", policy=shadow)
    ) == ("limit:depth",)
    ordinary = validate(b"document.title", target="renderer", policy=shadow)
    assert ordinary.allowed
    assert ordinary.withheld is None
    assert would_block_names(ordinary) == ()


def test_without_shadow_mode_nothing_of_it_shows() -> None:
    verdict = validate(BLOCKED, target="renderer", policy=policy())
    assert verdict.code is Code.EVAL_BLOCKED_CONSTRUCT
    assert verdict.enforcement is Enforcement.ENFORCE
    assert verdict.withheld is None


@pytest.mark.parametrize(("code", "payload", "shape"), NEVER, ids=lambda value: getattr(value, "name", None))
def test_what_shadow_mode_never_covers(code: Code, payload: bytes, shape: Shape | None) -> None:
    verdict = validate(payload, target="renderer", shape=shape, policy=policy(enforcement="audit"))
    if verdict.code is Code.EVAL_BLOCKED_CONSTRUCT and verdict.construct != "parser-ambiguity":
        pytest.fail("the payload was to be ambiguous")
    assert verdict.code is code


def test_shadow_mode_does_not_opt_a_target_in() -> None:
    verdict = validate(b"1", target="main", policy=policy(enforcement="audit"))
    assert verdict.code is Code.EVAL_TARGET_DENIED


@pytest.mark.parametrize(
    ("fields", "tool", "today", "mode"),
    [
        ({}, None, TODAY, "enforce"),
        ({"enforcement": "audit"}, None, TODAY, "audit"),
        ({"enforcement": {"mode": "audit", "until": TODAY}}, None, TODAY, "audit"),
        ({"enforcement": {"mode": "audit", "until": TODAY}}, None, TODAY + timedelta(1), "enforce"),
        ({"targets": {"renderer": {"allowed": True, "enforcement": "audit"}}}, None, TODAY, "audit"),
        (
            {"enforcement": "audit", "targets": {"renderer": {"allowed": True, "enforcement": "enforce"}}},
            None,
            TODAY,
            "enforce",
        ),
        ({"tools": {"run": {"enforcement": "audit"}}}, "run", TODAY, "audit"),
        ({"tools": {"run": {"enforcement": "audit"}}}, "walk", TODAY, "enforce"),
        ({"tools": {"run": {"enforcement": "audit"}}}, None, TODAY, "enforce"),
        ({"enforcement": "audit", "tools": {"run": {"enforcement": "enforce"}}}, "run", TODAY, "enforce"),
    ],
)
def test_the_narrowest_section_and_the_day_decide(
    fields: dict[str, Any], tool: str | None, today: date, mode: str
) -> None:
    assert policy(**fields).enforcement_for(Target.RENDERER, tool=tool, today=today) == mode


def test_an_exception_lets_its_payload_through_and_is_named() -> None:
    vetted = policy(exceptions=[exception(BLOCKED, "process.exit")])
    verdict = validate(BLOCKED, target="renderer", policy=vetted)
    assert verdict.allowed
    assert verdict.exception_id == vetted.exceptions[0].id
    assert would_block_names(verdict) == ("process.exit",)
    assert not validate(BLOCKED + b";", target="renderer", policy=vetted).allowed


def test_an_exception_that_nobody_needs_is_not_named() -> None:
    harmless = b"const rows = [1, 2]; rows[k]; rows.length"
    verdict = validate(
        harmless, target="renderer", policy=policy(exceptions=[exception(harmless, "process.exit")])
    )
    assert verdict.allowed
    assert verdict.exception_id is None


def test_an_exception_covers_what_it_names_and_no_more() -> None:
    both = b"process['ex' + 'it'](0); document['coo' + 'kie'] = fetch"
    assert not validate(
        both, target="renderer", policy=policy(exceptions=[exception(both, "process.kill")])
    ).allowed
    keyword = policy(exceptions=[exception(KEYWORD, "keyword:eval(")])
    assert validate(KEYWORD, target="renderer", policy=keyword).construct == "eval()"
    enough = policy(exceptions=[exception(KEYWORD, "keyword:eval(", "eval()")])
    verdict = validate(KEYWORD, target="renderer", policy=enough)
    assert verdict.allowed
    assert verdict.exception_id


@pytest.mark.parametrize(
    ("fields", "target", "tool", "today", "covered"),
    [
        ({}, Target.RENDERER, None, TODAY, True),
        ({}, Target.MAIN, None, TODAY, False),
        ({"expires": TODAY}, Target.RENDERER, None, TODAY, True),
        ({"expires": TODAY}, Target.RENDERER, None, TODAY + timedelta(1), False),
        ({"tools": ["run"]}, Target.RENDERER, "run", TODAY, True),
        ({"tools": ["run"]}, Target.RENDERER, "walk", TODAY, False),
        ({"tools": ["run"]}, Target.RENDERER, None, TODAY, False),
    ],
)
def test_an_exception_holds_for_its_targets_tools_and_days(
    fields: dict[str, Any], target: Target, tool: str | None, today: date, *, covered: bool
) -> None:
    vetted = policy(exceptions=[exception(BLOCKED, "process.exit", **fields)])
    found = exception_of(vetted, BLOCKED, target, tool=tool, today=today)
    assert (found is not None) == covered


@pytest.mark.parametrize(("code", "payload", "shape"), NEVER, ids=lambda value: getattr(value, "name", None))
def test_no_exception_lets_through_what_is_not_understood(
    code: Code, payload: bytes, shape: Shape | None
) -> None:
    vetted = policy(exceptions=[exception(payload, "process.exit", "eval()")])
    assert validate(payload, target="renderer", shape=shape, policy=vetted).code is code


def test_both_change_the_digest() -> None:
    digests = {
        policy().digest,
        policy(enforcement="audit").digest,
        policy(tools={"run": {"enforcement": "audit"}}).digest,
        policy(exceptions=[exception(BLOCKED, "process.exit")]).digest,
    }
    assert len(digests) == 4


def test_settling_is_pure() -> None:
    shadow = policy()
    verdict = judge(BLOCKED, target=Target.RENDERER, shape=None, rules=shadow.rules_for(Target.RENDERER))
    assert settled(verdict, enforcement=Enforcement.ENFORCE, exception=None) is verdict
    assert settled(verdict, enforcement=Enforcement.AUDIT, exception=None).withheld is not None
    assert not verdict.allowed


def test_days_are_days_in_utc() -> None:
    assert abs(utc_day() - date.today()) <= timedelta(1)  # noqa: DTZ011 - that is what is compared
