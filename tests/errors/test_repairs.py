"""A replay of what a calling agent does with a denial: it reads the agent's view, applies the advice and sends again.

``tests/data/repair/tasks.yaml`` has the tasks. Where the denial has edits, they are made as they are; else the repaired
payload is written by hand, as the next actions say it. Payloads run in a real browser before and after the repair.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from intent_page import IntentPage

from evalward.adapters import to_call_tool_result
from evalward.errors import Provenance, verdict_envelope
from evalward.errors.cause_rows import ENVIRONMENT_NAMES
from evalward.guard import judge
from evalward.guard.catalogue.entries import load_catalogue
from evalward.guard.repair import judge_repaired
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import Verdict
from evalward.oracle.chromium import ChromiumOracle
from evalward.policy import Policy

TASKS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data/repair/tasks.yaml").read_text("utf-8")
)
POLICY = Policy.default().allowing(list(Target))
PROVENANCE = Provenance("0.0.0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")
REPAIRABLE = [task for task in TASKS if "then" in task]
MECHANICAL_SHARE = 0.6
"""Of the repairable tasks, those whose repair is made by the edits of the denial, without a reader."""
MAX_TOKENS = 160
"""Tokens of a denial in the agent's view, estimated as a quarter of its characters."""
needs_chromium = pytest.mark.skipif(ChromiumOracle.missing() is not None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def page() -> Iterator[IntentPage]:
    with IntentPage() as opened:
        yield opened


def judged(code: str, target: str, shape: str) -> Verdict:
    return judge(
        code.encode(), target=Target(target), shape=Shape(shape), rules=POLICY.rules_for(Target(target))
    )


def rewritten(task: dict[str, Any]) -> str | None:
    """Return the first payload after the edits of its denial, None if it has none."""
    target, code = Target(task["target"]), task["first"].encode()
    verdict = judge_repaired(code, target=target, shape=Shape(task["shape"]), rules=POLICY.rules_for(target))
    for edit in reversed(verdict.rewrites):
        code = code[: edit.location.start] + edit.text.encode() + code[edit.location.end :]
    return code.decode() if verdict.rewrites else None


def envelope_of(task: dict[str, Any], *, with_edits: bool = False) -> dict[str, Any]:
    target = Target(task["target"])
    judging = judge_repaired if with_edits else judge
    verdict = judging(
        task["first"].encode(), target=target, shape=Shape(task["shape"]), rules=POLICY.rules_for(target)
    )
    assert not verdict.allowed
    return verdict_envelope(
        verdict, elapsed_ms=1, decision_id="0" * 32, provenance=PROVENANCE, audited=True, session_id="s-1"
    )


def text_of(task: dict[str, Any], *, with_edits: bool) -> str:
    result: Any = to_call_tool_result(envelope_of(task, with_edits=with_edits))
    text: str = result["content"][0]["text"]
    return text


def test_there_are_enough_tasks() -> None:
    assert len(TASKS) >= 60
    assert len({task["first"] for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=[task["intent"] for task in TASKS])
def test_the_denial_says_whether_and_how_it_is_repaired(task: dict[str, Any]) -> None:
    edited = envelope_of(task, with_edits=True)

    assert edited["details"]["repairable"] == task.get("repairable", "yes")
    assert task["says"] in " ".join(envelope_of(task)["next_actions"])


def test_the_environment_names_are_those_of_the_policy() -> None:
    verdict = judged("() => process.env.API_TOKEN", "main", "function")
    envelope: Any = verdict_envelope(
        verdict, elapsed_ms=1, decision_id="0" * 32, provenance=PROVENANCE, audited=True, env_names=["STAGE"]
    )

    assert envelope["next_actions"][0].endswith(f"{', '.join(ENVIRONMENT_NAMES)}, STAGE.")
    values = load_catalogue().get("process.env").members
    assert [*values] == [*ENVIRONMENT_NAMES]


@pytest.mark.parametrize("task", REPAIRABLE, ids=[task["intent"] for task in REPAIRABLE])
def test_the_repair_that_is_advised_is_allowed_and_keeps_the_intent(task: dict[str, Any]) -> None:
    verdict = judged(task["then"], task.get("in", task["target"]), task["shape"])

    assert verdict.code is None, verdict.message
    for kept in task["keeps"]:
        assert kept in task["then"]


def test_most_repairs_need_no_reader() -> None:
    mechanical = [task for task in REPAIRABLE if rewritten(task) is not None]

    assert len(mechanical) / len(REPAIRABLE) >= MECHANICAL_SHARE


def test_nothing_is_rewritten_that_has_no_repair_in_the_payload() -> None:
    assert [task["intent"] for task in TASKS if "then" not in task and rewritten(task)] == []


@needs_chromium
@pytest.mark.parametrize("task", REPAIRABLE, ids=[task["intent"] for task in REPAIRABLE])
def test_the_repaired_payload_does_what_the_first_one_would_have_done(
    task: dict[str, Any], page: IntentPage
) -> None:
    shape = Shape(task["shape"])
    repaired = rewritten(task)

    assert page.run(task, repaired or task["then"], shape) == task["gives"]
    if "unrun" not in task:
        assert page.run(task, task["first"], shape) == task["gives"]


@pytest.mark.parametrize("with_edits", [True, False])
@pytest.mark.parametrize("task", TASKS, ids=[task["intent"] for task in TASKS])
def test_a_denial_is_short_in_the_view_of_an_agent(task: dict[str, Any], *, with_edits: bool) -> None:
    assert len(text_of(task, with_edits=with_edits)) / 4 <= MAX_TOKENS
