"""Unknown strings: what remains known of them after concatenation and extraction."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    COMPOSED_CHARACTER,
    COMPOSED_STRING,
    DECODED_STRING,
    HARMLESS_STRING,
    PREFIXED_STRING,
    SCHEME_MARKS,
    SPELLS_ANY_NAME,
    TAINTED_CHARACTER,
    TAINTED_STRING,
    V_ANY_STRING,
    Value,
    of,
)
from evalward.guard.domain.decodable import begins_inherited, is_elsewhere, may_hold, may_spell
from evalward.guard.domain.encoded_markup import begins_address, hides_markup
from evalward.guard.domain.script_urls import marks_of_characters, scheme_marks
from evalward.guard.markup import begins_script_scheme, ends_in_handler, is_active

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPELT = SPELLS_ANY_NAME | {COMPOSED_CHARACTER, PREFIXED_STRING}
_PUT_TOGETHER = frozenset({COMPOSED_STRING, PREFIXED_STRING})
_BEGUN = frozenset({PREFIXED_STRING, HARMLESS_STRING})
_FOREIGN = V_ANY_STRING | {COMPOSED_STRING}
_PLAIN = _SPELT | {HARMLESS_STRING, *V_ANY_STRING}
_MAX_GLUED = 4_096
_PICKED = 2


def unresolved_text(pieces: Sequence[Value]) -> Value:
    """Return the concatenation of values that are not all known."""
    return _put_together(pieces) | scheme_marks(pieces) | _marks_of_picked(pieces)


def _marks_of_picked(pieces: Sequence[Value]) -> Value:
    """Return the marks of a scheme for a text that begins with characters which the payload picks out of others.

    Text of the page has every letter: a text of its letters spells what the payload likes. A text that is
    taken whole, or in parts of more than one character, does not.
    """
    begun = [piece - _EMPTY for piece in pieces if piece != _EMPTY][:2]
    picked = len(begun) == _PICKED and all(TAINTED_CHARACTER in piece for piece in begun)
    return SCHEME_MARKS if picked else BOTTOM


def _put_together(pieces: Sequence[Value]) -> Value:
    every = BOTTOM.union(*pieces)
    if ACTIVE_MARKUP in every or _is_active_together(pieces):
        return of(ACTIVE_MARKUP)
    if TAINTED_STRING in every or TAINTED_CHARACTER in every:
        if TAINTED_STRING not in every and sum(piece != _EMPTY for piece in pieces) == 1:
            return of(TAINTED_CHARACTER)
        return of(TAINTED_STRING, DECODED_STRING) if _is_own_within(pieces) else of(TAINTED_STRING)
    pieces = [piece for piece in pieces if piece != _EMPTY]
    if not pieces:
        return _EMPTY
    if len(pieces) == 1:
        return frozenset(a for a in pieces[0] if type(a) is str) | (pieces[0] & _PLAIN or V_ANY_STRING)
    decoded = sum(bool(piece & _SPELT) for piece in pieces)
    constants = [atom for piece in pieces for atom in piece if type(atom) is str]
    letters = sum(COMPOSED_CHARACTER in piece for piece in pieces)
    begun = any(COMPOSED_STRING in piece for piece in pieces)
    own = letters + begun > 1 or any(DECODED_STRING in piece for piece in pieces)
    lone = decoded == 1 and not own and all(piece.isdisjoint(_PUT_TOGETHER) for piece in pieces)
    spelt = (decoded and not lone) or may_spell(constants)
    if all(is_elsewhere(atom) if type(atom) is str else atom in _BEGUN for atom in pieces[0]):
        return of(PREFIXED_STRING if spelt or PREFIXED_STRING in pieces[0] else HARMLESS_STRING)
    if spelt:
        return of(DECODED_STRING if own else COMPOSED_STRING)
    return of(COMPOSED_CHARACTER) if lone and constants and all(map(str.isalpha, constants)) else V_ANY_STRING


_EMPTY = of("")


def _begins_script(head: Value) -> bool:
    """Whether a text begins like the scheme of a script; unknown text after it may complete it."""
    return any(type(text) is str and begins_script_scheme(text) for text in head)


def _is_own_within(pieces: Sequence[Value]) -> bool:
    """Whether the payload writes the beginning of a dangerous text in one that is partly the page's."""
    head = pieces[0]
    if _begins_script(head):
        return True
    if all(type(atom) is str and is_elsewhere(atom) for atom in head):
        return False
    return any(type(atom) is str and begins_inherited(atom) for piece in pieces for atom in piece)


def _is_active_together(pieces: Sequence[Value]) -> bool:
    """Whether constant pieces are active markup, each or concatenated: unknown text between them may be empty."""
    glued = ""
    decoded = not all(type(atom) is str and begins_address(atom) for atom in pieces[0])
    for piece in pieces:
        constants = [atom for atom in piece if type(atom) is str]
        if any(map(_is_active_part, constants)):
            return True
        if decoded and any(map(hides_markup, constants)):
            return True
        if len(constants) == 1 == len(piece):
            if len(glued) > _MAX_GLUED:  # a tag that is cut off is not as long
                if is_active(glued, cut_off=True):
                    return True
                glued = glued[-_MAX_GLUED:]
            glued += constants[0]
    return is_active(glued, cut_off=True)


@lru_cache(maxsize=256)  # each concatenation asks for its texts again
def _is_active_part(text: str) -> bool:
    return is_active(text, cut_off=True) or ends_in_handler(text)


def part_of(value: Value) -> Value:
    """Return an unknown part or variation of strings; it may spell the names that they may spell."""
    return _spelling_of(value) | (value & SCHEME_MARKS)


def _spelling_of(value: Value) -> Value:
    if TAINTED_STRING in value or TAINTED_CHARACTER in value:
        return of(TAINTED_STRING)
    if ACTIVE_MARKUP in value:
        return of(ACTIVE_MARKUP)
    if DECODED_STRING in value:
        return of(DECODED_STRING)
    if value & _PUT_TOGETHER:
        return of(COMPOSED_STRING)
    if COMPOSED_CHARACTER in value:
        return of(COMPOSED_CHARACTER)
    constants = [atom for atom in value if type(atom) is str]
    if may_hold(constants):
        return of(DECODED_STRING)
    return of(COMPOSED_CHARACTER) if constants else V_ANY_STRING


def character_of(value: Value) -> Value:
    """Return one unknown character of strings: the payload's own, unless they come from outside."""
    if TAINTED_STRING in value or TAINTED_CHARACTER in value:
        return of(TAINTED_CHARACTER) | (value & SCHEME_MARKS)
    own = any(type(atom) is str or atom in _SPELT for atom in value)
    marks = (value & SCHEME_MARKS) | marks_of_characters(atom for atom in value if type(atom) is str)
    return (of(COMPOSED_CHARACTER) if own else V_ANY_STRING) | marks


def decoding_of(value: Value) -> Value:
    """Return the result of decoding an unknown string."""
    marks = value & SCHEME_MARKS
    if TAINTED_STRING in value:
        return of(TAINTED_STRING) | marks
    return of(COMPOSED_STRING if value - marks <= _FOREIGN else DECODED_STRING) | marks
