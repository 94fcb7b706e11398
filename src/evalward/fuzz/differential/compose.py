"""Compose texts around ambiguities of JavaScript's grammar: the same seed and number give the same text."""

from __future__ import annotations

import random
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

_PROBE: Final = re.compile(r"\bP\b")
_WORD: Final = re.compile(r"[\w$]\Z")
_CUT: Final = re.compile(r"\w+|\s|[^\w\s]")
MAX_PROBES: Final = 12
_MAX_LENGTH: Final = 400


@cache
def pieces() -> dict[str, list[str]]:
    """Return the pieces by the name of their list."""
    text = files("evalward.fuzz.differential").joinpath("pieces.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def compose(seed: int, number: int) -> str:
    """Return text ``number`` of ``seed``; every probe in it has its own name, ``P0`` to ``P11``."""
    rng = random.Random(f"{seed}:{number}")  # noqa: S311 - not a secret
    known = pieces()
    text = ""
    while not _PROBE.search(text):
        parts = [rng.choice(known["heads"])] if rng.random() < 0.75 else []  # noqa: PLR2004 - a share
        parts += [_part(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 2, 3)))]
        if rng.random() < 0.75:  # noqa: PLR2004
            parts.append(rng.choice(known["hides"]))
        parts += [_part(rng) for _ in range(rng.choice((0, 0, 0, 0, 0, 1)))]
        text = _joined(rng, parts)
        for _ in range(rng.choice((0, 0, 1, 1, 1, 2))):
            text = rng.choice(known["frames"]).replace("@", text, 1)
        if rng.random() < 0.15:  # noqa: PLR2004
            text = _mutated(rng, text)
        text = text[:_MAX_LENGTH]
    return numbered(text)


def numbered(text: str) -> str:
    """Return ``text`` with numbered probes; all further ones share the last name."""
    count = 0

    def name(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"P{min(count, MAX_PROBES) - 1}"

    return _PROBE.sub(name, text)


def _part(rng: random.Random) -> str:
    known = pieces()
    kind = rng.choices(("tokens", "heads", "hides"), (6, 2, 1))[0]
    return rng.choice(known[kind])


def _joined(rng: random.Random, parts: list[str]) -> str:
    text = ""
    for part in parts:
        gap = "".join(rng.choice(pieces()["gaps"]) for _ in range(rng.choice((1, 1, 1, 2))))
        if not gap and _WORD.search(text) and (part[:1].isalnum() or part[:1] in "_$\\"):
            gap = " "
        text += (gap if text else "") + part
    return text


def _mutated(rng: random.Random, text: str) -> str:
    """Return ``text`` with a few of its words or characters dropped, doubled, moved or replaced."""
    cut = _CUT.findall(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not cut:
            break
        place = rng.randrange(len(cut))
        match rng.randrange(5):
            case 0:
                del cut[place]
            case 1:
                cut.insert(place, cut[place])
            case 2:
                cut.insert(place, rng.choice(pieces()["tokens"]))
            case 3:
                cut.insert(place, rng.choice(pieces()["gaps"]))
            case _:
                other = rng.randrange(len(cut))
                cut[place], cut[other] = cut[other], cut[place]
    return "".join(cut)
