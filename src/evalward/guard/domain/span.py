"""Positions in the wrapped source."""

from __future__ import annotations

from typing import Final, NamedTuple


class Span(NamedTuple):
    """A part of the wrapped source, in byte offsets; ``end`` is exclusive."""

    start: int
    end: int

    @classmethod
    def at(cls, start: int) -> Span:
        """Return the empty span at an offset."""
        return cls(start, start)


NOWHERE: Final = Span(-1, -1)
"""The span of values that do not occur in the source."""
