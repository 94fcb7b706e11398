"""Compose ordinary programs: the same seed and number give the same text, and it always ends."""

from __future__ import annotations

import random
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_HOLE: Final = re.compile(r"@([a-z])\b")
_NAMES: Final = frozenset("xyz")
_HEAD: Final = "const out = []; const log = (...a) => { out.push(a.length === 1 ? a[0] : a); };"
_MAX_DEPTH: Final = 5
_SIMPLEST: Final = {"n": "4", "p": "", "s": "'z'", "a": "[5]", "i": "[6]", "o": "{ a: 7 }", "f": "(() => 8)"}
_SHADOWS: Final = 0.15
_STRICT: Final = 0.3


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A program and the shape in which it runs; it completes with what it logged."""

    text: str
    shape: Shape


@cache
def pieces() -> dict[str, list[str]]:
    """Return the pieces by what they are for."""
    text = files("evalward.fuzz.ordinary").joinpath("pieces.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def compose(seed: int, number: int) -> Ordinary:
    """Return program ``number`` of ``seed``."""
    rng = random.Random(f"ordinary:{seed}:{number}")  # noqa: S311 - not a secret
    shape = rng.choice((Shape.SCRIPT, Shape.SCRIPT, Shape.ASYNC_BODY, Shape.FUNCTION, Shape.EXPRESSION))
    strict = "'use strict'; " if rng.random() < _STRICT else ""
    composer = _Composer(rng, can_await=shape is Shape.ASYNC_BODY)
    caught = "catch (e) { log(e instanceof Error ? e.name : typeof e); }"
    body = "\n".join(f"try {{ {composer.block(3)} }} {caught}" for _ in range(rng.randint(2, 5)))
    match shape:
        case Shape.SCRIPT:
            return Ordinary(f"{strict}{_HEAD}\n{body}\nout", shape)
        case Shape.ASYNC_BODY:
            return Ordinary(f"{strict}{_HEAD}\n{body}\nreturn out;", shape)
        case Shape.FUNCTION:
            return Ordinary(f"function (given) {{ {strict}{_HEAD}\n{body}\nreturn out; }}", shape)
        case _:
            return Ordinary(f"(() => {{ {strict}{_HEAD}\n{body}\nreturn out; }})()", shape)


@dataclass(slots=True)
class _Composer:
    _rng: random.Random
    can_await: bool
    _visible: list[str] = field(default_factory=lambda: ["out.length"])
    _fresh: int = 0

    def block(self, most: int, depth: int = 0) -> str:
        """Return up to ``most`` statements in a scope of their own."""
        before = len(self._visible)
        lines = [self._statement(depth) for _ in range(self._rng.randint(1, most))]
        del self._visible[before:]
        return " ".join(lines)

    def _statement(self, depth: int) -> str:
        known = pieces()
        if self.can_await and not depth and self._rng.random() < 0.3:  # noqa: PLR2004 - a share
            return "{ " + self._filled(self._rng.choice(known["asynchronous"]), depth, []) + " }"
        if self._rng.random() < 0.4:  # noqa: PLR2004 - a share
            declared: list[str] = []
            text = self._filled(self._rng.choice(known["declarations"]), depth, declared, shadows=False)
            self._visible += declared
            return text
        # A block keeps what a statement declares for itself; a var would leave it, and meet a let of its name.
        piece = self._rng.choice(known["statements"])
        return "{ " + self._filled(piece, depth, [], shadows="var " not in piece) + " }"

    def _filled(self, piece: str, depth: int, names: list[str], *, shadows: bool = True) -> str:
        given: dict[str, str] = {}

        def hole(match: re.Match[str]) -> str:
            kind = match[1]
            if kind in _NAMES:
                if kind not in given:
                    given[kind] = self._name(taken=given.values(), shadows=shadows)
                    names.append(given[kind])
                return given[kind]
            return self._hole(kind, depth, names)

        return _HOLE.sub(hole, piece)

    def _hole(self, kind: str, depth: int, names: list[str]) -> str:
        if kind == "d":
            return self._rng.choice(self._visible)
        if kind == "b":
            return self._nested(names, lambda: self.block(2, depth + 1)) if depth < _MAX_DEPTH - 2 else ""
        if depth >= _MAX_DEPTH:
            return {
                "n": "4",
                "p": "",
                "s": "'z'",
                "a": "[5]",
                "i": "[6]",
                "o": "{ a: 7 }",
                "f": "(() => 8)",
            }.get(kind, "9")
        chosen = self._rng.choice(pieces()[kind])
        filled = self._filled(chosen, depth + 1, [])
        # An object literal at the start of a statement or of an arrow's body would be a block.
        return f"({filled})" if kind in {"o", "e", "n"} else filled

    def _nested(self, names: list[str], inner: Callable[[], str]) -> str:
        before = len(self._visible)
        self._visible += names
        text = inner()
        del self._visible[before:]
        return text

    def _name(self, *, taken: Collection[str], shadows: bool) -> str:
        free = [name for name in self._visible[1:] if name not in taken]
        if shadows and free and self._rng.random() < _SHADOWS:
            return self._rng.choice(free)
        self._fresh += 1
        return f"v{self._fresh}"
