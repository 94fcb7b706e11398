"""What the resolver takes for a constant is what an engine computes: a wrong constant is a way around the guard."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from folded import THROWS, admits, fold, run

from evalward.guard.domain.atoms import Primitive
from evalward.sandbox import Sandbox

DATA: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "folding.yaml").read_text())
AT_ONCE = 40
MAX_DEPTH = 3
WRAPPED = 0.3


class Composer:
    """Puts expressions together; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def expression(self, depth: int = 0) -> str:
        pick = self._random.choice
        if depth < MAX_DEPTH and self._random.random() < WRAPPED:
            return str(pick(DATA["around"])).replace("X", self.expression(depth + 1))
        template = str(pick(DATA["templates"]))
        for name in DATA["pools"]:
            template = template.replace(f"<{name}>", str(pick(self._pool(name))))
        return template.replace("<arguments>", self._arguments(3))

    @staticmethod
    def _pool(name: str) -> list[str]:
        return [item for part in DATA["pools"][name] for item in DATA[part]]

    def _arguments(self, most: int) -> str:
        count = self._random.randint(0, most)
        return ",".join(self._random.choice(self._pool("argument")) for _ in range(count))


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox()


def wrong(sandbox: Sandbox, expressions: list[str]) -> tuple[int, dict[str, Any]]:
    """Return how many values are constants, and what is folded to something that it is not."""
    constant, found = 0, dict[str, Any]()
    for first in range(0, len(expressions), AT_ONCE):
        some = expressions[first : first + AT_ONCE]
        for text, value, actual in zip(some, fold(some), run(sandbox, some), strict=True):
            if actual == THROWS:
                continue
            constant += all(type(atom) in {str, Primitive} for atom in value)
            if not admits(value, actual):
                found[text] = (value, actual)
    return constant, found


def test_what_was_folded_wrongly_once_is_right(sandbox: Sandbox) -> None:
    assert wrong(sandbox, DATA["found"])[1] == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_a_folded_value_is_what_an_engine_gives(sandbox: Sandbox, seed: int) -> None:
    composer = Composer(seed)
    expressions = list(dict.fromkeys(composer.expression() for _ in range(400)))

    constant, found = wrong(sandbox, expressions)

    assert found == {}
    assert constant > 100
