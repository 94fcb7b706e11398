"""A replay of what a calling agent does with a denial: it reads the agent's view, applies the advice and sends again.

``tests/data/repair/tasks.yaml`` has the tasks. The repaired payload is written by hand, as the next actions say it.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.adapters import to_call_tool_result
from evalward.errors import Provenance, verdict_envelope
from evalward.guard import judge
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import Verdict
from evalward.policy import Policy

TASKS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data/repair/tasks.yaml").read_text("utf-8")
)
POLICY = Policy.default().allowing(list(Target))
PROVENANCE = Provenance("0.0.0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")
REPAIRABLE = [task for task in TASKS if "then" in task]
MEAN_TOKENS = 160
"""Tokens of a denial in the agent's view, estimated as a quarter of its characters."""


def judged(code: str, target: str, shape: str) -> Verdict:
    return judge(
        code.encode(), target=Target(target), shape=Shape(shape), rules=POLICY.rules_for(Target(target))
    )


def envelope_of(task: dict[str, Any]) -> dict[str, Any]:
    verdict = judged(task["first"], task["target"], task["shape"])
    assert not verdict.allowed
    return verdict_envelope(
        verdict, elapsed_ms=1, decision_id="0" * 32, provenance=PROVENANCE, audited=True, session_id="s-1"
    )


def text_of(task: dict[str, Any]) -> str:
    result: Any = to_call_tool_result(envelope_of(task))
    text: str = result["content"][0]["text"]
    return text


def test_there_are_enough_tasks() -> None:
    assert len(TASKS) >= 60
    assert len({task["first"] for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=[task["intent"] for task in TASKS])
def test_the_denial_says_whether_and_how_it_is_repaired(task: dict[str, Any]) -> None:
    envelope = envelope_of(task)

    assert envelope["details"]["repairable"] == task.get("repairable", "yes")
    assert task["says"] in " ".join(envelope["next_actions"])


@pytest.mark.parametrize("task", REPAIRABLE, ids=[task["intent"] for task in REPAIRABLE])
def test_the_repair_that_is_advised_is_allowed_and_keeps_the_intent(task: dict[str, Any]) -> None:
    verdict = judged(task["then"], task.get("in", task["target"]), task["shape"])

    assert verdict.code is None, verdict.message
    for kept in task["keeps"]:
        assert kept in task["then"]


def test_a_denial_is_short_in_the_view_of_an_agent() -> None:
    tokens = [len(text_of(task)) / 4 for task in TASKS]

    assert sum(tokens) / len(tokens) <= MEAN_TOKENS
