"""What a payload hands to the host stays its own: text that comes back reaches no sink (guard.md §2, §7)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward import Policy, Profile, Verdict, validate
from evalward.guard.target import Target

CASES = yaml.safe_load((Path(__file__).parent / "through_the_host.yaml").read_text(encoding="utf-8"))
DRIVEN = Target.NODE  # where the sinks of drivers run


def judged(code: str, case: dict[str, str]) -> Verdict:
    target = Target(case["target"]) if "target" in case else DRIVEN
    policy = Policy.default().with_profile(Profile(case.get("profile", "balanced"))).allowing([target])
    if "sink" in case:
        return validate(code.encode(), sink=case["sink"], policy=policy)
    return validate(code.encode(), target=target, policy=policy)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"][:60])
def test_an_escape_through_the_host_is_blocked(case: dict[str, str]) -> None:
    assert str(judged(case["code"], case).construct) == case["construct"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["twin"][:60])
def test_its_benign_twin_is_allowed(case: dict[str, str]) -> None:
    assert judged(case["twin"], case).code is None
