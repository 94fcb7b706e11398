"""The source around a finding, for callers that ask for it (seed 001). It goes into replies and never into a log."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.verdict import Location

AROUND_ONE = 7
"""Lines before and after a single finding: 15 in all, if the payload has them."""
AROUND_EACH = 3
"""Lines before and after each of several."""
MAX_PLACES = 5
MAX_WIDTH = 400
"""Characters of a line that are quoted: a minified payload is one line."""

# ECMA-262 §12.3, as in locations.
_TERMINATOR = re.compile(r"\r\n|[\n\r\u2028\u2029]")


def source_context(payload: bytes, places: Sequence[Location], *, unlisted: int = 0) -> dict[str, object]:
    """Return the raw lines around ``places``, one per finding, without line numbers; empty when there is no place.

    One place gives ``{snippet}``; several give ``{snippets: [{line, column, snippet}], omitted}`` for the first
    ``MAX_PLACES`` of them. ``omitted`` is the number of findings without a snippet, including the ``unlisted``
    findings that are not in ``places``.
    """
    distinct = {(place.line, place.column): place for place in places}
    if not distinct:
        return {}
    lines = _TERMINATOR.split(payload.decode("utf-8", "replace"))
    if len(distinct) == 1 and not unlisted:
        return {"snippet": _snippet(lines, places[0], AROUND_ONE, whole=True)}
    quoted = dict(islice(distinct.items(), MAX_PLACES))
    return {
        "snippets": [
            {"line": place.line, "column": place.column, "snippet": _snippet(lines, place, AROUND_EACH)}
            for place in quoted.values()
        ],
        "omitted": unlisted + sum((place.line, place.column) not in quoted for place in places),
    }


def _snippet(lines: Sequence[str], place: Location, around: int, *, whole: bool = False) -> str:
    """Quote the lines around ``place``; ``whole``: if one side is short, more of the other."""
    size = 2 * around + 1
    first = max(0, place.line - 1 - around)
    if whole:
        first = max(0, min(first, len(lines) - size))
    last = first + size if whole else place.line + around
    return "\n".join(
        _cut(line, place.column if at == place.line - 1 else 1)
        for at, line in enumerate(lines[first:last], first)
    )


def _cut(line: str, column: int) -> str:
    if len(line) <= MAX_WIDTH:
        return line
    start = min(max(0, column - MAX_WIDTH // 2), len(line) - MAX_WIDTH)
    return line[start : start + MAX_WIDTH]
