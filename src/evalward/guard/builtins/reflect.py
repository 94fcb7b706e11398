"""``Reflect`` and the reflective functions of ``Object``: keys, prototypes, reads, writes, calls (ECMA-262 §28.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.function_prototype import list_arguments
from evalward.guard.builtins.property_descriptors import define_all
from evalward.guard.constructs import prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_SYMBOL,
    BOTTOM,
    NULL,
    UNKNOWN,
    V_ANY_BOOLEAN,
    V_ANY_STRING,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import CONSTRUCTOR, SYMBOL_PREFIX, SYMBOL_SPECIES
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import PROTOTYPES
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _has(machine: Machine, call: Call) -> Value:
    machine.ask_names(call.arg(0), call.arg(1), call.span)
    return V_ANY_BOOLEAN


def _chain(machine: Machine, value: Value) -> list[HeapObject]:
    """Return the payload's objects in a value and in the prototypes of those."""
    found = [atom for atom in value if isinstance(atom, HeapObject)]
    for target in found:
        machine.observe(target)
        machine.spend()
        found.extend(a for a in target.prototype if isinstance(a, HeapObject) and a not in found)
    return found


def _get(machine: Machine, call: Call) -> Value:
    result = machine.get_computed(call.arg(0), call.arg(1), call.span)
    if len(call.args) > 2 or call.rest:  # noqa: PLR2004 - a receiver: what getters see as `this`
        chain = _chain(machine, call.arg(0))
        for target in chain:
            for getter in target.getters.values():
                result = join(result, machine.call(getter, call.arg(2), (), call.span))
        owners = call.arg(0).union(*(target.prototype | target.proxied() for target in chain))
        if any(type(atom) is Known for atom in owners):
            result = join(result, _read_by_accessors(machine, call))
    return result


def _read_by_accessors(machine: Machine, call: Call) -> Value:
    """Return what accessors of built-in objects give for a receiver: its own member, or it itself as a species."""
    key = machine.to_property_key(call.arg(1), call.span)
    receiver = frozenset(
        atom for atom in call.arg(2) if not (isinstance(atom, HeapObject) and atom.kind == "proxy")
    )
    made = machine.get_computed(receiver, call.arg(1), call.span)
    return join(made, receiver) if key.unknown or SYMBOL_SPECIES in key.names else made


def _set(machine: Machine, call: Call) -> Value:
    machine.set_computed(call.arg(0), call.arg(1), call.arg(2), call.span)
    if len(call.args) > 3 or call.rest:  # noqa: PLR2004 - a receiver: what is written
        machine.set_computed(call.arg(3), call.arg(1), call.arg(2), call.span)
        for target in _chain(machine, call.arg(0)):
            for setter in target.setters.values():
                machine.call(setter, call.arg(3), (call.arg(2),), call.span)
    return V_ANY_BOOLEAN


def _apply(machine: Machine, call: Call) -> Value:
    args, rest = list_arguments(machine, call.arg(2), call)
    return machine.call(call.arg(0), call.arg(1), args, call.span, rest)


def _construct(machine: Machine, call: Call) -> Value:
    args, rest = list_arguments(machine, call.arg(1), call)
    if len(call.args) <= 2 and not call.rest:  # noqa: PLR2004 - no `newTarget`
        return machine.construct(call.arg(0), args, call.span, rest)
    target = call.arg(2)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject) and atom.unit is not None and atom.unit.new_target >= 0:
            machine.write(atom.unit.new_target, target)
        if isinstance(atom, HeapObject):
            for own in atom.properties.get(CONSTRUCTOR, BOTTOM):
                if isinstance(own, HeapObject) and own.unit is not None and own.unit.new_target >= 0:
                    machine.write(own.unit.new_target, target)
    made = machine.construct(call.arg(0), args, call.span, rest)
    above = machine.get(target, "prototype", call.span)
    for atom in made:
        if isinstance(atom, HeapObject):
            builtin = atom.prototype or of(known(PROTOTYPES.get(atom.kind, "Object.prototype")))
            machine.put_prototype(atom, join(builtin, above))
    return made


def _get_prototype_of(machine: Machine, call: Call) -> Value:
    result: Value = BOTTOM
    for atom in call.arg(0):
        result = join(result, machine.get_prototype_of(atom))
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            result = join(result, V_UNKNOWN)
            result = join(result, machine.call_trap(atom, "getPrototypeOf", (), call.span))
    return result


def _set_prototype_of(machine: Machine, call: Call) -> Value:
    machine.report(
        prototype_tampering.LABEL,
        Rank.USED,
        call.span,
        None,
        "the prototype of an object is replaced",
    )
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            machine.put_prototype(atom, call.arg(1))
    return call.arg(0)


