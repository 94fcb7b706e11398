"""Operations on abstract values: joins, and the bounds that keep values finite (guard.md §2)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    ANY_HOST_OBJECT,
    ANY_NUMBER,
    ANY_STRING,
    BOTTOM,
    COMPOSED_CHARACTER,
    COMPOSED_STRING,
    DECODED_STRING,
    SPELLS_ANY_NAME,
    STRING_UNKNOWNS,
    TAINTED_CHARACTER,
    TAINTED_DATA,
    TAINTED_STRING,
    V_ANY_NUMBER,
    V_ANY_STRING,
    Atom,
    Host,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.decodable import are_letters, begins_evaluation, begins_name, is_accumulated
from evalward.guard.domain.script_urls import marks_of
from evalward.guard.markup import is_active, is_script_scheme

if TYPE_CHECKING:
    from collections.abc import Collection

NAMESPACES = frozenset({"Object", "Array", "Number", "Math"})  # every engine has their functions
REFLECTING = frozenset({"Object", "Reflect"})  # their functions read any object by any name
MAX_STRINGS = 24
MAX_NUMBERS = 24
MAX_OBJECTS = 48
MAX_HOSTS = 12
MAX_STRING_LENGTH = 16_384
# What constants leave behind is remembered for those of which there are few, and short ones.
_FEW = 4
_SHORT = 256

_DROPS_TEXTS = SPELLS_ANY_NAME | frozenset(
    {ANY_STRING, TAINTED_STRING, ACTIVE_MARKUP}
)  # these absorb string constants

_ABSORBING: Value = SPELLS_ANY_NAME | frozenset({ANY_HOST_OBJECT, ANY_STRING, TAINTED_STRING, ANY_NUMBER})


def string(text: str) -> Value:
    """Return the value of a string constant; one that is too long to track keeps what a sink would judge."""
    if len(text) <= MAX_STRING_LENGTH:
        return frozenset({text})
    return (
        of(ACTIVE_MARKUP) if is_active(text) else of(DECODED_STRING if is_script_scheme(text) else ANY_STRING)
    )


def join(left: Value, right: Value) -> Value:
    """Return the union; an unknown absorbs the constants of its type, and too many constants become one."""
    if left is right or right <= left:
        return left
    if left:
        joined = left | right
    elif len(right) == 1:
        return right
    else:
        joined = right
    if len(joined) > MAX_STRINGS or not _ABSORBING.isdisjoint(joined):
        return widened(joined)
    return joined


def widened(value: Value, *, force: bool = False) -> Value:
    """Replace the constants of a type by its unknown where that is present, they are too many, or always."""
    strings = [atom for atom in value if type(atom) is str]
    numbers: list[Atom] = []
    hosts: list[Atom] = []
    if force or len(value) > MAX_NUMBERS or ANY_NUMBER in value:
        numbers = [atom for atom in value if type(atom) is Primitive and atom.type == "number"]
    if len(value) > MAX_HOSTS or ANY_HOST_OBJECT in value:
        hosts = [atom for atom in value if type(atom) is Host]
    if strings and (force or len(strings) > MAX_STRINGS or not _DROPS_TEXTS.isdisjoint(value)):
        value = value.difference(strings)
        short = len(strings) <= _FEW and sum(map(len, strings)) <= _SHORT
        value |= _remembered_unknown_of(frozenset(strings)) if short else _unknown_of(strings)
        if not value & STRING_UNKNOWNS:
            value |= V_ANY_STRING
    if numbers and (force or len(numbers) > MAX_NUMBERS or ANY_NUMBER in value):
        value = value.difference(numbers) | V_ANY_NUMBER
    if len(hosts) > MAX_HOSTS or (len(hosts) > 1 and ANY_HOST_OBJECT in value):
        value = value.difference(hosts) | of(ANY_HOST_OBJECT)
    return value


def _unknown_of(strings: Collection[str]) -> Value:
    """Return what an unknown must say that takes the place of these constants."""
    made = of(ACTIVE_MARKUP) if any(is_active(text) for text in strings) else BOTTOM
    if begins_evaluation(strings) or is_accumulated(strings):
        made |= of(DECODED_STRING)
    elif begins_name(strings):
        made |= of(COMPOSED_STRING)
    elif are_letters(strings):
        made |= of(COMPOSED_CHARACTER)
    return made | marks_of(strings)


# An unknown absorbs the same few constants again and again.
_remembered_unknown_of = lru_cache(maxsize=128)(_unknown_of)


def counted(old: Value, new: Value) -> Value:
    """Return ``new`` with any number in it when it adds only numbers to those in ``old``."""
    added = new - old
    if added and all(type(atom) is Primitive and atom.type == "number" for atom in added):
        return frozenset(a for a in new if not (type(a) is Primitive and a.type == "number")) | V_ANY_NUMBER
    return new


def is_tainted(value: Value) -> bool:
    """Whether the value derives from ``arg``, JSON or the page."""
    return TAINTED_STRING in value or TAINTED_DATA in value or TAINTED_CHARACTER in value
