"""Array methods that change their receiver: added values join its elements, and its order becomes unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.arrays import elements, make
from evalward.guard.domain.atoms import BOTTOM, V_ANY_NUMBER, V_UNDEFINED, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine, Transfer


def _sorted(machine: Machine, call: Call) -> Value:
    joined = elements(machine, call.this, call)
    if call.args:
        machine.use(call.arg(0), Flow.CALLBACK, call.span)
        order = machine.call(call.arg(0), V_UNDEFINED, (joined, joined), call.span)
        machine.use_conversions(order, call.span)
    if call.path.endswith("toSorted"):
        return make(machine, call, None, joined)
    mutate(machine, call.this, BOTTOM, call.span)
    return call.this


def mutate(machine: Machine, value: Value, added: Value, span: Span) -> None:
    """Note that an array's order or contents change."""
    pending, seen = list(value), set(value)
    while pending:
        atom = pending.pop()
        machine.change(atom, span)
        if isinstance(atom, HeapObject):
            machine.inexact(atom)
            pending.extend(atom.proxied() - seen)
            seen |= atom.proxied()
            if atom.kind not in {"array", "arguments"}:  # an array-like: indices are properties
                machine.extend(atom)
                machine.put_element(atom, join(atom.everything(), machine.get_element(atom, span.start)))
            if atom.kind == "object":
                machine.put(atom, "length", V_ANY_NUMBER)
                machine.doubt(atom, tuple(atom.properties))  # an element may have moved away
            if atom.kind == "arguments":  # each parameter may now hold the value of another
                machine.put_element(atom, atom.contents())
            if added:
                machine.put_element(atom, added)
        elif added:
            machine.leak(added, Flow.PROPERTY, span)


def _push(machine: Machine, call: Call) -> Value:
    for atom in call.this:
        if isinstance(atom, HeapObject) and atom.escaped:
            machine.leak(call.all(), Flow.RETURN, call.span)
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            machine.set_computed(of(atom), V_ANY_NUMBER, call.all(), call.span)
    mutate(machine, call.this, call.all(), call.span)
    return V_ANY_NUMBER


def _take(machine: Machine, call: Call) -> Value:
    """``pop`` and ``shift``."""
    joined = elements(machine, call.this, call)
    items = machine.items_of(call.this)
    if items is not None and items and not call.path.endswith("shift"):
        joined = join(items[-1], joined)
    mutate(machine, call.this, BOTTOM, call.span)
    return join(joined, V_UNDEFINED)


def _splice(machine: Machine, call: Call) -> Value:
    joined = elements(machine, call.this, call)
    if call.path.endswith("toSpliced"):
        return make(machine, call, None, join(joined, call.all(2)))
    mutate(machine, call.this, call.all(2), call.span)
    return make(machine, call, None, joined)


def _reverse(machine: Machine, call: Call) -> Value:
    items = machine.items_of(call.this)
    reversed_items = list(reversed(items)) if items is not None else None
    made = make(machine, call, reversed_items, elements(machine, call.this, call))
    if call.path.endswith("toReversed"):
        return made
    if all(isinstance(atom, HeapObject) and atom.start == call.span.start for atom in call.this):
        return made  # the receiver is made by this very expression, so nothing else holds it
    mutate(machine, call.this, BOTTOM, call.span)
    return join(made, call.this)


def _fill(machine: Machine, call: Call) -> Value:
    mutate(machine, call.this, call.arg(0), call.span)
    return call.this


_P = "Array.prototype."
TRANSFER: dict[str, Transfer] = {
    f"{_P}sort": _sorted,
    f"{_P}toSorted": _sorted,
    f"{_P}push": _push,
    f"{_P}unshift": _push,
    f"{_P}pop": _take,
    f"{_P}shift": _take,
    f"{_P}splice": _splice,
    f"{_P}toSpliced": _splice,
    f"{_P}reverse": _reverse,
    f"{_P}toReversed": _reverse,
    f"{_P}fill": _fill,
    f"{_P}copyWithin": _fill,
}
