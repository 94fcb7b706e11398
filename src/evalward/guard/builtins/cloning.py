"""``structuredClone``: own enumerable data without prototypes, accessors and symbols (HTML §2.7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, Value, of
from evalward.guard.domain.slots import SYMBOL_PREFIX
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.interpret.machine import Machine, Transfer

_COPIED = frozenset({"object", "array"})


def _is_changed(target: HeapObject) -> bool:
    """Whether a clone converts to another text, or has other members than its original."""
    return target.kind in _COPIED and (
        bool(target.prototype or target.getters)
        or any(name.startswith(SYMBOL_PREFIX) for name in target.properties)
    )


def _reached(machine: Machine, value: Value) -> list[HeapObject]:
    reached = sorted(objects_of(value), key=lambda target: target.serial)
    seen = set(reached)
    for target in reached:
        machine.observe(target)
        machine.spend()
        for inner in sorted(objects_of(target.everything()) - seen, key=lambda each: each.serial):
            seen.add(inner)
            reached.append(inner)
    return reached


def _structured_clone(machine: Machine, call: Call) -> Value:
    """Return the value itself, for what it is given is read from it, and copies where those differ from it."""
    reached = _reached(machine, call.arg(0))
    if not any(map(_is_changed, reached)):
        return call.arg(0)
    copies = {
        target: machine.allocate(target.kind, call.span.start, f"clone {target.serial}")
        for target in reached
        if target.kind in _COPIED
    }

    def cloned(value: Value) -> Value:
        return join(value, of(*(copies[atom] for atom in objects_of(value) if atom in copies)))

    for target, made in copies.items():
        names = [name for name in target.properties if not name.startswith(SYMBOL_PREFIX)]
        for name in names:
            machine.put(made, name, cloned(target.properties[name]))
        for name, getter in target.getters.items():
            machine.put(made, name, machine.call(getter, of(target), (), call.span) or V_UNDEFINED)
        machine.doubt(made, (*names, *target.getters))
        machine.inexact(made)
        if target.extensible:
            machine.extend(made)
        machine.put_element(made, cloned(target.contents() or BOTTOM))
    return cloned(call.arg(0))


TRANSFER: dict[str, Transfer] = {"structuredClone": _structured_clone}
