"""The order in which uses are reported: how much one use says about what a payload does."""

from __future__ import annotations

from enum import IntEnum


class Rank(IntEnum):
    """The kind of a use, the most telling first; findings are sorted by it.

    A construct has no fixed rank: calling ``eval`` is USED, returning it is LEAVES.
    """

    USED = 0
    """The capability is called, constructed or written, or denied data is read."""
    BY_KEY = 1
    """A capability or sink is accessed by a key that cannot be resolved."""
    LEAVES = 2
    """The capability leaves the payload as a value."""
    MAY_LEAVE = 3
    """A value that may be the capability leaves the payload."""
    NAVIGATES = 4
    """The page is navigated, which matters only where policy switches ``navigation`` on."""

    @property
    def is_reached(self) -> bool:
        """Whether the payload itself uses the capability; otherwise only a value leaves the payload."""
        return self <= Rank.BY_KEY

    def lowered(self) -> Rank:
        """Return the next rank, for a use that is less telling than its kind."""
        return Rank(min(self + 1, Rank.NAVIGATES))
