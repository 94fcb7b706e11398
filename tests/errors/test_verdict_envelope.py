from typing import Any

import pytest

from evalward.errors import REGISTRY, Code, Provenance, verdict_envelope
from evalward.guard import judge
from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.rules import Rules
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Location, TraceStep, Verdict

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
PLACE = Location(line=2, column=5, start=12, end=20)
AT = {"line": 2, "column": 5, "start": 12, "end": 20}
HASH = "0123456789abcdef" * 4


def deny(code: Code | None, **fields: Any) -> Verdict:
    return Verdict(code, Target.MAIN, Shape.EXPRESSION, Profile.BALANCED, HASH, 31, **fields)


def envelope_of(verdict: Verdict, **wishes: Any) -> Any:
    return verdict_envelope(
        verdict, elapsed_ms=1.0, decision_id="d1", provenance=PROVENANCE, audited=True, **wishes
    )


def test_allow_binds_what_it_is_about() -> None:
    envelope = envelope_of(deny(None), session_id="s1")
    meta = envelope.pop("_meta")
    assert envelope == {
        "ok": True,
        "target": "main",
        "shape": "expression",
        "profile": "balanced",
        "code_hash": HASH,
        "code_length": 31,
    }
    assert meta["provenance"]["policy_digest"] == "a" * 64
    assert (meta["decision_id"], meta["session_id"], meta["audited"]) == ("d1", "s1", True)


def test_blocked_construct_says_where_and_how_the_value_got_there() -> None:
    trace = (TraceStep("process is read", PLACE), TraceStep("key 'exit' is built"))
    verdict = deny(
        Code.EVAL_BLOCKED_CONSTRUCT,
        construct="process.exit",
        location=PLACE,
        findings=(Finding("process.exit", PLACE, trace),),
    )
    envelope = envelope_of(verdict)
    assert envelope["details"] == {
        "construct": "process.exit",
        "code_hash": HASH,
        "repairable": "elsewhere",
        "location": AT,
        "findings": [{"construct": "process.exit", "location": AT}],
        "findings_total": 1,
        "findings_omitted": 0,
        "trace": [
            {"note": "process is read", "line": 2, "column": 5},
            {"note": "key 'exit' is built"},
        ],
    }
    assert (
        envelope["error"] == "The payload reaches process.exit, which the policy blocks at line 2, column 5."
    )


def test_every_finding_is_told_with_its_place_and_how_many_there_are() -> None:
    first = Finding("eval()", PLACE)
    more = tuple(Finding("with", Location(3, n, n, n + 1)) for n in range(1, 4))
    verdict = deny(
        Code.EVAL_BLOCKED_KEYWORD,
        keyword="eval(",
        location=PLACE,
        findings=(Finding("", PLACE, keyword="eval("), first, *more),
        findings_total=30,
    )
    details = envelope_of(verdict)["details"]
    assert details["findings"][:3] == [
        {"keyword": "eval(", "location": AT},
        {"construct": "eval()", "location": AT},
        {"construct": "with", "location": {"line": 3, "column": 1, "start": 1, "end": 2}},
    ]
    counts = (len(details["findings"]), details["findings_total"], details["findings_omitted"])
    assert counts == (5, 30, 25)


def test_the_quoted_lines_count_what_is_left_out_from_all_findings() -> None:
    payload = b"eval(1)\n" * 40
    verdict = judge(
        payload, target=Target.RENDERER, shape=Shape.SCRIPT, rules=Rules(allowed=True, keywords=())
    )
    details = envelope_of(verdict, context=payload)["details"]

    assert (details["findings_total"], len(details["findings"])) == (40, 20)
    snippets = details["context"]["snippets"]
    assert [each["line"] for each in snippets] == [1, 2, 3, 4, 5]
    assert details["context"]["omitted"] == 35


