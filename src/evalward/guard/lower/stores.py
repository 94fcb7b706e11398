"""Where a payload writes its variables: what a check or a listed key rests on until something is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.lower.drafts import UnitDraft


@dataclass(frozen=True, slots=True)
class Stores:
    """All writes of a lowered payload.

    ``by_register`` gives for each variable the units that store it and where in their code; ``aliased`` are the
    parameters of units that use ``arguments``: ``arguments[0] = …`` writes them.
    """

    by_register: dict[int, list[tuple[UnitDraft, int]]]
    aliased: set[int]

    def of(self, register: int) -> list[tuple[UnitDraft, int]]:
        """Return the units that store a variable, and where in their code."""
        return self.by_register.get(register, [])


def stores_in(units: Iterable[UnitDraft]) -> Stores:
    """Return the stores of units whose names are resolved."""
    by_register: dict[int, list[tuple[UnitDraft, int]]] = {}
    aliased: set[int] = set()
    for unit in units:
        if unit.uses_arguments:
            aliased.update(unit.parameters)
        for index, instruction in enumerate(unit.code):
            if instruction[0] is Op.STORE:
                by_register.setdefault(instruction[2].register, []).append((unit, index))
    return Stores(by_register, aliased)
