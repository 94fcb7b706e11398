"""The edits of a denial: what they make of a payload, and that none is offered which was not judged."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evalward.corpus.corpus_case import load_cases
from evalward.guard import judge
from evalward.guard.repair import judge_repaired, with_rewrite
from evalward.guard.repair.rewriting import MAX_PAYLOAD_BYTES, MAX_TEXT
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import Rewrite
from evalward.policy import Policy

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("rewrites.yaml").read_text("utf-8"))
POLICY = Policy.default().allowing(list(Target))
CORPUS = Path(__file__).parents[3] / "corpus"


def edited(payload: bytes, rewrites: tuple[Rewrite, ...]) -> bytes:
    for each in reversed(rewrites):
        text = each.text.encode("utf-8", "surrogatepass")
        payload = payload[: each.location.start] + text + payload[each.location.end :]
    return payload


@pytest.mark.parametrize("case", CASES, ids=[case["from"] for case in CASES])
def test_a_denied_payload_becomes_what_it_says_or_has_no_edits(case: dict[str, Any]) -> None:
    target, payload = Target(case["target"]), case["from"].encode()
    verdict = judge_repaired(
        payload, target=target, shape=Shape(case["shape"]), rules=POLICY.rules_for(target)
    )

    assert not verdict.allowed
    assert bool(verdict.rewrites) is ("to" in case)
    assert edited(payload, verdict.rewrites).decode() == case.get("to", case["from"])


def test_every_edit_of_the_corpus_leads_to_an_allow() -> None:
    rewritten = 0
    for case in load_cases([CORPUS]):
        rules = POLICY.rules_for(case.target)
        asked: dict[str, Any] = {
            "target": case.target,
            "shape": case.shape,
            "rules": rules,
            "sink": case.sink,
        }
        verdict = judge_repaired(case.payload, **asked)
        if verdict.rewrites:
            rewritten += 1
            assert judge(edited(case.payload, verdict.rewrites), **asked).allowed, case.id
            assert sum(len(each.text) for each in verdict.rewrites) <= MAX_TEXT

    assert rewritten > 50


def test_a_large_payload_is_denied_without_edits() -> None:
    padding = b"//" + b"x" * MAX_PAYLOAD_BYTES
    rules = POLICY.rules_for(Target.RENDERER)

    for tail, has_edits in ((b"", True), (padding, False)):
        verdict = judge_repaired(
            b"setTimeout('f()', 5)\n" + tail, target=Target.RENDERER, shape=Shape.SCRIPT, rules=rules
        )
        assert not verdict.allowed
        assert bool(verdict.rewrites) is has_edits


def test_an_allow_is_returned_as_it_is() -> None:
    rules = POLICY.rules_for(Target.RENDERER)
    verdict = judge(b"document.title", target=Target.RENDERER, shape=Shape.SCRIPT, rules=rules)

    assert with_rewrite(verdict, b"document.title", rules) is verdict


PIECES = (
    "page.evaluate(",
    "'",
    '"',
    "`",
    "${",
    "}",
    ")",
    "(",
    "eval(",
    "setTimeout(",
    "<a onclick=x>",
    "\\u00",
    "é",
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_payload_makes_it_raise(text: str) -> None:
    rules = POLICY.rules_for(Target.NODE)

    judge_repaired(text.encode(), target=Target.NODE, shape=Shape.ASYNC_BODY, rules=rules)
