"""The runs of a payload and of its rewrite: the same is only said of two that do the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.corpus.corpus_case import load_cases
from evalward.guard.repair import judge_repaired, rewritten
from evalward.guard.target import Shape, Target
from evalward.oracle import Engine, Oracles
from evalward.oracle.reach import ENGINES_OF
from evalward.oracle.rewrite_runs import Comparison, Place, compare_runs
from evalward.policy import Policy

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("rewrite_runs.yaml").read_text("utf-8"))
TESTS = Path(__file__).parents[1]
CORPUS = TESTS.parent / "corpus"
POLICY = Policy.default().allowing(list(Target))


@pytest.fixture(scope="module")
def oracles() -> Iterator[Oracles]:
    with Oracles(deadline=30) as opened:
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


def rewritten_payloads() -> Iterator[tuple[str, bytes, bytes, Place]]:
    """Yield every rewrite that the guard offers for the corpus and for the cases of the rewrites and repairs."""
    cases = [
        (each.id, each.payload, each.target, each.shape, each.sink, each.bindings)
        for each in load_cases([CORPUS])
    ]
    for path, member in (("guard/repair/rewrites.yaml", "from"), ("data/repair/tasks.yaml", "first")):
        for each in yaml.safe_load(TESTS.joinpath(path).read_text("utf-8")):
            code = each[member]
            cases.append((code, code.encode(), Target(each["target"]), Shape(each["shape"]), None, {}))
    for name, payload, target, shape, sink, bindings in cases:
        verdict = judge_repaired(
            payload, target=target, shape=shape, rules=POLICY.rules_for(target, bindings=bindings), sink=sink
        )
        if verdict.rewrites:
            yield name, payload, rewritten(payload, verdict.rewrites), Place(target, shape, sink, bindings)


@pytest.mark.lasts(60)
@pytest.mark.exhaustive
@pytest.mark.skipif(bool(Oracles().absent), reason="an engine is not installed")
def test_no_rewrite_that_the_guard_offers_does_something_else(oracles: Oracles) -> None:
    shown = {
        name: compare_runs(oracles, payload, other, place)
        for name, payload, other, place in rewritten_payloads()
    }

    different = {name: each.detail for name, each in shown.items() if each.comparison is Comparison.DIFFERENT}
    assert different == {}
    same = sum(each.comparison is Comparison.SAME for each in shown.values())
    assert same / len(shown) >= 0.85


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
