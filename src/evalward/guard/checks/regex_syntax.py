"""The pattern of a regular expression as a position automaton (Glushkov), for ``backtracking`` (ECMA-262 §22.2.1).

A position is one occurrence of a character or class in the pattern, a *mask* the set of characters that it matches:
one bit for each ASCII character, one for all others. Anchors, lookarounds and back references are positions that
match no character, so that a part behind a loop that may fail stays visible. A bounded repetition of fewer than
``_MANY`` counts as finite; an exact count is read once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ASCII = 128
_OTHERS = 1 << _ASCII
_EVERYTHING = (_OTHERS << 1) - 1
_MANY = 16
_STEPS_PER_TOKEN = 8  # reading one costs about what eight edges cost
# Every run is bounded, so that a pattern full of unclosed openings is not scanned once for each.
_COUNT = re.compile(r"\{(\d{1,1000})(?:(,)(\d{0,1000}))?\}")
_GROUP = re.compile(r"\(\?(?:(?P<look><?[=!])|<[^>]{0,200}>|[a-z-]{0,20}:)")
_CODE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\})")
_REFERENCE = re.compile(r"\\(?:[1-9]\d*|k<[^>]{0,200}>|[bB])")
_PROPERTY = re.compile(r"\\[pP]\{[^}]{0,200}\}")
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f", "0": "\0"}


class TooComplexError(Exception):
    """The pattern costs more than the analysis may spend."""


def _mask(characters: str) -> int:
    return sum(1 << ord(char) for char in set(characters))


_DIGITS = _mask("0123456789")
_LETTERS = _mask("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORDS = _DIGITS | _LETTERS | _mask("_")
_SPACES = _mask("\t\n\v\f\r ") | _OTHERS
_CLASSES = {
    "d": _DIGITS,
    "D": _EVERYTHING ^ _DIGITS,
    "w": _WORDS,
    "W": _EVERYTHING ^ _WORDS,
    "s": _SPACES,
    "S": _EVERYTHING ^ _SPACES | _OTHERS,
}
_ANY = _EVERYTHING ^ _mask("\n\r")


@dataclass(slots=True)
class Automaton:
    """``masks`` by position; ``edges[p][q]`` counts the ways from ``p`` to ``q``; ``loops`` repeat without bound."""

    budget: int
    masks: list[int] = field(default_factory=list)
    edges: list[dict[int, int]] = field(default_factory=list)
    loops: set[tuple[int, int]] = field(default_factory=set)
    last: frozenset[int] = frozenset()

    def spend(self, steps: int) -> None:
        """Count work; raise TooComplexError past the budget."""
        self.budget -= steps
        if self.budget < 0:
            raise TooComplexError

    def position(self, mask: int) -> _Part:
        """Add a position that matches one character of ``mask``."""
        self.spend(1)
        self.masks.append(mask)
        self.edges.append({})
        here = frozenset({len(self.masks) - 1})
        return _Part(here, here, nullable=False)

    def join(self, left: frozenset[int], right: frozenset[int]) -> None:
        """Add one way from every position of ``left`` to every one of ``right``."""
        self.spend(len(left) * len(right))
        for source in left:
            ways = self.edges[source]
            for aim in right:
                ways[aim] = ways.get(aim, 0) + 1

    def follow(self, left: _Part, right: _Part) -> _Part:
        """Return the sequence of two parts."""
        self.join(left.last, right.first)
        self.spend(len(left.last) + len(right.first))
        return _Part(
            left.first | right.first if left.nullable else left.first,
            left.last | right.last if right.nullable else right.last,
            nullable=left.nullable and right.nullable,
        )

    def repeat(self, part: _Part, low: int, high: int | None) -> _Part:
        """Return a part that is repeated; ``high`` None is without bound."""
        if high not in {low, 1}:
            self.join(part.last, part.first)
            if high is None or high >= _MANY:
                self.loops.update((source, aim) for source in part.last for aim in part.first)
        return _Part(part.first, part.last, nullable=part.nullable or low == 0)


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the pattern: where it may begin and end, and whether it may be empty."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nullable: bool = True


@dataclass(slots=True)
class _Group:
    """An open group: finished alternatives, the sequence being read, the part to quantify next."""

    look: bool = False
    done: list[_Part] = field(default_factory=list)
    sequence: _Part = field(default_factory=_Part)
    atom: _Part | None = None


def automaton(pattern: str, flags: str, *, budget: int) -> Automaton:
    """Return the automaton of ``pattern``; raise TooComplexError past ``budget`` steps.

    How an invalid pattern is read does not matter, because an engine rejects it.
    """
    made = Automaton(budget)
    groups = [_Group()]
    place = 0
    while place < len(pattern):
        place = _read(pattern, place, flags, made, groups)
    while len(groups) > 1:
        _close(made, groups)
    made.last = _alternatives(made, groups[0]).last
    return made


def _read(pattern: str, place: int, flags: str, made: Automaton, groups: list[_Group]) -> int:
    """Read one token; return where the next one begins."""
    made.spend(_STEPS_PER_TOKEN)
    group, char = groups[-1], pattern[place]
    if char in "*+?" or (char == "{" and _COUNT.match(pattern, place)):
        return _quantify(pattern, place, made, group)
    if char == ")":
        if len(groups) > 1:
            _close(made, groups)
        return place + 1
    if char == "|":
        _shift(made, group)
        group.done.append(group.sequence)
        group.sequence = _Part()
        return place + 1
    _shift(made, group)
    if char == "(":
        opened = _GROUP.match(pattern, place)
        groups.append(_Group(look=bool(opened and opened["look"])))
        return opened.end() if opened else place + 1
    mask, end = _atom(pattern, place, flags)
    group.atom = made.position(mask)
    return end


def _quantify(pattern: str, place: int, made: Automaton, group: _Group) -> int:
    count = _COUNT.match(pattern, place)
    if count:
        low = int(count[1])
        high = low if count[2] is None else int(count[3]) if count[3] else None
        end = count.end()
    else:
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[pattern[place]]
        end = place + 1
    if group.atom is not None:
        group.sequence = made.follow(group.sequence, made.repeat(group.atom, low, high))
        group.atom = None
    return end + 1 if pattern[end : end + 1] == "?" else end


def _shift(made: Automaton, group: _Group) -> None:
    if group.atom is not None:
        group.sequence = made.follow(group.sequence, group.atom)
        group.atom = None


def _alternatives(made: Automaton, group: _Group) -> _Part:
    _shift(made, group)
    parts = [*group.done, group.sequence]
    made.spend(sum(len(part.first) + len(part.last) for part in parts))
    return _Part(
        frozenset().union(*(part.first for part in parts)),
        frozenset().union(*(part.last for part in parts)),
        nullable=any(part.nullable for part in parts),
    )


def _close(made: Automaton, groups: list[_Group]) -> None:
    closed = groups.pop()
    part = _alternatives(made, closed)
    groups[-1].atom = made.position(0) if closed.look else part


def _atom(pattern: str, place: int, flags: str) -> tuple[int, int]:
    """Return the mask of one character, class or assertion, and where it ends."""
    char = pattern[place]
    if char in "^$":
        return 0, place + 1
    if char == ".":
        return (_EVERYTHING if "s" in flags else _ANY), place + 1
    if char == "[":
        mask, end = _class(pattern, place, flags)
    elif reference := _REFERENCE.match(pattern, place):
        return 0, reference.end()
    else:
        mask, _, end = _character(pattern, place)
    return (_both_cases(mask) if "i" in flags else mask), end


def _class(pattern: str, place: int, flags: str) -> tuple[int, int]:
    """Return the mask of a bracketed class; nested classes of the flag ``v`` count as everything."""
    end = place + 1
    negated = pattern.startswith("^", end)
    end += negated
    mask, previous = 0, -1
    while end < len(pattern) and pattern[end] != "]":
        if "v" in flags and pattern[end] == "[":
            mask, end = _EVERYTHING, pattern.find("]", end) + 1 or len(pattern)
            continue
        if pattern[end] == "-" and previous >= 0 and pattern[end + 1 : end + 2] not in ("]", ""):
            _, code, end = _character(pattern, end + 1)
            mask |= _span(previous, code)
            previous = -1
            continue
        one, previous, end = _character(pattern, end)
        mask |= one
    return (_EVERYTHING ^ mask | _OTHERS if negated else mask), end + 1


def _character(pattern: str, place: int) -> tuple[int, int, int]:
    """Return the mask of a character or escape, its code point (-1: a class), and where it ends."""
    if pattern[place] != "\\":
        return _one(ord(pattern[place])), ord(pattern[place]), place + 1
    if code := _CODE.match(pattern, place):
        point = int(code[1] or code[2] or code[3], 16)
        return _one(point), point, code.end()
    if named := _PROPERTY.match(pattern, place):
        return _WORDS | _OTHERS, -1, named.end()
    char = pattern[place + 1 : place + 2]
    if char in _CLASSES:
        return _CLASSES[char], -1, place + 2
    point = ord(_NAMED.get(char, char) or "\\")
    return _one(point), point, place + 2


def _one(point: int) -> int:
    return 1 << point if point < _ASCII else _OTHERS


def _span(low: int, high: int) -> int:
    mask = _OTHERS if high >= _ASCII else 0
    top = min(high, _ASCII - 1)
    return mask | ((1 << (top + 1)) - (1 << low) if low <= top else 0)


def _both_cases(mask: int) -> int:
    letters = mask & _LETTERS
    return mask | (letters << 32 | letters >> 32) & _LETTERS
