"""docs/reference/policy.md: its policy is valid, has only the shown warnings, and answers as in its table."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
import yaml

from evalward import Policy, validate
from evalward.policy.lint import warnings_of
from evalward.policy.policy_file import parse_policy

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
ANSWERS = re.findall(r"^\| `(.*)` \| (\w+) \| `?(.*?)`? \|$", PAGE, re.MULTILINE)


def policy() -> Policy:
    return parse_policy(yaml.safe_load(SHOWN), source="policy.md")


def test_the_policy_of_the_page_is_as_it_should_be() -> None:
    assert warnings_of(policy(), today=date(2027, 1, 1)) == []


def test_there_are_answers_to_check() -> None:
    assert len(ANSWERS) == 6


@pytest.mark.parametrize(("code", "target", "answer"), ANSWERS)
def test_the_answers_are_those_of_the_table(code: str, target: str, answer: str) -> None:
    verdict = validate(code.encode(), target=target, shape="function", policy=policy())

    assert ("allowed" if verdict.allowed else verdict.code) == answer.partition(",")[0]
    assert (verdict.withheld is not None) == ("would be denied" in answer)


def test_every_key_of_a_policy_is_named() -> None:
    keys = set(Policy.model_fields) - {"api_version"}

    assert [key for key in sorted(keys) if f"`{key}" not in PAGE] == []
