"""Arguments of built-in functions as the constants that they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.values import MAX_STRING_LENGTH

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine


_MAX_INDEX = 2**31 - 1


def constants(machine: Machine, value: Value, call: Call) -> list[str] | None:
    """Return the value's string constants, None when it is not all constants of the basic plane, and short enough."""
    made = machine.to_string(value, call.span)
    texts = [atom for atom in made if type(atom) is str]
    if (
        not made
        or len(texts) != len(made)
        or any(
            len(text) > MAX_STRING_LENGTH or (not text.isascii() and max(text) > "\uffff") for text in texts
        )
    ):
        return None
    return sorted(texts)


def integers(machine: Machine, value: Value, call: Call, default: int | None) -> list[int | None] | None:
    """Return an argument's integers; ``default`` stands for undefined; None when unknown."""
    found: list[int | None] = []
    for atom in value:
        if type(atom) is Primitive and atom.type == "undefined":
            found.append(default)
            continue
        for made in machine.to_number(of(atom), call.span):
            if type(made) is not Primitive:
                return None
            n = made.number
            if abs(n) > _MAX_INDEX:
                return None
            found.append(0 if n != n else int(n))  # noqa: PLR0124 - NaN
    return found or None
