"""Attacks on the facades of hosts are denied, and ordinary programs like them are not, among the oracle's stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import emit
from evalward.oracle.hardened_run import is_denied, strong
from evalward.oracle.node import NodeOracle

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES: list[dict[str, str]] = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))
pytestmark = pytest.mark.skipif(NodeOracle.missing() is not None, reason=NodeOracle.missing() or "")


@pytest.fixture(scope="module")
def oracle() -> Iterator[NodeOracle]:
    with NodeOracle(deadline=5) as opened:
        yield opened


def test_there_are_many_cases() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 60


@pytest.mark.sampled(15)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_attack_is_denied_and_its_twin_is_not(oracle: NodeOracle, case: dict[str, str]) -> None:
    target = Target(case["target"])
    attack, twin = (emit(case[kind], target, Shape.ASYNC_BODY) for kind in ("attack", "twin"))
    assert attack.text is not None, attack.refused
    assert twin.text is not None, twin.refused

    attacked = oracle.run(attack.text, target, Shape.ASYNC_BODY)
    assert is_denied(attacked), attacked
    assert strong(attacked) == ()
    ordinary = oracle.run(twin.text, target, Shape.ASYNC_BODY)
    assert (ordinary.ending, strong(ordinary)) == ("completed", ()), ordinary
