"""A key that the payload has found in a list of its own is one of the list's texts, and only behind that check."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward import Policy, validate
from evalward.guard.target import Shape, Target

CASES = yaml.safe_load((Path(__file__).parent / "allow_lists.yaml").read_text(encoding="utf-8"))
POLICY = Policy.default().allowing([Target.RENDERER])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"][:60])
def test_a_check_holds_for_the_code_behind_it(case: dict[str, str]) -> None:
    verdict = validate(case["code"].encode(), target=Target.RENDERER, shape=Shape.FUNCTION, policy=POLICY)

    assert verdict.allowed is (case["expect"] == "allow")
