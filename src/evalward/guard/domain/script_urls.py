"""Unknown texts that may be a `javascript:` URL which the payload writes in part (guard.md §3).

``localName + 'avascript:…'`` is a script's URL for one value of the unknown part. A text keeps no order of its parts,
so two atoms mark the unknown: ``SCHEME_LETTERS`` where the payload wrote letters of the scheme, and
``SCHEME_COLON`` where it wrote the colon that may end it. Only a sink of URLs judges them, and only both together: an
unknown part that may be a whole scheme (``host + ':' + port``) is judged as the unknown alone.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import (
    BOTTOM,
    HARMLESS_STRING,
    PREFIXED_STRING,
    SCHEME_COLON,
    SCHEME_LETTERS,
    SCHEME_MARKS,
    Value,
    of,
)
from evalward.guard.domain.encoded_markup import BEGINS_WITH_ASCII, decodings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.domain.atoms import Atom

_SCHEME: Final = "javascript"
_CHARACTERS: Final[Value] = frozenset(f"{_SCHEME}:")
# A URL parser drops white space and control characters before a scheme or inside of one.
_DROPPED: Final = re.compile(r"[\x00-\x20]+")
_BEGINS_LIKE_PART: Final = re.compile(r"[\x00-\x20]*(?:[javscript:%]|\Z)", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_MIN_LETTERS: Final = 4
_BASE64_START: Final = 64
_END: Final = len(_SCHEME) + 1
_ANY_PLACE: Final = frozenset(range(_END))
_DECIDED: Final = frozenset({PREFIXED_STRING, HARMLESS_STRING})


def may_be_script_url(value: Value) -> bool:
    """Whether an unknown text in ``value`` is a `javascript:` URL for some value of its unknown parts."""
    return value >= SCHEME_MARKS


def marks_of(texts: Iterable[str]) -> Value:
    """Return the marks of an unknown text that may be any of ``texts``, if together they compose the scheme."""
    marks = BOTTOM.union(*(scheme_marks((of(text),)) for text in texts))
    return marks if may_be_script_url(marks) else BOTTOM


def marks_of_characters(texts: Iterable[str]) -> Value:
    """Return the marks of an unknown character of texts: one by one they may compose the scheme."""
    return SCHEME_MARKS if _CHARACTERS.issubset("".join(texts).lower()) else BOTTOM


def characters_of_scheme(value: Value) -> Value:
    """Return the characters of the scheme and its colon that stand alone in ``value``."""
    return value & _CHARACTERS


def are_whole_scheme(characters: Value) -> bool:
    """Whether characters suffice to compose the scheme and its colon."""
    return characters >= _CHARACTERS


def scheme_marks(pieces: Sequence[Value]) -> Value:
    """Return the marks of a concatenation: what of the scheme `javascript:` the payload writes in it.

    Places are offsets in the scheme that the text may have reached, those in ``own`` with letters of the payload. An
    unknown piece may lead from a place to any later one; the text itself may follow another, and begin at any place.
    """
    if not any(_bears_on(atom) for piece in pieces for atom in piece):
        return BOTTOM
    places, own = _ANY_PLACE, frozenset[int]()
    marks: Value = BOTTOM
    for index, piece in enumerate(pieces):
        reached, reached_own = set[int](), set[int]()
        for atom in piece:
            if type(atom) is str:
                part = _part(atom)
                if part is None:
                    continue
                if part.encoded:
                    return SCHEME_MARKS
                after = part.follow(places)
                after_own = part.follow(own) | (after if part.letters else frozenset())
                if part.colon:
                    if after or after_own:
                        marks |= of(SCHEME_COLON, *([SCHEME_LETTERS] if after_own else []))
                else:
                    reached |= after
                    reached_own |= after_own
            elif not (index == 0 and atom in _DECIDED):
                after = frozenset(range(min(places, default=_END), _END))
                after_own = frozenset(range(min(own, default=_END), _END))
                if atom is SCHEME_LETTERS:
                    after_own |= after
                elif atom is SCHEME_COLON:
                    marks |= of(SCHEME_COLON, *([SCHEME_LETTERS] if own or SCHEME_LETTERS in piece else []))
                reached |= after
                reached_own |= after_own
        places, own = frozenset(reached), frozenset(reached_own)
        if SCHEME_COLON in marks or not places | own:
            return marks
    return of(SCHEME_LETTERS) if own else BOTTOM


@dataclass(frozen=True, slots=True)
class _Part:
    """A known text that may stand in the scheme: its letters, whether the colon follows, whether it is base64."""

    letters: str
    colon: bool
    encoded: bool = False

    def follow(self, places: frozenset[int]) -> frozenset[int]:
        """Return the places after this text where it continues the scheme at ``places``."""
        end = len(self.letters)
        return frozenset(
            place + end
            for place in places
            if _SCHEME.startswith(self.letters, place) and (not self.colon or place + end == len(_SCHEME))
        )


def _bears_on(atom: Atom) -> bool:
    """Whether an atom writes some of the scheme: where none does, no text of the parts is marked."""
    if type(atom) is not str:
        return atom in SCHEME_MARKS
    part = _part(atom)
    return part is not None and (part.colon or bool(part.letters))


@lru_cache(maxsize=256)  # each concatenation asks for its texts again
def _part(text: str) -> _Part | None:
    """Return a known text as a part of the scheme, None for one that is none."""
    if _is_encoded(text):
        return _Part("", colon=True, encoded=True)
    if _BEGINS_LIKE_PART.match(text) is None:
        return None
    letters, colon, _ = _DROPPED.sub("", urllib.parse.unquote(text)).lower().partition(":")
    return _Part(letters, colon=bool(colon)) if letters in _SCHEME else None


def _is_encoded(text: str) -> bool:
    """Whether a text is a part of a script's URL in base64: the payload decodes it together with the unknown part."""
    return _BASE64.match(text) is not None and any(
        map(_is_part, decodings(text[:_BASE64_START], BEGINS_WITH_ASCII))
    )


def _is_part(decoded: str) -> bool:
    """Whether decoded text is a script's URL, the end of its scheme and more, or nothing but letters of it."""
    plain = _DROPPED.sub("", decoded).lower()
    letters, colon, _ = plain.partition(":")
    if colon:
        return bool(letters) and _SCHEME.endswith(letters)
    return len(plain) >= _MIN_LETTERS and plain in _SCHEME
