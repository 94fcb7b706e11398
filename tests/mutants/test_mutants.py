"""Escapes rewritten by six public tools are still caught, and their benign twins still allowed (guard.md §5)."""

from __future__ import annotations

import json

import pytest
from mutation import HERE, MINIFIERS, MUTATORS, TOOLS, answers_to, code_of, escapes, missing, mutate, twins

from evalward.corpus.corpus_case import Expectation
from evalward.guard.target import Profile, Shape, Target

OPEN = frozenset(
    line
    for line in (HERE / "open.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)

needs_tools = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.mark.exhaustive
def test_the_chosen_escapes_are_many_and_of_every_kind() -> None:
    chosen = escapes()

    assert len(chosen) >= 90
    assert len({case.technique for case in chosen}) >= 80
    assert {case.target for case in chosen} == set(Target)
    assert {case.expect for case in chosen} == {Expectation.BLOCK}
    assert {case.shape for case in chosen} <= {None, Shape.SCRIPT}


def test_the_lock_file_pins_what_the_package_names() -> None:
    package = json.loads((MUTATORS / "package.json").read_text(encoding="utf-8"))
    lock = (MUTATORS / "package-lock.json").read_text(encoding="utf-8")
    locked = json.loads(lock)["packages"]

    assert set(package["dependencies"]) == set(TOOLS)
    for name, version in package["dependencies"].items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert '"resolved"' not in lock


@needs_tools
@pytest.mark.lasts(90)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_live_mutant_is_caught_but_for_those_listed(tool: str) -> None:
    answers = answers_to(tool)
    expected = {line for line in OPEN if line.split()[2] == tool}
    found = set(answers.open())

    # Chromium may be absent; all other mutants must be proven to work.
    assert {mutant.case.target for mutant in answers.unproven} <= {Target.RENDERER}
    assert len({mutant.case.id for mutant in answers.live + answers.unproven}) >= 40
    assert len(answers.broken) + answers.refused <= 0.1 * len(answers.live + answers.unproven)
    assert sorted(found - expected) == [], "not caught, and not in open.txt"
    live = {mutant.name for mutant in answers.live}
    gone = {line for line in expected - found if line.split(" ", 2)[2] in live and line.startswith("missed")}
    assert sorted(gone) == [], "caught by now: take these lines out of open.txt"


@needs_tools
@pytest.mark.sampled(6)
@pytest.mark.parametrize("tool", MINIFIERS)
def test_a_minified_twin_stays_allowed(tool: str) -> None:
    mutants, _ = mutate(tool, twins())

    # ES5 output includes helper functions that set prototypes.
    blocked = [m.name for m in mutants if m.configuration != "es5" and code_of(m, Profile.BALANCED)]

    assert len(mutants) > len(twins())
    assert blocked == []
