"""The runs of a payload and of its rewrite: the same is only said of two that do the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.guard.target import Shape, Target
from evalward.oracle import Engine, Oracles
from evalward.oracle.reach import ENGINES_OF
from evalward.oracle.rewrite_runs import Comparison, Place, compare_runs

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("rewrite_runs.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def oracles() -> Iterator[Oracles]:
    with Oracles(deadline=5) as opened:
        yield opened


def place_of(case: dict[str, Any]) -> Place:
    shape = Shape(case["shape"]) if "shape" in case else None
    return Place(Target(case["target"]), shape, case.get("sink"), {})


@pytest.mark.parametrize("case", CASES, ids=[f"{case['first']} / {case['second']}" for case in CASES])
def test_the_runs_show_what_the_programs_do(case: dict[str, Any], oracles: Oracles) -> None:
    place = place_of(case)
    engine = ENGINES_OF[place.target][0]
    if engine in oracles.absent:
        pytest.skip(oracles.absent[engine])

    found = compare_runs(oracles, case["first"].encode(), case["second"].encode(), place)

    assert found.comparison == case["shows"], found.detail
    assert case.get("detail", "") in found.detail
    assert found.engine is (None if found.comparison is Comparison.NOT_RUN else engine)


def test_a_target_whose_engine_is_not_installed_is_not_run() -> None:
    with Oracles() as oracles:
        oracles.absent = dict.fromkeys((Engine.NODE, Engine.CHROMIUM), "it is not installed")
        for target in (Target.MAIN, Target.NODE, Target.RENDERER):
            found = compare_runs(oracles, b"eval('1')", b"1", Place(target, Shape.EXPRESSION, None, {}))

            assert (found.comparison, found.engine) == (Comparison.NOT_RUN, None)
            assert found.detail == "it is not installed"


def test_a_payload_that_is_no_text_is_not_run() -> None:
    with Oracles() as oracles:
        found = compare_runs(oracles, b"\xff", b"1", Place(Target.SANDBOX, Shape.SCRIPT, None, {}))

    assert (found.comparison, found.detail) == (Comparison.NOT_RUN, "the payload is not UTF-8")
