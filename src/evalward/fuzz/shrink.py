"""Shrink a miss to the axis values that matter: every other value becomes the simplest of its axis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evalward.fuzz.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evalward.fuzz.plan import Plan


def shrink(plan: Plan, still: Callable[[Plan], bool]) -> Plan:
    """Return the simplest plan for which ``still`` holds, reached from ``plan`` one axis at a time.

    ``still`` is called for at most a few dozen plans; it holds for ``plan`` itself.
    """
    changed = True
    while changed:
        changed = False
        for simpler in _simpler(plan):
            if simpler.fits and still(simpler):
                plan, changed = simpler, True
                break
    return plan


def significant(plan: Plan) -> dict[str, str]:
    """Return the axis values that are not the simplest: the essence of a shrunk miss."""
    names = plan.names()
    return {
        axis: name
        for index, (axis, name) in enumerate(names.items())
        if index >= len(AXES) or plan.row[index] != 0
    }


def explains(shrunk: Plan, plan: Plan) -> bool:
    """Whether ``plan`` contains the distinctive values of ``shrunk``, so that it is the same miss."""
    whole = plan.names()
    values = {axis: {whole[axis], whole.get(f"second_{axis}", whole[axis])} for axis in AXES}
    return all(name in values[axis.removeprefix("second_")] for axis, name in significant(shrunk).items())


def _simpler(plan: Plan) -> Iterator[Plan]:
    """Yield plans one step simpler: drop the second layer, then replace one value, or two dependent ones."""
    if plan.second_carrier is not None:
        yield replace(plan, second_carrier=None)
        row = list(plan.row)
        row[AXES.index("carrier")] = plan.second_carrier
        yield replace(plan, row=tuple(row), second_carrier=None)
    if plan.second_gadget is not None:
        yield replace(plan, second_gadget=None)
        row = list(plan.row)
        row[AXES.index("gadget")] = plan.second_gadget
        yield replace(plan, row=tuple(row), second_gadget=None)
    busy = [axis for axis, value in enumerate(plan.row) if value != 0]
    for axis in busy:
        yield _plainest(plan, axis)
    # A stage or a use may depend on its `road`: alone, neither of the pair can be replaced.
    for axis in busy:
        for other in busy:
            if other > axis:
                yield _plainest(_plainest(plan, axis), other)


def _plainest(plan: Plan, axis: int) -> Plan:
    return replace(plan, row=(*plan.row[:axis], 0, *plan.row[axis + 1 :]))
