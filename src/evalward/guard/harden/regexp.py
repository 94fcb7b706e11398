"""Regular expression literals: parsed by ECMA-262 §22.2.1 and Annex B.1.2, and printed again in ASCII.

A pattern that ECMA-262 rejects, or that is not understood, is refused with a reason. Groups that capture keep their
order and escapes keep their spelling where that is unambiguous, so that ``source`` stays what it was in most cases.
Modifiers and names that occur in several alternatives are those of ECMA-262 2025; an engine without them rejects both
programs alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from evalward.guard.harden.class_text import character_class, property_escape
from evalward.guard.harden.pattern_text import InvalidRegExpError, PatternText

__all__ = ["InvalidRegExpError", "regexp_text"]

_FLAGS: Final = frozenset("dgimsuvy")
_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_BRACED_QUANTIFIER: Final = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_MODIFIERS: Final = re.compile(r"\(\?([ims]*)(-[ims]*)?:")
_DECIMAL: Final = re.compile(r"[1-9][0-9]*")
_ASTRAL_CHARACTER: Final = re.compile("[\U00010000-\U0010ffff]")
# V8 takes 32,767 groups; deeper nesting than this exhausts the stacks of engines.
_MOST_GROUPS: Final = 10_000
_DEEPEST: Final = 500
_COUNT_DIGITS: Final = 15


@dataclass(slots=True)
class _Group:
    """An open group: what it is, and which of its alternatives is being read."""

    repeats: bool  # a quantifier may follow it
    number: int
    alternative: int = 0


@dataclass(slots=True)
class _Reading:
    """What a pattern's groups and references are."""

    open: list[_Group] = field(default_factory=list)
    opened: int = 0
    names: dict[str, list[tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    references: list[tuple[str, int]] = field(default_factory=list)


def regexp_text(source: str) -> str:
    """Return the ASCII text of a regular expression literal; raise InvalidRegExpError."""
    close = source.rfind("/")
    if close <= 1 or source[0] != "/":
        raise InvalidRegExpError("the literal has no pattern between slashes", 0)
    pattern, flags = source[1:close], source[close + 1 :]
    if _LINE_END.search(pattern):
        raise InvalidRegExpError("the pattern has a line break", 0)
    if pattern[0] == "*":
        raise InvalidRegExpError("the literal is a comment", 0)
    return f"/{pattern_text(pattern, flags)}/{flags}"


def pattern_text(pattern: str, flags: str) -> str:
    """Return the ASCII text of a pattern under ``flags``; raise InvalidRegExpError."""
    if not set(flags) <= _FLAGS or len(set(flags)) != len(flags) or {"u", "v"} <= set(flags):
        raise InvalidRegExpError("the flags are not valid", 0)
    unicode = "u" in flags or "v" in flags
    if not unicode:
        pattern = _ASTRAL_CHARACTER.sub(_code_units, pattern)
    named, groups = _count_groups(pattern, sets="v" in flags)
    if groups > _MOST_GROUPS:
        raise InvalidRegExpError("the pattern has too many groups", 0)
    text = PatternText(pattern, unicode, "v" in flags, named, groups)
    reading = _Reading(open=[_Group(repeats=False, number=0)])
    while text.at < len(pattern):
        _term(text, reading)
    if len(reading.open) > 1:
        raise text.error("a group is not closed")
    for name, position in reading.references:
        if name not in reading.names:
            raise InvalidRegExpError("a reference names no group", position)
    return "".join(text.out)


def _code_units(match: re.Match[str]) -> str:
    point = ord(match[0]) - 0x10000
    return chr(0xD800 | point >> 10) + chr(0xDC00 | point & 0x3FF)


def _count_groups(pattern: str, *, sets: bool) -> tuple[bool, int]:
    """Return whether there is a named group, and how many groups capture."""
    at = groups = depth = 0
    named = False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "[":
            depth = depth + 1 if sets or not depth else depth
        elif char == "]":
            depth = max(0, depth - 1)
        elif char == "(" and not depth:
            if not pattern.startswith("?", at + 1):
                groups += 1
            elif pattern.startswith("?<", at + 1) and pattern[at + 3 : at + 4] not in {"=", "!", ""}:
                groups += 1
                named = True
        at += 1
    return named, groups


# One return per kind of term.
def _term(text: PatternText, reading: _Reading) -> None:  # noqa: C901
    """Read one term with its quantifier, or what separates terms."""
    char = text.peek()
    repeats = True
    if char == "|":
        text.keep(text.at + 1)
        reading.open[-1].alternative += 1
        return
    if char == "(":
        _open(text, reading)
        return
    if char == ")":
        if len(reading.open) == 1:
            raise text.error("a bracket closes no group")
        text.keep(text.at + 1)
        repeats = reading.open.pop().repeats
    elif char in {"^", "$"}:
        text.keep(text.at + 1)
        repeats = False
    elif char == ".":
        text.keep(text.at + 1)
    elif char == "\\":
        repeats = _escape(text, reading)
    elif char == "[":
        character_class(text)
    elif char in {"*", "+", "?"} or (char == "{" and _BRACED_QUANTIFIER.match(text.text, text.at)):
        raise text.error("there is nothing to repeat")
    elif char in {"{", "}", "]"} and text.unicode:
        raise text.error("a bracket without its other half, which the flags u and v do not allow")
    else:
        text.literal()
    if repeats:
        _quantifier(text)


def _quantifier(text: PatternText) -> None:
    match = _QUANTIFIER.match(text.text, text.at)
    if not match:
        return
    if match[3]:
        low, high = match[1].lstrip("0"), match[3].lstrip("0")
        if (len(low), low) > (len(high), high):
            raise text.error("a quantifier's bounds are out of order")
    if max(len(match[1] or ""), len(match[3] or "")) > _COUNT_DIGITS:
        raise text.error("a quantifier's bound is too large")
    text.keep(match.end())


def _open(text: PatternText, reading: _Reading) -> None:
    """Read the beginning of a group."""
    if len(reading.open) > _DEEPEST:
        raise text.error("groups nest too deeply")
    reading.opened += 1
    group = _Group(repeats=True, number=reading.opened)
    source, at = text.text, text.at
    if not source.startswith("(?", at):
        text.keep(at + 1)
    elif source.startswith(("(?=", "(?!"), at):
        text.keep(at + 3)
        group.repeats = not text.unicode
    elif source.startswith(("(?<=", "(?<!"), at):
        text.keep(at + 4)
        group.repeats = False
    elif source.startswith("(?<", at):
        text.keep(at + 2)
        _name(text, reading)
    elif modifiers := _MODIFIERS.match(source, at):
        added, removed = modifiers[1], (modifiers[2] or "")[1:]
        if len(set(added + removed)) != len(added + removed) or (modifiers[2] == "-" and not added):
            raise text.error("a group's modifiers are not valid")
        text.keep(modifiers.end())
    else:
        raise text.error("a group of an unknown kind")
    reading.open.append(group)


def _name(text: PatternText, reading: _Reading) -> None:
    """Read the name of a group; two that may both match must not share it (§22.2.1.1)."""
    name = text.group_name()
    place = tuple((group.number, group.alternative) for group in reading.open)
    others = reading.names.setdefault(name, [])
    for other in others:
        if not _are_alternatives(place, other):
            raise text.error("two groups have the same name")
    others.append(place)


def _are_alternatives(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    for mine, theirs in zip(one, other, strict=False):
        if mine[0] != theirs[0]:
            return False
        if mine[1] != theirs[1]:
            return True
    return False


def _escape(text: PatternText, reading: _Reading) -> bool:
    """Read an escape outside of a class; return whether a quantifier may follow it."""
    char = text.peek(1)
    if char in {"b", "B"}:
        text.keep(text.at + 2)
        return False
    if char and char in "dDsSwW":
        text.keep(text.at + 2)
        return True
    if text.unicode and char in {"p", "P"}:
        property_escape(text)
        return True
    if char == "k" and (text.unicode or text.named):
        start = text.at
        text.keep(text.at + 2)
        reading.references.append((text.group_name(), start))
        return True
    reference = _DECIMAL.match(text.text, text.at + 1)
    if reference and len(reference[0]) <= len(str(text.groups)) and int(reference[0]) <= text.groups:
        text.keep(reference.end())
        return True
    text.character_escape(in_class=False)
    return True
