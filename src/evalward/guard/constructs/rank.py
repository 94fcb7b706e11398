"""The order in which uses are reported: how much one use says about what a payload does."""

from __future__ import annotations

from enum import IntEnum


class Rank(IntEnum):
    """The kind of a use, the most telling first; findings are sorted by it.

    A construct has no fixed rank: calling ``eval`` is EXERCISED, returning it is ESCAPES.
    """

    EXERCISED = 0
    """The capability is called, constructed or written, or denied data is read."""
    UNRESOLVED_KEY = 1
    """A capability or sink is accessed by a key that cannot be resolved."""
    ESCAPES = 2
    """The capability leaves the payload as a value."""
    MAY_ESCAPE = 3
    """A value that may be the capability leaves the payload."""
    PAGE_LEFT = 4
    """The page is navigated, which matters only where policy switches ``navigation`` on."""

    @property
    def is_reached(self) -> bool:
        """Whether the payload itself uses the capability; otherwise only a value leaves the payload."""
        return self <= Rank.UNRESOLVED_KEY

    def lowered(self) -> Rank:
        """Return the next rank, for a use that is less telling than its kind."""
        return Rank(min(self + 1, Rank.PAGE_LEFT))
