"""``Object``'s other methods: copying, listing, freezing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.reflect import has_known_names, ordered_names
from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_NUMBER,
    BOTTOM,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_STRING,
    UNDEFINED,
    UNKNOWN_PLAIN,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_TAINTED_DATA,
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
from evalward.guard.domain.named_lists import with_element
from evalward.guard.domain.slots import ENTRY_KEYS, PRIVATE_PREFIX
from evalward.guard.domain.texts import part_of
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import PRIMITIVE_PROTOTYPES
from evalward.guard.interpret.objects.private_api import owner_of_private

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_MAX_WRAPPED = 64


_ANY_NUMERIC: dict[Atom, str] = {ANY_BIGINT: "BigInt.prototype", ANY_NUMBER: "Number.prototype"}


def _has_own(machine: Machine, call: Call) -> Value:
    machine.ask_names(call.arg(0), call.arg(1), call.span)
    return V_ANY_BOOLEAN


def _has_own_property(machine: Machine, call: Call) -> Value:
    machine.ask_names(call.this, call.arg(0), call.span)
    return V_ANY_BOOLEAN


def _object(machine: Machine, call: Call) -> Value:
    made = boxed(machine, call.arg(0), call)
    return join(made, of(UNKNOWN_PLAIN)) if not all(isinstance(atom, HeapObject) for atom in made) else made


def boxed(machine: Machine, value: Value, call: Call) -> Value:
    """Return ToObject: a primitive's wrapper, which takes properties and has a string's characters."""
    result: Value = BOTTOM
    for atom in value:
        if type(atom) is str:
            made = machine.instance("String.prototype", call.span.start)
        elif type(atom) is Primitive and atom.type in PRIMITIVE_PROTOTYPES:
            made = machine.instance(PRIMITIVE_PROTOTYPES[atom.type], call.span.start)
        elif type(atom) is Primitive:
            made = of(machine.allocate("object", call.span.start, "made"))
        elif atom in _ANY_NUMERIC:
            made = machine.instance(_ANY_NUMERIC[atom], call.span.start)
        else:
            result = join(result, of(atom))
            continue
        for one in made:
            if isinstance(one, HeapObject) and one.prototype:
                machine.wrap(one, of(atom))
        result = join(result, made)
    return result


def _assign(machine: Machine, call: Call) -> Value:
    target = boxed(machine, call.arg(0), call)
    sources = call.all(1)
    for atom in with_element(target):
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            for one in atom.proxied():
                if isinstance(one, HeapObject):
                    machine.copy_data_properties(one, sources, call.span)
            machine.copy_data_properties(atom, sources, call.span)
        elif isinstance(atom, HeapObject):
            machine.copy_data_properties(atom, sources, call.span)
            if atom.setters or atom.prototype:
                for source in sources:
                    _call_setters(machine, atom, source, call)
        else:
            for source in sources:
                if isinstance(source, HeapObject):
                    for name, value in list(source.properties.items()):
                        machine.set(of(atom), name, value, call.span)
                    for name, getter in list(source.getters.items()):
                        machine.set(
                            of(atom), name, machine.call(getter, of(source), (), call.span), call.span
                        )
                    if source.kind in {"array", "arguments"}:
                        machine.set_computed(of(atom), V_ANY_NUMBER, source.contents(), call.span)
                    if source.extensible:
                        machine.set_computed(
                            of(atom), machine.enumerable_keys(source), source.elements, call.span
                        )
                elif source is TAINTED_DATA:  # it says itself under which names
                    machine.set_computed(of(atom), of(TAINTED_STRING), V_TAINTED_DATA, call.span)
    return target


def _call_setters(machine: Machine, target: HeapObject, source: object, call: Call) -> None:
    """Call the setters that a copy writes through, own and inherited ones (Set, ECMA-262 §20.1.2.1)."""
    if not isinstance(source, HeapObject):
        if type(source) is not Primitive and type(source) is not str:
            machine.set_computed(of(target), V_ANY_STRING, V_TAINTED_DATA, call.span)
        return
    machine.observe(source)
    named = [(name, value) for name, value in source.properties.items() if name[:3] != PRIVATE_PREFIX]
    named += [(str(index), item) for index, item in enumerate(source.items)]
    named += [(name, machine.get(of(source), name, call.span)) for name in source.getters]
    for name, value in named:
        if name in target.setters:
            machine.call(target.setters[name], of(target), (value,), call.span)
        else:
            machine.judge_inherited_setter(target, name, value, call.span)
            if owner_of_private(target, name) is not None:
                machine.set(of(target), name, value, call.span)
    if source.elements or source.escaped:
        rest = join(source.elements, V_UNKNOWN if source.escaped else BOTTOM)
        machine.call_inherited(target, target, rest, call.span)


def contents(machine: Machine, value: Value, call: Call) -> Value:
    """Return the join of an object's own property values, getters called."""
    result: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            result = join(result, atom.everything())
            for getter in atom.getters.values():
                result = join(result, machine.call(getter, of(atom), (), call.span))
            listed = (type(a) is Known and machine.catalogue.has_elements(a.path) for a in atom.prototype)
            if atom.escaped or any(listed):
                result = join(result, machine.get_element(atom, call.span.start))
        elif type(atom) is Known and atom.label is not None:
            machine.use(of(atom), Flow.ARGUMENT, call.span)
        elif type(atom) is not Primitive and type(atom) is not str:
            result = join(result, machine.get_unknown(atom, call.span))
        else:
            result = join(result, machine.get_element(atom, call.span.start))
    return result


