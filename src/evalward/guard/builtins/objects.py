"""``Object``'s other methods: copying, listing, freezing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.reflect import ordered_names
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    ANY_BIGINT,
    ANY_NUMBER,
    BOTTOM,
    DATA,
    STRING_UNKNOWNS,
    TEXT,
    U2,
    V_BOOLEAN,
    V_DATA,
    V_NUMBER,
    V_STRING,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.objects.catalogued import PRIMITIVE_PROTOTYPES

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls

_MAX_WRAPPED = 64


_ANY_NUMERIC = frozenset({ANY_BIGINT, ANY_NUMBER})


def _has_own(run: Calls, call: Call) -> Value:
    run.ask_names(call.arg(0), call.arg(1), call.start, call.end)
    return V_BOOLEAN


def _has_own_property(run: Calls, call: Call) -> Value:
    run.ask_names(call.this, call.arg(0), call.start, call.end)
    return V_BOOLEAN


def _object(run: Calls, call: Call) -> Value:
    made = boxed(run, call.arg(0), call)
    return join(made, of(U2)) if not all(isinstance(atom, HeapObject) for atom in made) else made


def boxed(run: Calls, value: Value, call: Call) -> Value:
    """Return ToObject: a primitive's wrapper, which takes properties and has a string's characters."""
    result: Value = BOTTOM
    for atom in value:
        if type(atom) is str:
            made = run.instance("String.prototype", call.start)
        elif type(atom) is Primitive and atom.type in PRIMITIVE_PROTOTYPES:
            made = run.instance(PRIMITIVE_PROTOTYPES[atom.type], call.start)
        elif type(atom) is Primitive:
            made = of(run.allocate("object", call.start, "made"))
        elif atom in _ANY_NUMERIC:
            made = run.instance("Number.prototype", call.start)
        else:
            result = join(result, of(atom))
            continue
        for one in made:
            if isinstance(one, HeapObject) and one.prototype:
                wrap(run, one, of(atom))
        result = join(result, made)
    return result


def wrap(run: Calls, made: HeapObject, primitive: Value) -> None:
    """Give a wrapper object what it stands for: its primitive, and a string's characters."""
    run.put(made, "@@primitive", primitive)
    for atom in primitive:
        if type(atom) is str:
            for index, character in enumerate(atom[:_MAX_WRAPPED]):
                if len(primitive) > 1:
                    made.uncertain.add(str(index))
                run.put(made, str(index), of(character))
        if atom in STRING_UNKNOWNS or (type(atom) is str and len(atom) > _MAX_WRAPPED):
            run.extend(made)
            run.put_element(made, of(atom) if atom in STRING_UNKNOWNS else V_STRING)


def _assign(run: Calls, call: Call) -> Value:
    target = boxed(run, call.arg(0), call)
    sources = call.all(1)
    for atom in target:
        if isinstance(atom, HeapObject) and atom.kind == "proxy":
            inner = frozenset(a for a in atom.properties.get("@@target", BOTTOM) if a is not atom)
            for one in inner:
                if isinstance(one, HeapObject):
                    run.copy_properties(one, sources, call.start, call.end)
            run.copy_properties(atom, sources, call.start, call.end)
        elif isinstance(atom, HeapObject):
            run.copy_properties(atom, sources, call.start, call.end)
            for source in sources:
                _call_setters(run, atom, source, call)
        else:
            for source in sources:
                if isinstance(source, HeapObject):
                    for name, value in list(source.properties.items()):
                        run.set(of(atom), name, value, call.start, call.end)
                    if source.extensible:
                        run.set_computed(
                            of(atom), run.enumerable_keys(source), source.elements, call.start, call.end
                        )
                elif source is DATA:  # it says itself under which names
                    run.set_computed(of(atom), of(TEXT), V_DATA, call.start, call.end)
    return target


def _call_setters(run: Calls, target: HeapObject, source: object, call: Call) -> None:
    if isinstance(source, HeapObject):
        for name, setter in target.setters.items():
            if name in source.properties:
                run.call(setter, of(target), (source.properties[name],), call.start, call.end)
        if any(type(atom) is Known for atom in target.prototype):
            for name, value in source.properties.items():
                run.judge_inherited(target, name, value, call.start, call.end)


def contents(run: Calls, value: Value, call: Call) -> Value:
    """Return the join of an object's own property values, getters called."""
    result: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject):
            atom.readers[run.reader] = None
            result = join(result, atom.everything())
            for getter in atom.getters.values():
                result = join(result, run.call(getter, of(atom), (), call.start, call.end))
            if atom.escaped:
                result = join(result, run.get_element(atom, call.start))
        elif type(atom) is Known and atom.label is not None:
            run.use(of(atom), Flow.ARGUMENT, call.start, call.end)
        elif type(atom) is not Primitive and type(atom) is not str:
            result = join(result, run.get_unknown(atom, call.start, call.end))
        else:
            result = join(result, run.get_element(atom, call.start))
    return result


