"""Property descriptors: read with their accessors, and defined (ECMA-262 §6.2.6, §20.1.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
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
from evalward.guard.domain.property_key import names_property
from evalward.guard.domain.slots import READ_NAME
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


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
    names = machine.to_property_key(key, call.span)
    machine.put(getter, READ_NAME, V_ANY_STRING if names.unknown else frozenset(names.names))
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
            written = ATTRIBUTE_VALUES.union(sinks) if sinks else frozenset[str]()
            for name in written if resolved.unknown else written.intersection(resolved.names):
                result = join(result, of(known(f"setter {sinks.get(name, 'value')}")))
    return result


def _get_own_property_descriptor(machine: Machine, call: Call) -> Value:
    return join(_descriptor(machine, call, call.arg(0), call.arg(1), "descriptor"), V_UNDEFINED)


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


def define_all(machine: Machine, target: Value, descriptors: Value, call: Call) -> None:
    """Model ``Object.defineProperties``."""
    for atom in descriptors:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            for name, descriptor in list(atom.properties.items()):
                if names_property(name):
                    machine.define_own_property(target, of(name), descriptor, call.span)
            for name, getter in list(atom.getters.items()):
                given = machine.call(getter, of(atom), (), call.span)
                machine.define_own_property(target, of(name), given, call.span)
            for index, item in enumerate(list(atom.items)):
                machine.define_own_property(target, of(str(index)), item, call.span)
            if atom.elements:
                key = V_ANY_NUMBER if atom.kind in {"array", "arguments"} else V_ANY_STRING
                machine.define_own_property(target, key, atom.elements, call.span)
        elif type(atom) is not Primitive:
            machine.use(
                of(atom), Flow.ARGUMENT, call.span
            )  # the exception for an invalid descriptor quotes it
            machine.leak(target, Flow.ARGUMENT, call.span)


def _define_property(machine: Machine, call: Call) -> Value:
    machine.define_own_property(call.arg(0), call.arg(1), call.arg(2), call.span)
    return call.arg(0) if call.path.startswith("Object") else V_ANY_BOOLEAN


def _define_properties(machine: Machine, call: Call) -> Value:
    define_all(machine, call.arg(0), call.arg(1), call)
    return call.arg(0)


TRANSFER: dict[str, Transfer] = {
    "Reflect.getOwnPropertyDescriptor": _get_own_property_descriptor,
    "Reflect.defineProperty": _define_property,
    "Object.getOwnPropertyDescriptor": _get_own_property_descriptor,
    "Object.getOwnPropertyDescriptors": _get_own_property_descriptors,
    "Object.defineProperty": _define_property,
    "Object.defineProperties": _define_properties,
}
