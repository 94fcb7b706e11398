"""Names that a payload may spell with text that it composes or decodes (guard.md §2, host objects and sinks).

The names are those that make a write or a call through an unresolved key dangerous on an ordinary object or on a
host's. Only prefixes matter here: a text with another known prefix spells none of them.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from evalward.guard.catalogue import load_catalogue
from evalward.guard.catalogue.any_receiver import EVALUATING, JUDGING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTED = """
    __proto__ __definegetter__ __definesetter__ __lookupgetter__ __lookupsetter__ prototype constructor
    preparestacktrace innerhtml outerhtml srcdoc insertadjacenthtml createcontextualfragment parsehtmlunsafe
    sethtmlunsafe contentwindow contentdocument defaultview write writeln script iframe settimeout
    setinterval setattribute evaluate evaluatehandle evaluateall evaluateonnewdocument $eval $$eval
    waitforfunction addinitscript addscripttag setcontent newcdpsession exposefunction executejavascript
    executescript webcontents debugger eval function process require module exit kill abort binding
    globalthis javascript: vbscript: data:text/html onerror onload onclick onfocus onmouseover href src
    action protocol
"""
_NAMES = tuple(_LISTED.split())  # in lower case
_MIN_BEGINNING = 2
# A set lookup is faster than comparisons with each name: one text in ten is tested.
_BEGINNINGS = frozenset(
    name[:end]
    for name in _NAMES
    if not name.startswith("data:")
    for end in range(_MIN_BEGINNING, len(name) + 1)
)
_CUT_SHORT = frozenset(
    name[:end] for name in _NAMES if not name.startswith("data:") for end in range(_MIN_BEGINNING, len(name))
)
_LENGTHS = tuple(sorted({len(name) for name in _NAMES}))
_ALL_NAMES = frozenset(_NAMES)
_MIN_LETTERS = 3
_MAX_PIECE = 2
_MIN_GROWN = 6
_MIN_INHERITED = 4  # `__pr`, `cons`, `prot`
_MIN_EVALUATION = 6  # `evalua`, `execut`, `insert`: shorter prefixes identify no name


def is_elsewhere(prefix: str) -> bool:
    """Whether a text with this beginning certainly spells none of the names, nor one that objects inherit."""
    start = prefix.lower().lstrip("\0\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f ")
    return bool(start) and start not in _led_to() and not any(start[:end] in _ALL_NAMES for end in _LENGTHS)


@cache
def _led_to() -> frozenset[str]:
    """Return every beginning of the names, of those that objects inherit (functions), and of what is denied."""
    catalogue = load_catalogue()
    names = {*_NAMES, *EVALUATING, *JUDGING}
    names.update(name for name in catalogue.entries["Object"].members if name.startswith(("define", "set")))
    for path, entry in catalogue.entries.items():
        names.update(name for name, kind in entry.sinks.items() if kind != "text")
        if path.endswith(".prototype"):
            names.update(entry.members)
        else:
            names.update(name for name, member in entry.members.items() if member.label is not None)
    return frozenset(name[:end].lower() for name in names for end in range(1, len(name) + 1))


def begins_name(texts: Iterable[str]) -> bool:
    """Whether one of the texts is a name or the beginning of one."""
    return any(text.lower() in _BEGINNINGS for text in texts)


def begins_inherited(text: str) -> bool:
    """Whether the text is the beginning of a name that leads from any object to what all objects share."""
    return len(text) >= _MIN_INHERITED and any(
        name.startswith(text) for name in ("__proto__", "constructor", "prototype")
    )


def begins_evaluation(texts: Iterable[str]) -> bool:
    """Whether one of the texts is a method that runs text, or most of its name."""
    return any(len(text) >= _MIN_EVALUATION and text.lower() in _evaluating() for text in texts)


@cache
def _evaluating() -> frozenset[str]:
    """Return every prefix of those names that is long enough to identify one."""
    names = {name.lower() for name in (*EVALUATING, *JUDGING)}
    return frozenset(name[:end] for name in names for end in range(_MIN_EVALUATION, len(name) + 1))


def may_spell(pieces: Iterable[str]) -> bool:
    """Whether pieces that are concatenated look like parts of a name: one is its prefix, or they are letters."""
    found = list(pieces)
    if any(piece.lower() in _CUT_SHORT for piece in found):
        return True
    small = [piece for piece in found if len(piece) <= _MAX_PIECE]
    return _letters(small) >= (_MIN_LETTERS if len(small) == len(found) else _MIN_GROWN)


def is_accumulated(texts: Iterable[str]) -> bool:
    """Whether the texts look like a word that grows by one or two letters at a time, at either end."""
    ordered = sorted(texts, key=len)
    steps = sum(
        0 < len(longer) - len(shorter) <= _MAX_PIECE
        and (longer.startswith(shorter) or longer.endswith(shorter))
        for shorter, longer in pairwise(ordered)
    )
    return (steps >= _MIN_LETTERS or _is_grown(frozenset(ordered))) and _letters(ordered) >= _MIN_LETTERS


def _is_grown(texts: frozenset[str]) -> bool:
    """Whether the texts are letters, and strings that grow by one letter at the start or the end."""
    letters = frozenset(text for text in texts if len(text) == 1)
    if len(letters) < _MIN_LETTERS:
        return False
    longer = [text for text in texts if len(text) > 1]
    rests = Counter(text[1:] for text in longer), Counter(text[:-1] for text in longer)
    grown = sum(
        text[:-1] in texts
        or text[1:] in texts
        or rests[0][text[1:]] >= _MIN_LETTERS
        or rests[1][text[:-1]] >= _MIN_LETTERS
        for text in longer
    )
    return grown >= _MIN_GROWN


def are_letters(texts: Iterable[str]) -> bool:
    """Whether the texts are single letters, of which a payload may compose names."""
    found = list(texts)
    return max(map(len, found), default=0) == 1 and _letters(found) >= _MIN_LETTERS


def _letters(texts: Iterable[str]) -> int:
    return len({character for text in texts for character in text.lower() if character.isalpha()})


def may_leave(texts: Iterable[str]) -> bool:
    """Whether one of the texts becomes a name when letters are removed from it."""
    return any(_leaves(text.lower(), name) for text in texts for name in _NAMES)


def _leaves(text: str, name: str) -> bool:
    at = -1
    for letter in name:
        at = text.find(letter, at + 1)
        if at < 0:
            return False
    return True


def may_hold(texts: Iterable[str]) -> bool:
    """Whether one of the texts contains a name, so that a part of it may be that name."""
    return any(name in lowered for lowered in map(str.lower, texts) for name in _NAMES)