def _create(machine: Machine, call: Call) -> Value:
    made = machine.allocate("object", call.span.start, "create")
    machine.put_prototype(made, call.arg(0))
    above = call.arg(0)
    if above != NULL.value and (
        UNKNOWN in above or any(isinstance(atom, HeapObject) and atom.callable for atom in above)
    ):
        made.kind = "prototype"
    if len(call.args) > 1:
        define_all(machine, of(made), call.args[1], call)
    return made.value


_INDEX_DIGITS = 10  # engines differ in what they take for an index near 2**32


def ordered_names(target: HeapObject) -> list[str]:
    """Return own property names in order: integer indices first, ascending (ECMA-262 §10.1.11)."""
    names = [
        name for name in (*target.properties, *target.getters) if not name.startswith((SYMBOL_PREFIX, "#"))
    ]
    indices = [name for name in names if is_index(name) and len(name) < _INDEX_DIGITS]
    return sorted(indices, key=int) + [n for n in names if n not in indices]


def has_known_names(machine: Machine, target: HeapObject) -> bool:
    """Whether the own properties of an object are just those that are known.

    An object of a built-in class has others: an error's stack, the elements of a typed array. Its message cannot be
    enumerated, nor can the methods of a class and the ``constructor`` of a function's ``prototype``.
    """
    machine.observe(target)
    return (
        target.kind == "object"
        and not (target.owners or target.extensible or target.escaped or target.uncertain)
        and machine.inherits_only_from(target, "Object.prototype")
    )


def _own_keys(machine: Machine, call: Call) -> Value:
    made = machine.allocate("array", call.span.start, "keys")
    names = list[str]()
    certain = len(call.arg(0)) == 1
    for atom in call.arg(0):
        if isinstance(atom, HeapObject) and has_known_names(machine, atom):
            names.extend(ordered_names(atom))
        else:
            certain = False
            machine.put_element(made, machine.enumerable_keys(atom))
            if call.path != "Object.keys":  # built-in own names of arrays, functions and other objects
                machine.put_element(made, V_ANY_STRING)
            if isinstance(atom, HeapObject) and atom.kind == "proxy":
                given = machine.call_trap(atom, "ownKeys", (), call.span)
                machine.put_element(made, machine.iterate(given, None, call.span))
    if call.path == "Reflect.ownKeys":
        certain = False
        machine.put_element(made, of(ANY_SYMBOL))
    if not certain or (made.items and len(made.items) != len(names)):
        machine.inexact(made)
    for index, name in enumerate(names):
        machine.put_item(made, index, of(name))
    return made.value


def _lookup(machine: Machine, call: Call) -> Value:
    machine.report(
        prototype_tampering.LABEL,
        Rank.USED,
        call.span,
        None,
        f"`{call.path.rpartition('.')[2]}` is called",
    )
    return V_UNKNOWN


def _own_symbols(machine: Machine, call: Call) -> Value:
    if any(isinstance(atom, HeapObject) and atom.kind == "proxy" for atom in call.arg(0)):
        machine.leak(call.arg(0), Flow.ARGUMENT, call.span)
        return V_UNKNOWN
    made = machine.allocate("array", call.span.start, "symbols")
    machine.inexact(made)
    machine.put_element(made, of(ANY_SYMBOL))
    return made.value


def _prevent_extensions(machine: Machine, call: Call) -> Value:
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            machine.fix(atom)
    return V_ANY_BOOLEAN


TRANSFER: dict[str, Transfer] = {
    "Reflect.preventExtensions": _prevent_extensions,
    "Reflect.get": _get,
    "Reflect.set": _set,
    "Reflect.apply": _apply,
    "Reflect.construct": _construct,
    "Reflect.getPrototypeOf": _get_prototype_of,
    "Reflect.setPrototypeOf": _set_prototype_of,
    "Reflect.ownKeys": _own_keys,
    "Reflect.has": _has,
    "Object.getPrototypeOf": _get_prototype_of,
    "Object.setPrototypeOf": _set_prototype_of,
    "Object.create": _create,
    "Object.getOwnPropertyNames": _own_keys,
    "Object.getOwnPropertySymbols": _own_symbols,
    "Object.keys": _own_keys,
    "Object.prototype.__lookupGetter__": _lookup,
    "Object.prototype.__lookupSetter__": _lookup,
    "Object.prototype.__defineGetter__": _lookup,
    "Object.prototype.__defineSetter__": _lookup,
    "Object.prototype.isPrototypeOf": lambda _run, _call: of(NULL) & V_ANY_BOOLEAN | V_ANY_BOOLEAN,
    "Function.prototype": lambda _run, _call: V_UNDEFINED,
}