def _values(machine: Machine, call: Call) -> Value:
    made = machine.allocate("array", call.span.start, "values")
    value = call.arg(0)
    exact = len(value) == 1
    for atom in value:
        if isinstance(atom, HeapObject) and has_known_names(machine, atom) and exact:
            machine.observe(atom)
            names = ordered_names(atom)
            if made.items and len(made.items) != len(names):
                machine.inexact(made)
            for index, name in enumerate(names):
                machine.put_item(made, index, machine.get(value, name, call.span))
            return made.value
    machine.inexact(made)
    machine.put_element(made, contents(machine, value, call))
    return made.value


def _entries(machine: Machine, call: Call) -> Value:
    made = machine.allocate("array", call.span.start, "entries")
    value = call.arg(0)
    if len(value) == 1:
        (atom,) = value
        if isinstance(atom, HeapObject) and has_known_names(machine, atom):
            machine.observe(atom)
            names = ordered_names(atom)
            if made.items and len(made.items) != len(names):
                machine.inexact(made)
            for index, name in enumerate(names):
                pair = machine.allocate("array", call.span.start, f"entry {name}")
                machine.put_item(pair, 0, of(name))
                machine.put_item(pair, 1, machine.get(value, name, call.span))
                machine.put_item(made, index, pair.value)
            return made.value
    machine.inexact(made)
    pair = machine.allocate("array", call.span.start, "entry")
    for atom in value:
        machine.put_item(pair, 0, machine.enumerable_keys(atom))
    machine.put_item(pair, 1, contents(machine, value, call) or V_UNDEFINED)
    machine.put_element(made, of(pair))
    return made.value


def _from_entries(machine: Machine, call: Call) -> Value:
    made = machine.allocate("object", call.span.start, "fromEntries")
    for entries in call.arg(0):
        if isinstance(entries, HeapObject) and entries.kind == "map":
            _put_entry(machine, made, entries.properties.get(ENTRY_KEYS, BOTTOM), entries.elements, call)
            continue
        for pair in machine.iterate(of(entries), None, call.span):
            key = machine.get(of(pair), "0", call.span)
            _put_entry(machine, made, key, machine.get(of(pair), "1", call.span), call)
        if machine.items_of(of(entries)) is None:
            machine.doubt(made, made.properties)
    return made.value


def _put_entry(machine: Machine, target: HeapObject, key: Value, value: Value, call: Call) -> None:
    resolved = machine.to_property_key(key, call.span)
    for name in resolved.names:
        machine.put(target, name, value)
    if len(resolved.names) > 1:
        machine.doubt(target, resolved.names)  # it has one of them
    if resolved.unknown or resolved.numeric:
        machine.extend(target)
        machine.put_element(target, value)


