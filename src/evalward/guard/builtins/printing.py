"""``console.dir(value, options)`` of Node: what it prints goes through functions among the options (``util.inspect``).

``sorted`` is given the text of each entry, ``stylize`` that of each value, with the objects in print in its ``this``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import (
    BOTTOM,
    PRIMITIVE_UNKNOWNS,
    V_ANY_STRING,
    V_UNDEFINED,
    V_UNKNOWN,
    Primitive,
    Value,
)
from evalward.guard.domain.flow import Flow

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_GIVEN_TEXTS: Final = ("sorted", "stylize")


def _dir(machine: Machine, call: Call) -> Value:
    """Judge what is printed as handed over to the functions that format it."""
    options = _objects(call.arg(1)) if call.args[1:] or call.rest else BOTTOM
    formatting: Value = BOTTOM
    for name in _GIVEN_TEXTS if options and not machine.in_page else ():
        formatting |= _objects(machine.get(options, name, call.span))
    if formatting:
        machine.use(formatting, Flow.CALLBACK, call.span)
        machine.leak(call.arg(0) | formatting, Flow.ARGUMENT, call.span)
        machine.call(formatting, V_UNKNOWN, (V_ANY_STRING, V_ANY_STRING), call.span)
    return V_UNDEFINED


def _objects(value: Value) -> Value:
    """Return the atoms of a value that may be objects or functions."""
    return frozenset(
        atom
        for atom in value
        if type(atom) is not str and type(atom) is not Primitive and atom not in PRIMITIVE_UNKNOWNS
    )


TRANSFER: dict[str, Transfer] = {"console.dir": _dir}
