"""``Reflect``, ``Proxy`` and the reflective methods of ``Object``: reads, writes and calls by another road."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.function_prototype import list_arguments
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
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import CONSTRUCTOR, SYMBOL_PREFIX
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import PROTOTYPES
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _has(machine: Machine, call: Call) -> Value:
    machine.ask_names(call.arg(0), call.arg(1), call.span)
    return V_ANY_BOOLEAN


def _get(machine: Machine, call: Call) -> Value:
    result = machine.get_computed(call.arg(0), call.arg(1), call.span)
    if len(call.args) > 2 or call.rest:  # noqa: PLR2004 - a receiver: what getters see as `this`
        for atom in call.arg(0):
            if isinstance(atom, HeapObject):
                for getter in atom.getters.values():
                    result = join(result, machine.call(getter, call.arg(2), (), call.span))
    return result


def _set(machine: Machine, call: Call) -> Value:
    machine.set_computed(call.arg(0), call.arg(1), call.arg(2), call.span)
    if len(call.args) > 3 or call.rest:  # noqa: PLR2004 - a receiver: what is written
        machine.set_computed(call.arg(3), call.arg(1), call.arg(2), call.span)
        for atom in call.arg(0):
            if isinstance(atom, HeapObject):
                for setter in atom.setters.values():
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


def _descriptor(machine: Machine, call: Call, owner: Value, key: Value, tag: str) -> Value:
    """Return a property descriptor: what the property holds is its ``value``, accessors are ``get`` and ``set``."""
    made = machine.allocate("object", call.span.start, tag)
    value = machine.get_computed(owner, key, call.span)
    machine.put(made, "value", value)
    getters: Value = BOTTOM
    for atom in owner:
        if isinstance(atom, HeapObject):
            for accessor in (*atom.getters.values(), *atom.setters.values()):
                getters = join(getters, accessor)
    getter = machine.allocate("native", call.span.start, f"{tag} get")
    machine.put_element(getter, value)  # of a built-in accessor: what it gives
    machine.put(made, "get", join(getters, of(getter) if _is_catalogued(owner) else V_UNKNOWN))
    for name in ("writable", "enumerable", "configurable"):
        machine.put(made, name, V_ANY_BOOLEAN)
    machine.doubt(made, made.properties)  # data or an accessor: four of the six
    machine.put(made, "set", join(join(getters, V_UNKNOWN), _setters(machine, call, owner, key)))
    result = of(made)
    for atom in owner:
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            given = machine.call_trap(atom, "getOwnPropertyDescriptor", (key,), call.span)
            result = join(result, given)
    return result


def _is_catalogued(owner: Value) -> bool:
    return any(type(atom) is Known for atom in owner)


def _setters(machine: Machine, call: Call, owner: Value, key: Value) -> Value:
    """Return the setters behind the sinks of a catalogued object: calling one is a write."""
    resolved = machine.to_property_key(key, call.span)
    result: Value = BOTTOM
    for atom in owner:
        if type(atom) is Known:
            sinks = machine.catalogue.get(atom.path).sinks
            valued = dict.fromkeys(ATTRIBUTE_VALUES, "value") if sinks else {}
            for name, kind in (sinks | valued).items():
                if resolved.unknown or name in resolved.names:
                    result = join(result, of(known(f"setter {kind}")))
    return result


def _get_own_property_descriptor(machine: Machine, call: Call) -> Value:
    return _descriptor(machine, call, call.arg(0), call.arg(1), "descriptor")


def _get_own_property_descriptors(machine: Machine, call: Call) -> Value:
    made = machine.allocate("object", call.span.start, "descriptors")
    machine.extend(made)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            for name in [*atom.properties, *atom.getters]:
                machine.put(made, name, _descriptor(machine, call, of(atom), of(name), f"descriptor {name}"))
        elif type(atom) is Known:
            entry = machine.catalogue.get(atom.path)
            for name in [*entry.members, *(sink for sink in entry.sinks if sink not in entry.members)]:
                machine.put(made, name, _descriptor(machine, call, of(atom), of(name), f"descriptor {name}"))
        machine.put_element(made, _descriptor(machine, call, of(atom), V_ANY_STRING, "descriptor any"))
    return made.value


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


def define_all(machine: Machine, target: Value, descriptors: Value, call: Call) -> None:
    """Model ``Object.defineProperties``."""
    for atom in descriptors:
        if isinstance(atom, HeapObject):
            for name, descriptor in list(atom.properties.items()):
                machine.define_own_property(target, of(name), descriptor, call.span)
            if atom.elements:
                machine.define_own_property(target, V_ANY_STRING, atom.elements, call.span)
        elif type(atom) is not Primitive:
            machine.use(of(atom), Flow.ARGUMENT, call.span)  # an exception says what is no descriptor
            machine.leak(target, Flow.ARGUMENT, call.span)


def _define_property(machine: Machine, call: Call) -> Value:
    machine.define_own_property(call.arg(0), call.arg(1), call.arg(2), call.span)
    return call.arg(0) if call.path.startswith("Object") else V_ANY_BOOLEAN


def _define_properties(machine: Machine, call: Call) -> Value:
    define_all(machine, call.arg(0), call.arg(1), call)
    return call.arg(0)


_INDEX_DIGITS = 10  # engines differ in what they take for an index near 2**32


def ordered_names(target: HeapObject) -> list[str]:
    """Return own property names in order: integer indices first, ascending (ECMA-262 §10.1.11)."""
    names = [
        name for name in (*target.properties, *target.getters) if not name.startswith((SYMBOL_PREFIX, "#"))
    ]
    indices = [name for name in names if is_index(name) and len(name) < _INDEX_DIGITS]
    return sorted(indices, key=int) + [n for n in names if n not in indices]


def _own_keys(machine: Machine, call: Call) -> Value:
    made = machine.allocate("array", call.span.start, "keys")
    names = list[str]()
    certain = len(call.arg(0)) == 1
    for atom in call.arg(0):
        if (
            isinstance(atom, HeapObject)
            and not atom.extensible
            and not atom.escaped
            and not atom.uncertain
            and atom.kind == "object"
        ):
            machine.observe(atom)
            names.extend(ordered_names(atom))
        else:
            certain = False
            machine.put_element(made, machine.enumerable_keys(atom))
            if call.path != "Object.keys":  # the names that arrays, functions and the like have by themselves
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


TRANSFER: dict[str, Transfer] = {
    "Reflect.get": _get,
    "Reflect.set": _set,
    "Reflect.apply": _apply,
    "Reflect.construct": _construct,
    "Reflect.getPrototypeOf": _get_prototype_of,
    "Reflect.setPrototypeOf": _set_prototype_of,
    "Reflect.getOwnPropertyDescriptor": _get_own_property_descriptor,
    "Reflect.defineProperty": _define_property,
    "Reflect.ownKeys": _own_keys,
    "Reflect.has": _has,
    "Object.getOwnPropertyDescriptor": _get_own_property_descriptor,
    "Object.getOwnPropertyDescriptors": _get_own_property_descriptors,
    "Object.getPrototypeOf": _get_prototype_of,
    "Object.setPrototypeOf": _set_prototype_of,
    "Object.create": _create,
    "Object.defineProperty": _define_property,
    "Object.defineProperties": _define_properties,
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
