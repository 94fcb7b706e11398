"""Stripped TypeScript is the program that its compiler makes, and nothing else is judged."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from compiler import compiled, needed, outline

from evalward.guard.typescript.strip import NotStripped, strip_types

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8")
)
LIMIT = 64 * 1024


def stripped(text: str) -> str | NotStripped:
    found = strip_types(text.encode(), limit_bytes=LIMIT)
    return found if isinstance(found, NotStripped) else found.decode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_types_become_spaces_or_the_text_is_refused(case: dict[str, Any]) -> None:
    found = stripped(case["typescript"])

    if "refused" in case:
        assert isinstance(found, NotStripped)
        assert case["refused"] in found.why
        assert 0 <= found.start <= found.end <= len(case["typescript"].encode())
    else:
        assert found == case["javascript"]
        assert len(case["javascript"].encode()) == len(case["typescript"].encode())


@needed
def test_the_compiler_makes_the_same_programs() -> None:
    texts = [f"async () => {{ {case['typescript']}\n}}" for case in CASES if "javascript" in case]

    differ = [
        (text, made)
        for text, made in zip(texts, compiled(texts), strict=True)
        if made is None or outline(str(stripped(text))) != outline(made)
    ]

    assert differ == []


PIECES: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parent / "pieces.yaml").read_text(encoding="utf-8")
)


def program(seed: int) -> str:
    pick = random.Random(seed)

    def filled(text: str) -> str:
        text = re.sub(r"\bM\b", lambda _: filled(pick.choice(PIECES["members"])) + pick.choice(";\n\n"), text)
        return re.sub("@", lambda _: pick.choice(PIECES["expressions"]), text)

    parts = [filled(pick.choice(PIECES["statements"])) for _ in range(pick.randint(1, 4))]
    return "".join(part + pick.choice("\n\n ;") for part in parts)


@needed
@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 3))])
def test_random_texts_are_refused_or_what_the_compiler_makes(block: int) -> None:
    texts = [f"async () => {{\n{program(seed)}\n}}" for seed in range(block * 5_000, (block + 1) * 5_000)]
    judged = [(text, found) for text in texts if not isinstance(found := stripped(text), NotStripped)]

    made = compiled([text for text, _ in judged])

    differ = [
        (text, found, runs)
        for (text, found), runs in zip(judged, made, strict=True)
        if runs is not None and outline(found) != outline(runs)
    ]
    assert differ == []
    assert sum(runs is not None for runs in made) > 500
