"""What the methods and options of drivers and of Electron run, load or read is blocked; their ordinary use is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward import Policy, Profile, Verdict, validate
from evalward.guard.target import Shape, Target

CASES = yaml.safe_load((Path(__file__).parent / "drivers.yaml").read_text(encoding="utf-8"))


def judged(code: str, case: dict[str, str], profile: Profile) -> Verdict:
    target = Target(case.get("target", "node"))
    named = case.get("shape", "function" if target is Target.MAIN else "async_body")
    shape = None if named == "undeclared" else Shape(named)
    policy = Policy.default().with_profile(profile).allowing([target])
    return validate(code.encode(), target=target, shape=shape, policy=policy)


@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"][:60])
def test_what_a_driver_runs_for_a_payload_is_blocked(case: dict[str, str], profile: Profile) -> None:
    assert str(judged(case["code"], case, profile).construct) == case["construct"]


@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["twin"][:60])
def test_its_benign_twin_is_allowed(case: dict[str, str], profile: Profile) -> None:
    assert judged(case["twin"], case, profile).code is None