def _group_by(machine: Machine, call: Call) -> Value:
    made = machine.allocate("object", call.span.start, "groupBy")
    array = machine.allocate("array", call.span.start, "group")
    machine.inexact(array)
    element = machine.iterate(call.arg(0), None, call.span)
    machine.put_element(array, element)
    machine.extend(made)
    machine.put_element(made, of(array))
    names = machine.call(call.arg(1), V_UNDEFINED, (element, V_ANY_NUMBER), call.span)
    machine.use_conversions(names, call.span)
    made.prototype = of(known("Object.prototype"))
    return made.value


def _map_group_by(machine: Machine, call: Call) -> Value:
    made = machine.allocate("map", call.span.start, "groupBy")
    array = machine.allocate("array", call.span.start, "group")
    machine.inexact(array)
    element = machine.iterate(call.arg(0), None, call.span)
    machine.put_element(array, element)
    machine.put_element(made, of(array))
    machine.use(call.arg(1), Flow.CALLBACK, call.span)
    keys = machine.call(call.arg(1), V_UNDEFINED, (element, V_ANY_NUMBER), call.span)
    machine.put(made, ENTRY_KEYS, keys or V_UNDEFINED)
    return made.value


def _fix(machine: Machine, call: Call) -> Value:
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            machine.fix(atom)
    return call.arg(0)


def _error(machine: Machine, call: Call) -> Value:
    """Make an error: it carries its ``cause``, and an AggregateError its ``errors``."""
    made = machine.instance("Error.prototype", call.span.start)
    options = call.all(1)
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put(atom, "cause", join(machine.get(options, "cause", call.span), V_UNDEFINED))
            errors = frozenset(a for a in call.arg(0) if type(a) is not Primitive and type(a) is not str)
            if errors:
                listed = machine.allocate("array", call.span.start, "errors")
                machine.inexact(listed)
                machine.put_element(listed, machine.iterate(errors, None, call.span))
                machine.put(atom, "errors", of(listed))
    message = machine.to_string(call.arg(0) - V_UNDEFINED, call.span)
    if UNDEFINED in call.arg(0):
        message = join(message, of(""))
    message |= frozenset(atom for atom in call.arg(1) if type(atom) is str or atom in STRING_UNKNOWNS)
    for atom in made:
        if isinstance(atom, HeapObject) and call.args:
            machine.put(atom, "message", message)
    return made


def _error_text(machine: Machine, call: Call) -> Value:
    """Return the name and the message of any object, of which one may be empty (ECMA-262 §20.5.3.4)."""
    name, message = (machine.get(call.this, key, call.span) - V_UNDEFINED for key in ("name", "message"))
    texts = machine.to_string(join(name, message), call.span)
    return join(texts, V_ANY_STRING) | texts | part_of(texts)


TRANSFER: dict[str, Transfer] = {
    "Error.prototype.toString": _error_text,
    "Error": _error,
    "Object": _object,
    "Object.assign": _assign,
    "Object.values": _values,
    "Object.entries": _entries,
    "Object.fromEntries": _from_entries,
    "Object.groupBy": _group_by,
    "Map.groupBy": _map_group_by,
    "Object.freeze": _fix,
    "Object.seal": _fix,
    "Object.preventExtensions": _fix,
    "Object.prototype.valueOf": lambda _machine, call: call.this,
    "Object.is": lambda _run, _call: V_ANY_BOOLEAN,
    "Object.hasOwn": _has_own,
    "Object.isFrozen": lambda _run, _call: V_ANY_BOOLEAN,
    "Object.isSealed": lambda _run, _call: V_ANY_BOOLEAN,
    "Object.isExtensible": lambda _run, _call: V_ANY_BOOLEAN,
    "Object.prototype.hasOwnProperty": _has_own_property,
    "Object.prototype.propertyIsEnumerable": _has_own_property,
    "Array.isArray": lambda _run, _call: V_ANY_BOOLEAN,
}
