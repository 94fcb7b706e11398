"""``Map``, ``Set``, their weak forms, ``WeakRef``, generators and iterators (ECMA-262 §24, §26, §27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.array_callbacks import accumulated
from evalward.guard.domain.atoms import BOTTOM, V_ANY_BOOLEAN, V_ANY_NUMBER, V_UNDEFINED, V_UNKNOWN, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import ENTRY_KEYS, RETURNED, SYMBOL_ITERATOR
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _make(kind: str) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        made = machine.allocate(kind, call.span.start)
        for entry in machine.iterate(call.arg(0), None, call.span) if call.args else BOTTOM:
            if kind in {"map", "weakmap"}:
                if isinstance(entry, HeapObject):
                    machine.put(made, ENTRY_KEYS, machine.get(of(entry), "0", call.span))
                    machine.put_element(made, machine.get(of(entry), "1", call.span))
                else:
                    machine.put(made, ENTRY_KEYS, machine.get_element(entry, call.span.start))
                    machine.put_element(made, machine.get_element(entry, call.span.start))
            else:
                machine.put_element(made, of(entry))
        return of(made)

    return transfer


def _weak_ref(machine: Machine, call: Call) -> Value:
    made = machine.allocate("weakref", call.span.start)
    machine.put_element(made, call.arg(0))
    return of(made)


def contents(machine: Machine, value: Value) -> Value:
    """Return the join of the containers' values."""
    result: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            result = join(result, join(atom.contents(), V_UNKNOWN) if atom.escaped else atom.contents())
        else:
            result = join(result, machine.get_element(atom, 0))
    return result


def keys(machine: Machine, value: Value) -> Value:
    """Return the join of maps' keys; a set's keys are its values. An instance of a subclass may be either."""
    result: Value = BOTTOM
    for atom in value:
        if not isinstance(atom, HeapObject):
            result = join(result, contents(machine, of(atom)))
            continue
        machine.observe(atom)
        result = join(result, atom.properties.get(ENTRY_KEYS, BOTTOM))
        if atom.kind not in {"map", "weakmap"}:
            result = join(result, contents(machine, of(atom)))
        elif atom.escaped:
            result = join(result, V_UNKNOWN)
    return result


def _get(machine: Machine, call: Call) -> Value:
    return join(contents(machine, call.this), V_UNDEFINED)


def _set(machine: Machine, call: Call) -> Value:
    for atom in call.this:
        if isinstance(atom, HeapObject):
            machine.put(atom, ENTRY_KEYS, call.arg(0))
            machine.put_element(atom, call.arg(1))
            if atom.escaped:
                machine.leak(call.all(), Flow.RETURN, call.span)
        else:
            machine.leak(call.all(), Flow.PROPERTY, call.span)
    return call.this


def _add(machine: Machine, call: Call) -> Value:
    for atom in call.this:
        if isinstance(atom, HeapObject):
            machine.put_element(atom, call.arg(0))
            if atom.escaped:
                machine.leak(call.arg(0), Flow.RETURN, call.span)
    return call.this


