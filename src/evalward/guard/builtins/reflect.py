"""``Reflect``, ``Proxy`` and the reflective methods of ``Object``: reads, writes and calls by another road."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.function_prototype import list_arguments
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    ANY_SYMBOL,
    BOTTOM,
    NULL,
    U1,
    V_BOOLEAN,
    V_STRING,
    V_U1,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.objects.catalogued import PROTOTYPES
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls


def _has(run: Calls, call: Call) -> Value:
    run.ask_names(call.arg(0), call.arg(1), call.start, call.end)
    return V_BOOLEAN


def _get(run: Calls, call: Call) -> Value:
    result = run.get_computed(call.arg(0), call.arg(1), call.start, call.end)
    if len(call.args) > 2 or call.rest:  # noqa: PLR2004 - a receiver: what getters see as `this`
        for atom in call.arg(0):
            if isinstance(atom, HeapObject):
                for getter in atom.getters.values():
                    result = join(result, run.call(getter, call.arg(2), (), call.start, call.end))
    return result


def _set(run: Calls, call: Call) -> Value:
    run.set_computed(call.arg(0), call.arg(1), call.arg(2), call.start, call.end)
    if len(call.args) > 3 or call.rest:  # noqa: PLR2004 - a receiver: what is written
        run.set_computed(call.arg(3), call.arg(1), call.arg(2), call.start, call.end)
        for atom in call.arg(0):
            if isinstance(atom, HeapObject):
                for setter in atom.setters.values():
                    run.call(setter, call.arg(3), (call.arg(2),), call.start, call.end)
    return V_BOOLEAN


def _apply(run: Calls, call: Call) -> Value:
    args, rest = list_arguments(run, call.arg(2), call)
    return run.call(call.arg(0), call.arg(1), args, call.start, call.end, rest)


def _construct(run: Calls, call: Call) -> Value:
    args, rest = list_arguments(run, call.arg(1), call)
    if len(call.args) <= 2 and not call.rest:  # noqa: PLR2004 - no `newTarget`
        return run.construct(call.arg(0), args, call.start, call.end, rest)
    target = call.arg(2)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject) and atom.unit is not None and atom.unit.new_target >= 0:
            run.write(atom.unit.new_target, target)
        if isinstance(atom, HeapObject):
            for own in atom.properties.get("@@constructor", BOTTOM):
                if isinstance(own, HeapObject) and own.unit is not None and own.unit.new_target >= 0:
                    run.write(own.unit.new_target, target)
    made = run.construct(call.arg(0), args, call.start, call.end, rest)
    above = run.get(target, "prototype", call.start, call.end)
    for atom in made:
        if isinstance(atom, HeapObject):
            builtin = atom.prototype or of(known(PROTOTYPES.get(atom.kind, "Object.prototype")))
            run.put_prototype(atom, join(builtin, above))
    return made


def _descriptor(run: Calls, call: Call, owner: Value, key: Value, tag: str) -> Value:
    """Return a property descriptor: what the property holds is its ``value``, accessors are ``get`` and ``set``."""
    made = run.allocate("object", call.start, tag)
    value = run.get_computed(owner, key, call.start, call.end)
    run.put(made, "value", value)
    getters: Value = BOTTOM
    for atom in owner:
        if isinstance(atom, HeapObject):
            for accessor in (*atom.getters.values(), *atom.setters.values()):
                getters = join(getters, accessor)
    getter = run.allocate("native", call.start, f"{tag} get")
    run.put_element(getter, value)  # of a built-in accessor: what it gives
    run.put(made, "get", join(getters, of(getter) if _is_catalogued(owner) else V_U1))
    for name in ("writable", "enumerable", "configurable"):
        run.put(made, name, V_BOOLEAN)
    run.doubt(made, made.properties)  # data or an accessor: four of the six
    run.put(made, "set", join(join(getters, V_U1), _setters(run, call, owner, key)))
    result = of(made)
    for atom in owner:
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            given = run.trapped(atom, "getOwnPropertyDescriptor", (key,), call.start, call.end)
            result = join(result, given)
    return result


def _is_catalogued(owner: Value) -> bool:
    return any(type(atom) is Known for atom in owner)


def _setters(run: Calls, call: Call, owner: Value, key: Value) -> Value:
    """Return the setters behind the sinks of a catalogued object: calling one is a write."""
    resolved = run.key(key, call.start, call.end)
    result: Value = BOTTOM
    for atom in owner:
        if type(atom) is Known:
            sinks = run.catalogue.get(atom.path).sinks
            valued = dict.fromkeys(ATTRIBUTE_VALUES, "value") if sinks else {}
            for name, kind in (sinks | valued).items():
                if resolved.unknown or name in resolved.names:
                    result = join(result, of(known(f"setter {kind}")))
    return result


def _get_own_property_descriptor(run: Calls, call: Call) -> Value:
    return _descriptor(run, call, call.arg(0), call.arg(1), "descriptor")


def _get_own_property_descriptors(run: Calls, call: Call) -> Value:
    made = run.allocate("object", call.start, "descriptors")
    run.extend(made)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            for name in [*atom.properties, *atom.getters]:
                run.put(made, name, _descriptor(run, call, of(atom), of(name), f"descriptor {name}"))
        elif type(atom) is Known:
            entry = run.catalogue.get(atom.path)
            for name in [*entry.members, *(sink for sink in entry.sinks if sink not in entry.members)]:
                run.put(made, name, _descriptor(run, call, of(atom), of(name), f"descriptor {name}"))
        run.put_element(made, _descriptor(run, call, of(atom), V_STRING, "descriptor any"))
    return made.value


def _get_prototype_of(run: Calls, call: Call) -> Value:
    result: Value = BOTTOM
    for atom in call.arg(0):
        result = join(result, run.prototype_of(atom))
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            result = join(result, V_U1)
            result = join(result, run.trapped(atom, "getPrototypeOf", (), call.start, call.end))
    return result


def _set_prototype_of(run: Calls, call: Call) -> Value:
    run.report("prototype-tampering", 0, call.start, call.end, None, "the prototype of an object is replaced")
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            run.put_prototype(atom, call.arg(1))
    return call.arg(0)


def _create(run: Calls, call: Call) -> Value:
    made = run.allocate("object", call.start, "create")
    run.put_prototype(made, call.arg(0))
    above = call.arg(0)
    if above != NULL.value and (
        U1 in above or any(isinstance(atom, HeapObject) and atom.callable for atom in above)
    ):
        made.kind = "prototype"
    if len(call.args) > 1:
        define_all(run, of(made), call.args[1], call)
    return made.value


def define_all(run: Calls, target: Value, descriptors: Value, call: Call) -> None:
    """Model ``Object.defineProperties``."""
    for atom in descriptors:
        if isinstance(atom, HeapObject):
            for name, descriptor in list(atom.properties.items()):
                run.define(target, of(name), descriptor, call.start, call.end)
            if atom.elements:
                run.define(target, V_STRING, atom.elements, call.start, call.end)
        elif type(atom) is not Primitive:
            run.use(of(atom), Flow.ARGUMENT, call.start, call.end)  # an exception says what is no descriptor
            run.leak(target, Flow.ARGUMENT, call.start, call.end)


def _define_property(run: Calls, call: Call) -> Value:
    run.define(call.arg(0), call.arg(1), call.arg(2), call.start, call.end)
    return call.arg(0) if call.path.startswith("Object") else V_BOOLEAN


def _define_properties(run: Calls, call: Call) -> Value:
    define_all(run, call.arg(0), call.arg(1), call)
    return call.arg(0)


_INDEX_DIGITS = 10  # engines differ in what they take for an index near 2**32


def ordered_names(target: HeapObject) -> list[str]:
    """Return own property names in order: integer indices first, ascending (ECMA-262 §10.1.11)."""
    names = [name for name in (*target.properties, *target.getters) if not name.startswith(("@@", "#"))]
    indices = [name for name in names if is_index(name) and len(name) < _INDEX_DIGITS]
    return sorted(indices, key=int) + [n for n in names if n not in indices]


def _own_keys(run: Calls, call: Call) -> Value:
    made = run.allocate("array", call.start, "keys")
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
            atom.readers[run.reader] = None
            names.extend(ordered_names(atom))
        else:
            certain = False
            run.put_element(made, run.enumerable_keys(atom))
            if call.path != "Object.keys":  # the names that arrays, functions and the like have by themselves
                run.put_element(made, V_STRING)
            if isinstance(atom, HeapObject) and atom.kind == "proxy":
                given = run.trapped(atom, "ownKeys", (), call.start, call.end)
                run.put_element(made, run.iterated(given, None, call.start, call.end))
    if call.path == "Reflect.ownKeys":
        certain = False
        run.put_element(made, of(ANY_SYMBOL))
    if not certain or (made.items and len(made.items) != len(names)):
        run.inexact(made)
    for index, name in enumerate(names):
        run.put_item(made, index, of(name))
    return made.value


def _lookup(run: Calls, call: Call) -> Value:
    run.report(
        "prototype-tampering", 0, call.start, call.end, None, f"`{call.path.rpartition('.')[2]}` is called"
    )
    return V_U1


def _own_symbols(run: Calls, call: Call) -> Value:
    if any(isinstance(atom, HeapObject) and atom.kind == "proxy" for atom in call.arg(0)):
        run.leak(call.arg(0), Flow.ARGUMENT, call.start, call.end)
        return V_U1
    made = run.allocate("array", call.start, "symbols")
    run.inexact(made)
    run.put_element(made, of(ANY_SYMBOL))
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
    "Object.prototype.isPrototypeOf": lambda _run, _call: of(NULL) & V_BOOLEAN | V_BOOLEAN,
    "Function.prototype": lambda _run, _call: V_UNDEFINED,
}
