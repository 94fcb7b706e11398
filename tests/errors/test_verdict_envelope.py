from typing import Any

import pytest

from evalward.errors import REGISTRY, Code, Provenance, verdict_envelope
from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Location, TraceStep, Verdict

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
PLACE = Location(line=2, column=5, start=12, end=20)
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
        "location": {"line": 2, "column": 5},
        "trace": [
            {"note": "process is read", "line": 2, "column": 5},
            {"note": "key 'exit' is built"},
        ],
    }
    assert (
        envelope["error"] == "The payload reaches process.exit, which the policy blocks at line 2, column 5."
    )


@pytest.mark.parametrize(("others", "listed", "omitted"), [(1, 1, 0), (5, 5, 0), (8, 5, 3)])
def test_further_findings_are_capped_with_a_count_of_the_rest(others: int, listed: int, omitted: int) -> None:
    first = Finding("eval()", PLACE)
    more = tuple(Finding("with", Location(3, n, n, n + 1)) for n in range(1, others + 1))
    verdict = deny(
        Code.EVAL_BLOCKED_CONSTRUCT,
        construct="eval()",
        location=PLACE,
        findings=(*more[:1], first, *more[1:]),
    )
    details = envelope_of(verdict)["details"]
    assert len(details["findings"]) == listed
    assert details["findings"][0] == {"construct": "with", "location": {"line": 3, "column": 1}}
    assert details["findings_omitted"] == omitted


def test_blocked_keyword_names_the_place_and_the_setting() -> None:
    envelope = envelope_of(deny(Code.EVAL_BLOCKED_KEYWORD, keyword="house-rule", location=PLACE))
    assert envelope["details"] == {
        "keyword": "house-rule",
        "where": {"line": 2, "column": 5},
        "code_hash": HASH,
    }
    for words in ("house-rule", "line 2, column 5", "blocklist.mode", "blocklist.add", "blocklist.remove"):
        assert words in envelope["error"]


@pytest.mark.parametrize("target", list(Target))
def test_denied_target_names_the_flag_that_permits_it(target: Target) -> None:
    verdict = Verdict(Code.EVAL_TARGET_DENIED, target, None, Profile.BALANCED, HASH, 1, message="ignored")
    envelope = envelope_of(verdict, allowed_targets=[Target.SANDBOX, Target.NODE])
    assert envelope["error"].startswith("Evalward policy")
    assert f"--allow-eval={target}" in envelope["error"]
    assert envelope["details"] == {
        "field": "target",
        "allowed": ["node", "sandbox"],
        "required": f"--allow-eval={target}",
        "code_hash": HASH,
    }


def test_a_missing_target_is_denied_without_a_name() -> None:
    verdict = Verdict(Code.EVAL_TARGET_DENIED, None, None, Profile.BALANCED, HASH, 1)
    assert "--allow-eval=<target>" in envelope_of(verdict)["error"]


@pytest.mark.parametrize("actual", [200_000, None])
def test_limits_carry_name_bound_and_what_was_found(actual: int | None) -> None:
    verdict = deny(Code.EVAL_PAYLOAD_TOO_LARGE, limit=("payload_bytes", 131_072, actual))
    envelope = envelope_of(verdict)
    expected: dict[str, object] = {"limit": "payload_bytes", "allowed": 131_072, "code_hash": HASH}
    if actual is not None:
        expected["actual"] = actual
        assert "200000" in envelope["error"]
    assert envelope["details"] == expected
    assert "payload_bytes of 131072" in envelope["error"]


def test_shadow_findings_are_in_meta_and_not_in_details() -> None:
    verdict = deny(None, shadow=(Finding("with", PLACE), Finding("network")))
    assert envelope_of(verdict)["_meta"]["would_block"] == [
        {"construct": "with", "location": {"line": 2, "column": 5}},
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
        "location": {"line": 2, "column": 5},
    }
