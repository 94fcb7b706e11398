"""The weakenings of a policy relative to the default: each case is a policy file and their names."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.audit.record import WEAKENED
from evalward.policy import Policy, parse_policy
from evalward.policy.weakenings import weakened_by

CASES = yaml.safe_load((Path(__file__).parents[1] / "data/policy/weakened.yaml").read_text(encoding="utf-8"))
DAY = date(2026, 11, 22)


@pytest.mark.parametrize("case", CASES, ids=[each["id"] for each in CASES])
def test_what_is_weaker_than_the_default_is_named(case: dict[str, Any]) -> None:
    policy = parse_policy({"api_version": "evalward/v1", **case["policy"]}, source="policy.yaml")

    names = weakened_by(policy, today=DAY)

    assert list(names) == case["weakened"]
    assert all(WEAKENED.fullmatch(name) for name in names)


def test_every_field_that_can_weaken_is_a_case() -> None:
    tried = {field for case in CASES for field in case["policy"]}
    assert tried == {*Policy.model_fields} - {"api_version"}
