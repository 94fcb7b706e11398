"""``Symbol``: symbols by their description (ECMA-262 §20.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    UNDEFINED,
    V_UNDEFINED,
    Value,
    of,
    symbol,
)
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _symbol(machine: Machine, call: Call) -> Value:
    given = call.arg(0)
    text = machine.to_string(given - V_UNDEFINED, call.span) | ({""} if UNDEFINED in given else BOTTOM)
    names = [atom for atom in text if type(atom) is str]
    return frozenset(symbol(f" {name}") for name in names) if len(names) == len(text) else of(symbol(" any"))


def _symbol_text(machine: Machine, call: Call) -> Value:
    text = machine.get(call.this, "description", call.span)
    return machine.concatenated((of("Symbol("), text, of(")")))


TRANSFER: dict[str, Transfer] = {
    "Symbol": _symbol,
    "Symbol.for": _symbol,
    "Symbol.keyFor": lambda machine, call: join(
        machine.get(call.arg(0), "description", call.span), V_UNDEFINED
    ),
    "Symbol.prototype.toString": _symbol_text,
}
