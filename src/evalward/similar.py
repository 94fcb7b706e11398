"""Suggestions for an unknown name: a construct, a target, a command, a setting, a key."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST: Final = 3
_ALIKE: Final = 0.6
_LONGEST: Final = 128
"""Characters of a name that are compared: the comparison takes quadratic time."""


def similar_names(name: str, known: Iterable[str], *, alike: float = _ALIKE) -> list[str]:
    """Return at most ``MOST`` names of ``known`` that ``name`` may be a misspelling of, the likeliest first.

    ``alike`` is the least similarity, from 0 to 1 (``difflib.SequenceMatcher.ratio``).
    """
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(_folded(each), each)
    found = difflib.get_close_matches(_folded(name[:_LONGEST]), folded, n=MOST, cutoff=alike)
    return [folded[each] for each in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown ``name``: "" or "; did you mean X?"."""
    names = similar_names(name, known)
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-").strip()