def test_blocked_keyword_names_the_place_and_no_setting_that_a_caller_cannot_change() -> None:
    envelope = envelope_of(deny(Code.EVAL_BLOCKED_KEYWORD, keyword="house-rule", location=PLACE))
    assert envelope["details"] == {
        "keyword": "house-rule",
        "where": AT,
        "code_hash": HASH,
        "repairable": "yes",
    }
    assert envelope["error"].endswith("keyword house-rule at line 2, column 5.")


@pytest.mark.parametrize("target", list(Target))
def test_a_denied_target_tells_a_caller_which_are_allowed_and_an_operator_the_flag(target: Target) -> None:
    verdict = Verdict(Code.EVAL_TARGET_DENIED, target, None, Profile.BALANCED, HASH, 1, message="ignored")
    envelope = envelope_of(verdict, allowed_targets=[Target.SANDBOX, Target.NODE])
    assert envelope["error"] == f"The policy denies eval in the target {target}."
    assert "--allow-eval" not in " ".join(envelope["next_actions"])
    assert envelope["details"] == {
        "field": "/target",
        "allowed": ["node", "sandbox"],
        "required": [f"--allow-eval={target}"],
        "code_hash": HASH,
        "repairable": "elsewhere",
    }


def test_a_missing_target_is_denied_without_a_name() -> None:
    verdict = Verdict(Code.EVAL_TARGET_DENIED, None, None, Profile.BALANCED, HASH, 1)
    assert "<target>" in envelope_of(verdict)["error"]


@pytest.mark.parametrize("actual", [200_000, None])
def test_limits_carry_name_bound_and_what_was_found(actual: int | None) -> None:
    verdict = deny(Code.EVAL_PAYLOAD_TOO_LARGE, limit=("payload_bytes", 131_072, actual))
    envelope = envelope_of(verdict)
    expected: dict[str, object] = {
        "field": "/code",
        "limit": "payload_bytes",
        "limit_value": 131_072,
        "code_hash": HASH,
        "repairable": "yes",
    }
    if actual is not None:
        expected["actual"] = actual
        assert "200000" in envelope["error"]
    assert envelope["details"] == expected
    assert "payload_bytes of 131072" in envelope["error"]


def test_shadow_findings_are_in_meta_and_not_in_details() -> None:
    verdict = deny(None, shadow=(Finding("with", PLACE), Finding("network")))
    assert envelope_of(verdict)["_meta"]["would_block"] == [
        {"construct": "with", "location": AT},
        {"construct": "network", "location": None},
    ]


@pytest.mark.parametrize(("label", "page"), [("eval()", "eval()"), ("process.binding", "process.<member>")])
def test_the_next_actions_are_what_to_use_instead_of_the_construct(label: str, page: str) -> None:
    verdict = deny(Code.EVAL_BLOCKED_CONSTRUCT, construct=label)
    assert envelope_of(verdict)["next_actions"] == [*CONSTRUCTS[page].use_instead]


def test_other_denials_have_the_next_actions_of_the_registry() -> None:
    expected = [*REGISTRY[Code.EVAL_SYNTAX_ERROR].next_actions]
    assert envelope_of(deny(Code.EVAL_SYNTAX_ERROR))["next_actions"] == expected


@pytest.mark.parametrize("code", [code for code in Code if REGISTRY[code].domain == "eval"])
def test_every_denial_has_a_message_and_the_hash(code: Code) -> None:
    envelope = envelope_of(deny(code, construct="with", keyword="eval("))
    assert envelope["ok"] is False
    assert len(envelope["error"]) > 20
    assert envelope["details"]["code_hash"] == HASH


def test_guard_message_and_details_are_kept() -> None:
    verdict = deny(
        Code.EVAL_SYNTAX_ERROR, message="Unclosed string.", details=(("node", "string"),), location=PLACE
    )
    envelope = envelope_of(verdict)
    assert envelope["error"] == "Unclosed string."
    assert envelope["details"] == {
        "node": "string",
        "code_hash": HASH,
        "repairable": "yes",
        "location": AT,
    }
