"""The emitter takes over the tree of the guard: the program is the one that a parse of its own gives."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalward.corpus.corpus_case import load_cases
from evalward.guard import judge
from evalward.guard.harden import harden_payload
from evalward.guard.rules import Limits, Rules
from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from evalward.guard.syntax.program import ParsedProgram

CORPUS = Path(__file__).parents[3] / "corpus" / "benign"
RULES = Rules(allowed=True)
PREFIX = "Qz3hW8kLp0Tv"


@pytest.mark.parametrize("name", ["algorithms", "dom", "minified", "playwright"])
def test_the_program_is_the_same(name: str) -> None:
    for case in load_cases([CORPUS / f"{name}.yaml"]):
        readings: list[ParsedProgram] = []
        found = judge(
            case.payload, target=case.target, shape=case.shape, rules=RULES, sink=case.sink, readings=readings
        )
        if not found.allowed:
            continue
        assert readings
        hardened = partial(
            harden_payload, case.payload, target=case.target, shape=case.shape, sink=case.sink, prefix=PREFIX
        )
        assert hardened(readings=readings) == hardened()


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        (b"a = <!-- b", RULES),
        (b"a b", RULES),
        (b"((((1))))", Rules(allowed=True, limits=Limits(depth=3))),
        (b"1", Rules(allowed=False)),
    ],
)
def test_what_the_syntax_stage_rejects_is_no_reading(code: bytes, rules: Rules) -> None:
    readings: list[ParsedProgram] = []
    found = judge(code, target=Target.RENDERER, shape=Shape.SCRIPT, rules=rules, readings=readings)
    assert not found.allowed
    assert not readings
