"""This repository's own corpus: well-formed, with twins, and judged as each case expects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalward.corpus.corpus_case import Case, Expectation, load_cases
from evalward.corpus.regression import run_cases
from evalward.guard.constructs.labels import is_known_label
from evalward.guard.target import Profile, Target
from evalward.policy import Policy

if TYPE_CHECKING:
    from evalward.guard.rules import Rules

CORPUS = Path(__file__).parents[2] / "corpus"
FILES = sorted(CORPUS.rglob("*.yaml")) + sorted(CORPUS.rglob("*.jsonl"))
CASES = load_cases([CORPUS])
ESCAPES = [case for case in CASES if case.expected(Profile.BALANCED) is Expectation.BLOCK]
BENIGN = [case for case in CASES if case.expected(Profile.BALANCED) is Expectation.ALLOW]


def test_it_is_as_large_as_promised() -> None:
    assert (len(ESCAPES) >= 150, len(BENIGN) >= 150) == (True, True)


def test_every_construct_is_a_label_of_the_catalogue() -> None:
    unknown = {label for case in CASES for label in case.constructs if not is_known_label(label)}

    assert unknown == set()


def test_every_escape_says_what_it_is_about() -> None:
    silent = [case.id for case in ESCAPES if not (case.constructs and case.reaches and case.source)]

    assert silent == []


def test_every_twin_is_a_benign_case() -> None:
    benign = {case.id for case in BENIGN}

    assert [case.id for case in CASES if case.twin is not None and case.twin not in benign] == []


def test_every_escape_stands_beside_a_benign_twin() -> None:
    assert [case.id for case in ESCAPES if case.twin is None] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CORPUS)))
@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
def test_every_case_is_answered_as_it_expects(file: Path, profile: Profile) -> None:
    policy = Policy.default().allowing(Target).with_profile(profile)

    def rules_for(case: Case) -> Rules:
        return policy.rules_for(case.target, bindings=case.bindings)

    report = run_cases(load_cases([file]), profile=profile, rules_for=rules_for)

    wrong = [*report.missed, *report.wrong_construct]
    if (
        profile is Profile.BALANCED
    ):  # strict may block benign payloads that have not said so; the claim is <= 10 %
        wrong += report.wrongly_blocked
    assert [(outcome.case.id, outcome.verdict.code, outcome.verdict.construct) for outcome in wrong] == []
