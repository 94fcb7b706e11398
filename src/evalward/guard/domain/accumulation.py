"""Accumulation: the fixpoint of a function that is given what it gave before (ECMA-262 §23.1.3.24, guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value
from evalward.guard.domain.values import join, widened

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACT_ROUNDS = 4  # texts and numbers that still grow after them become unknown ones


def reached(step: Callable[[Value], Value]) -> Value:
    """Return the join of all that a step gives when it is given, again and again, all that it gave.

    There are finitely many objects, and constants are widened after a few rounds, so it ends; a step spends the budget.
    """
    given: Value = BOTTOM
    rounds = 0
    while True:
        made = step(given)
        rounds += 1
        if rounds > _EXACT_ROUNDS and not made <= given:
            made = widened(made, force=True)
        if made <= given:
            return given
        given = join(given, made)
