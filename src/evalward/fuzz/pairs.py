"""Pairwise coverage: rows that together contain every compatible pair of values of two axes.

Greedy, one row at a time; sets of values are bit masks, so that a hundred values cost one integer operation.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evalward.fuzz.axes import Value

Row = tuple[int, ...]


class Pairs:
    """The pairs of values not covered yet. ``total`` counts the compatible pairs, ``impossible`` the others."""

    def __init__(self, axes: Sequence[Sequence[Value]]) -> None:
        self._count = len(axes)
        self.fitting = [[_fitting(value, axes) for value in axis] for axis in axes]
        self._open = [[list(masks) for masks in axis] for axis in self.fitting]
        for i, axis in enumerate(self._open):
            for masks in axis:
                masks[i] = 0
        self._left = {
            (i, j): sum(masks[j].bit_count() for masks in self._open[i])
            for i, j in combinations(range(self._count), 2)
        }
        self.total = sum(self._left.values())
        self.impossible = sum(len(axes[i]) * len(axes[j]) for i, j in self._left) - self.total

    @property
    def covered(self) -> int:
        """How many pairs have been covered."""
        return self.total - sum(self._left.values())

    def cover(self, row: Row) -> None:
        """Count the pairs of ``row`` as covered."""
        for i, j in self._left:
            a, b = row[i], row[j]
            if self._open[i][a][j] >> b & 1:
                self._open[i][a][j] &= ~(1 << b)
                self._open[j][b][i] &= ~(1 << a)
                self._left[i, j] -= 1

    def rows(self, rng: random.Random) -> Iterator[Row]:
        """Yield rows that cover every open pair, those that cover most first."""
        while any(self._left.values()):
            row = self._next(rng)
            self.cover(row)
            yield row

    def complete(self, chosen: dict[int, int], rng: random.Random) -> Row:
        """Return a row with ``chosen`` (axis to value) and the values that cover most open pairs.

        Raises ValueError when no value of some axis is compatible.
        """
        left = [axis for axis in range(self._count) if axis not in chosen]
        # The axes with the fewest fitting values first: they leave the least choice.
        left.sort(key=lambda axis: self._allowed(axis, chosen).bit_count())
        for axis in left:
            allowed = self._allowed(axis, chosen)
            if not allowed:
                raise ValueError("no value of an axis fits the others")
            chosen[axis] = _pick(self._best(axis, chosen, allowed), rng)
        return tuple(chosen[axis] for axis in range(self._count))

    def _next(self, rng: random.Random) -> Row:
        i, j = max(self._left, key=lambda pair: self._left[pair])
        first = _pick(sum(1 << a for a, masks in enumerate(self._open[i]) if masks[j]), rng)
        return self.complete({i: first, j: _pick(self._open[i][first][j], rng)}, rng)

    def _allowed(self, axis: int, chosen: dict[int, int]) -> int:
        allowed = -1
        for other, value in chosen.items():
            allowed &= self.fitting[other][value][axis]
        return allowed if chosen else (1 << len(self.fitting[axis])) - 1

    def _best(self, axis: int, chosen: dict[int, int], allowed: int) -> int:
        """Return the values of ``allowed`` that close the most open pairs: ``levels[n]`` close n or more."""
        levels = [allowed]
        for other, value in chosen.items():
            gain = self._open[other][value][axis]
            levels.append(0)
            for n in range(len(levels) - 2, -1, -1):
                levels[n + 1] |= levels[n] & gain
        return next(level for level in reversed(levels) if level)


def random_row(pairs: Pairs, rng: random.Random) -> Row:
    """Return a row of compatible values; the axes are chosen in random order."""
    while True:
        chosen: dict[int, int] = {}
        axes = list(range(len(pairs.fitting)))
        rng.shuffle(axes)
        for axis in axes:
            allowed = (1 << len(pairs.fitting[axis])) - 1
            for other, value in chosen.items():
                allowed &= pairs.fitting[other][value][axis]
            if not allowed:
                break
            chosen[axis] = _pick(allowed, rng)
        else:
            return tuple(chosen[axis] for axis in range(len(pairs.fitting)))


def _fitting(value: Value, axes: Sequence[Sequence[Value]]) -> list[int]:
    return [sum(1 << b for b, other in enumerate(axis) if value.fits(other)) for axis in axes]


def _pick(mask: int, rng: random.Random) -> int:
    """Return the index of one set bit of ``mask``, which is not zero, at random."""
    for _ in range(rng.randrange(mask.bit_count())):
        mask &= mask - 1
    return (mask & -mask).bit_length() - 1