def _for_each(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(
        call.arg(0),
        call.arg(1),
        (contents(machine, call.this), keys(machine, call.this), call.this),
        call.span,
    )
    return V_UNDEFINED


def _listed(machine: Machine, call: Call, value: Value) -> Value:
    made = machine.allocate("iterator", call.span.start, call.path)
    machine.put_element(made, value)
    return of(made)


def _iterator_from(machine: Machine, call: Call) -> Value:
    """``Iterator.from(o)``: what iterating gives; an object with a ``next`` is an iterator already."""
    given = machine.iterate(call.arg(0), None, call.span)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            for name in ("next", "return"):
                method = machine.get_method(atom, name)
                machine.use(method, Flow.CALLBACK, call.span)
                step = machine.call(method, of(atom), (), call.span)
                given = join(given, machine.get(step, "value", call.span))
    # What inherits from `Iterator.prototype` is given back as it is.
    same = objects_of(call.arg(0))
    for atom in sorted(same, key=lambda each: each.serial):
        made = machine.call(machine.get_method(atom, SYMBOL_ITERATOR), of(atom), (), call.span)
        same |= objects_of(made)
    return join(_listed(machine, call, given), same)


def _entries(machine: Machine, call: Call) -> Value:
    pair = machine.allocate("array", call.span.start, "pair")
    machine.put_item(pair, 0, keys(machine, call.this) or V_UNDEFINED)
    machine.put_item(pair, 1, contents(machine, call.this) or V_UNDEFINED)
    return _listed(machine, call, of(pair))


def _next(machine: Machine, call: Call) -> Value:
    """``next(v)``, ``return(v)``, ``throw(v)`` of a generator: what is sent in reaches its ``yield``."""
    made = machine.allocate("object", call.span.start, "step")
    if call.path.endswith("throw"):
        machine.write(machine.thrown, call.arg(0))
    for atom in call.this:
        if isinstance(atom, HeapObject):
            if atom.unit is not None:
                machine.write(atom.unit.sent, call.arg(0))
            machine.observe(atom)
            if atom.kind == "generator" and call.path.endswith("return"):
                machine.put(atom, RETURNED, call.arg(0))  # after a `finally` that yields
            machine.put(
                made, "value", join(contents(machine, of(atom)), atom.properties.get(RETURNED, BOTTOM))
            )
    machine.put(made, "value", join(call.arg(0) if not call.path.endswith("next") else BOTTOM, V_UNDEFINED))
    machine.put(made, "done", V_ANY_BOOLEAN)
    promise = machine.allocate("promise", call.span.start, "step")
    machine.put_element(promise, of(made))
    asynchronous = any(
        isinstance(a, HeapObject) and a.unit is not None and a.unit.asynchronous for a in call.this
    )
    return of(promise) if asynchronous else of(made)


def _iterator_callback(result: Value | None) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        value = contents(machine, call.this)
        machine.use(call.arg(0), Flow.CALLBACK, call.span)
        if call.path.endswith("reduce"):
            total = join(call.arg(1) if len(call.args) > 1 else value, call.rest)
            return accumulated(machine, call, total, (value, V_ANY_NUMBER))
        made = machine.call(call.arg(0), V_UNDEFINED, (value, V_ANY_NUMBER), call.span)
        if result is not None:
            return result
        if call.path.endswith("find"):
            return join(value, V_UNDEFINED)
        if call.path.endswith("flatMap"):
            made = join(made, machine.iterate(made, None, call.span))
        return _listed(machine, call, join(made, value))

    return transfer


def _members(machine: Machine, call: Call) -> Value:
    """Return the members of a set and of the set-like argument, whose ``keys`` method is called if it is no set."""
    own = contents(machine, call.this)
    given = call.arg(0)
    held = frozenset(a for a in given if isinstance(a, HeapObject) and a.kind in {"set", "map"})
    result = join(own, join(contents(machine, held), keys(machine, held)))
    for name, args in (("size", ()), ("has", (own,)), ("keys", ())):
        for atom in given:
            # A set has them from its prototype, unless the payload puts others on it.
            method = (
                machine.get_method(atom, name)
                if isinstance(atom, HeapObject) and atom in held
                else machine.get(of(atom), name, call.span)
            )
            if name == "size":
                machine.use_conversions(method, call.span)
                continue
            made = machine.call(method, of(atom), args, call.span)
            if name == "keys":
                step = machine.call(machine.get(made, "next", call.span), made, (), call.span)
                result = join(result, machine.get(step, "value", call.span))
    return result


def _compare_sets(machine: Machine, call: Call) -> Value:
    _members(machine, call)
    return V_ANY_BOOLEAN


def _combine_sets(machine: Machine, call: Call) -> Value:
    """``union`` and similar methods (ECMA-262 §24.2.4): a new set with members of both."""
    made = machine.allocate("set", call.span.start, call.path)
    machine.put_element(made, _members(machine, call))
    return of(made)


def _to_array(machine: Machine, call: Call) -> Value:
    made = machine.allocate("array", call.span.start, "toArray")
    machine.inexact(made)
    machine.put_element(made, contents(machine, call.this))
    return of(made)


TRANSFER: dict[str, Transfer] = {
    "Map": _make("map"),
    "WeakMap": _make("weakmap"),
    "Set": _make("set"),
    "WeakSet": _make("weakset"),
    "WeakRef": _weak_ref,
    "WeakRef.prototype.deref": _get,
    "Map.prototype.get": _get,
    "Map.prototype.set": _set,
    "Map.prototype.forEach": _for_each,
    "Map.prototype.entries": _entries,
    "Map.prototype.keys": lambda machine, call: _listed(machine, call, keys(machine, call.this)),
    "Map.prototype.values": lambda machine, call: _listed(machine, call, contents(machine, call.this)),
    "Map.prototype.has": lambda _run, _call: V_ANY_BOOLEAN,
    "Map.prototype.delete": lambda _run, _call: V_ANY_BOOLEAN,
    "Map.prototype.clear": lambda _run, _call: V_UNDEFINED,
    "WeakMap.prototype.get": _get,
    "WeakMap.prototype.set": _set,
    "WeakMap.prototype.has": lambda _run, _call: V_ANY_BOOLEAN,
    "WeakMap.prototype.delete": lambda _run, _call: V_ANY_BOOLEAN,
    "Set.prototype.add": _add,
    "Set.prototype.forEach": _for_each,
    "Set.prototype.entries": _entries,
    "Set.prototype.keys": lambda machine, call: _listed(machine, call, contents(machine, call.this)),
    "Set.prototype.values": lambda machine, call: _listed(machine, call, contents(machine, call.this)),
    **{
        f"Set.prototype.{name}": _combine_sets
        for name in ("union", "intersection", "difference", "symmetricDifference")
    },
    **{f"Set.prototype.{name}": _compare_sets for name in ("isSubsetOf", "isSupersetOf", "isDisjointFrom")},
    "Set.prototype.has": lambda _run, _call: V_ANY_BOOLEAN,
    "Set.prototype.delete": lambda _run, _call: V_ANY_BOOLEAN,
    "Set.prototype.clear": lambda _run, _call: V_UNDEFINED,
    "WeakSet.prototype.add": _add,
    "WeakSet.prototype.has": lambda _run, _call: V_ANY_BOOLEAN,
    "WeakSet.prototype.delete": lambda _run, _call: V_ANY_BOOLEAN,
    "Iterator.prototype.@@iterator": lambda _machine, call: call.this,
    "@@asyncIterator": lambda _machine, call: call.this,
    "Iterator.prototype.next": _next,
    "Iterator.prototype.return": _next,
    "Iterator.prototype.throw": _next,
    "Iterator.prototype.map": _iterator_callback(None),
    "Iterator.prototype.filter": _iterator_callback(None),
    "Iterator.prototype.flatMap": _iterator_callback(None),
    "Iterator.prototype.find": _iterator_callback(None),
    "Iterator.prototype.reduce": _iterator_callback(None),
    "Iterator.prototype.forEach": _iterator_callback(V_UNDEFINED),
    "Iterator.prototype.some": _iterator_callback(V_ANY_BOOLEAN),
    "Iterator.prototype.every": _iterator_callback(V_ANY_BOOLEAN),
    "Iterator.prototype.take": lambda _machine, call: call.this,
    "Iterator.prototype.drop": lambda _machine, call: call.this,
    "Iterator.prototype.toArray": _to_array,
    "Iterator.from": _iterator_from,
}