def _values(run: Calls, call: Call) -> Value:
    made = run.allocate("array", call.start, "values")
    value = call.arg(0)
    exact = len(value) == 1
    for atom in value:
        if (
            isinstance(atom, HeapObject)
            and atom.kind == "object"
            and not atom.extensible
            and not atom.escaped
            and not atom.uncertain
            and exact
        ):
            atom.readers[run.reader] = None
            names = ordered_names(atom)
            if made.items and len(made.items) != len(names):
                run.inexact(made)
            for index, name in enumerate(names):
                run.put_item(made, index, run.get(value, name, call.start, call.end))
            return made.value
    run.inexact(made)
    run.put_element(made, contents(run, value, call))
    return made.value


def _entries(run: Calls, call: Call) -> Value:
    made = run.allocate("array", call.start, "entries")
    value = call.arg(0)
    if len(value) == 1:
        (atom,) = value
        if (
            isinstance(atom, HeapObject)
            and atom.kind == "object"
            and not atom.extensible
            and not atom.escaped
            and not atom.uncertain
        ):
            atom.readers[run.reader] = None
            names = ordered_names(atom)
            if made.items and len(made.items) != len(names):
                run.inexact(made)
            for index, name in enumerate(names):
                pair = run.allocate("array", call.start, f"entry {name}")
                run.put_item(pair, 0, of(name))
                run.put_item(pair, 1, run.get(value, name, call.start, call.end))
                run.put_item(made, index, pair.value)
            return made.value
    run.inexact(made)
    pair = run.allocate("array", call.start, "entry")
    for atom in value:
        run.put_item(pair, 0, run.enumerable_keys(atom))
    run.put_item(pair, 1, contents(run, value, call) or V_UNDEFINED)
    run.put_element(made, of(pair))
    return made.value


def _from_entries(run: Calls, call: Call) -> Value:
    made = run.allocate("object", call.start, "fromEntries")
    for entries in call.arg(0):
        if isinstance(entries, HeapObject) and entries.kind == "map":
            _put_entry(run, made, entries.properties.get("@@keys", BOTTOM), entries.elements, call)
            continue
        for pair in run.iterated(of(entries), None, call.start, call.end):
            key = run.get(of(pair), "0", call.start, call.end)
            _put_entry(run, made, key, run.get(of(pair), "1", call.start, call.end), call)
    return made.value


def _put_entry(run: Calls, target: HeapObject, key: Value, value: Value, call: Call) -> None:
    resolved = run.key(key, call.start, call.end)
    for name in resolved.names:
        run.put(target, name, value)
    if resolved.unknown or resolved.numeric:
        run.extend(target)
        run.put_element(target, value)


def _group_by(run: Calls, call: Call) -> Value:
    made = run.allocate("object", call.start, "groupBy")
    array = run.allocate("array", call.start, "group")
    run.inexact(array)
    element = run.iterated(call.arg(0), None, call.start, call.end)
    run.put_element(array, element)
    run.extend(made)
    run.put_element(made, of(array))
    names = run.call(call.arg(1), V_UNDEFINED, (element, V_NUMBER), call.start, call.end)
    run.use_conversions(names, call.start, call.end)
    made.prototype = of(known("Object.prototype"))
    return made.value


def _map_group_by(run: Calls, call: Call) -> Value:
    made = run.allocate("map", call.start, "groupBy")
    array = run.allocate("array", call.start, "group")
    run.inexact(array)
    element = run.iterated(call.arg(0), None, call.start, call.end)
    run.put_element(array, element)
    run.put_element(made, of(array))
    run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
    keys = run.call(call.arg(1), V_UNDEFINED, (element, V_NUMBER), call.start, call.end)
    run.put(made, "@@keys", keys or V_UNDEFINED)
    return made.value


def _same(_run: Calls, call: Call) -> Value:
    return call.arg(0)


def _error(run: Calls, call: Call) -> Value:
    """Make an error: it carries its ``cause``, and an AggregateError its ``errors``."""
    made = run.instance("Error.prototype", call.start)
    options = call.all(1)
    for atom in made:
        if isinstance(atom, HeapObject):
            run.put(atom, "cause", join(run.get(options, "cause", call.start, call.end), V_UNDEFINED))
            run.put(atom, "errors", call.arg(0))
    message = run.strings(call.arg(0), call.start, call.end)
    message |= frozenset(atom for atom in call.arg(1) if type(atom) is str or atom in STRING_UNKNOWNS)
    for atom in made:
        if isinstance(atom, HeapObject) and call.args:
            run.put(atom, "message", message)
    return made


TRANSFER: dict[str, Transfer] = {
    "Error": _error,
    "Object": _object,
    "structuredClone": _same,
    "Object.assign": _assign,
    "Object.values": _values,
    "Object.entries": _entries,
    "Object.fromEntries": _from_entries,
    "Object.groupBy": _group_by,
    "Map.groupBy": _map_group_by,
    "Object.freeze": _same,
    "Object.seal": _same,
    "Object.preventExtensions": _same,
    "Object.prototype.valueOf": lambda _run, call: call.this,
    "Object.is": lambda _run, _call: V_BOOLEAN,
    "Object.hasOwn": _has_own,
    "Object.isFrozen": lambda _run, _call: V_BOOLEAN,
    "Object.isSealed": lambda _run, _call: V_BOOLEAN,
    "Object.isExtensible": lambda _run, _call: V_BOOLEAN,
    "Object.prototype.hasOwnProperty": _has_own_property,
    "Object.prototype.propertyIsEnumerable": _has_own_property,
    "Array.isArray": lambda _run, _call: V_BOOLEAN,
}
