"""The plan of the program with an index: a pure function of (seed, index) and the axes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.fuzz.axes import AXES, load_axes
from evalward.fuzz.pairs import Pairs, random_row

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECOND_LAYER: Final = 0.5
"""The share of random programs that chain a second carrier, and of those that mix two gadgets."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The axis values of one program, as indices in the order of AXES.

    ``second_carrier`` carries what the first has carried; ``second_gadget`` spells every other key.
    """

    row: tuple[int, ...]
    benign: bool = False
    second_carrier: int | None = None
    second_gadget: int | None = None

    def names(self) -> dict[str, str]:
        """Return the name of each axis value, second layer included."""
        axes = load_axes(benign=self.benign)
        named = {axis: values[i].name for axis, values, i in zip(AXES, axes.all(), self.row, strict=True)}
        if self.second_carrier is not None:
            named["second_carrier"] = axes.carrier[self.second_carrier].name
        if self.second_gadget is not None:
            named["second_gadget"] = axes.gadget[self.second_gadget].name
        return named

    @property
    def fits(self) -> bool:
        """Whether all its values are compatible."""
        axes = load_axes(benign=self.benign)
        values = [axis[i] for axis, i in zip(axes.all(), self.row, strict=True)]
        if self.second_carrier is not None:
            values.append(axes.carrier[self.second_carrier])
        if self.second_gadget is not None:
            values.append(axes.gadget[self.second_gadget])
        return all(a.fits(b) for i, a in enumerate(values) for b in values[:i])


class Plans:
    """The endless sequence of plans of one seed; the first ``covering`` of them cover every pair."""

    def __init__(self, seed: int, *, benign: bool = False) -> None:
        self._seed, self._benign = seed, benign
        axes = load_axes(benign=benign).all()
        self.pairs = Pairs(axes)
        self._rows = tuple(self.pairs.rows(random.Random(f"{seed}:pairs:{benign}")))  # noqa: S311 - not a secret

    @property
    def covering(self) -> int:
        """How many programs cover the pairs."""
        return len(self._rows)

    def __getitem__(self, index: int) -> Plan:
        """Return the plan with ``index``, 0 or more."""
        if index < len(self._rows):
            return Plan(self._rows[index], self._benign)
        rng = random.Random(f"{self._seed}:{index}:{self._benign}")  # noqa: S311 - not a secret
        axes = load_axes(benign=self._benign)
        while True:
            row = random_row(self.pairs, rng)
            plan = Plan(
                row,
                self._benign,
                rng.randrange(len(axes.carrier)) if rng.random() < _SECOND_LAYER else None,
                rng.randrange(len(axes.gadget)) if rng.random() < _SECOND_LAYER else None,
            )
            if plan.fits:
                return plan

    def first(self, count: int) -> Iterator[Plan]:
        """Yield the first ``count`` plans."""
        return (self[index] for index in range(count))

    def pairs_in_first(self, count: int) -> int:
        """Return how many pairs the first ``count`` programs cover."""
        if count >= len(self._rows):
            return self.pairs.total
        fresh = Pairs(load_axes(benign=self._benign).all())
        for row in self._rows[:count]:
            fresh.cover(row)
        return fresh.covered
