"""``Map``, ``Set``, their weak forms, ``WeakRef``, generators and iterators (ECMA-262 §24, §26, §27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    V_BOOLEAN,
    V_NUMBER,
    V_U1,
    V_UNDEFINED,
    Value,
    join,
    of,
)

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls


def _make(kind: str) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        made = run.allocate(kind, call.start)
        for entry in run.iterated(call.arg(0), None, call.start, call.end) if call.args else BOTTOM:
            if kind in {"map", "weakmap"}:
                if isinstance(entry, HeapObject):
                    run.put(made, "@@keys", run.get(of(entry), "0", call.start, call.end))
                    run.put_element(made, run.get(of(entry), "1", call.start, call.end))
                else:
                    run.put(made, "@@keys", run.get_element(entry, call.start))
                    run.put_element(made, run.get_element(entry, call.start))
            else:
                run.put_element(made, of(entry))
        return of(made)

    return transfer


def _weak_ref(run: Calls, call: Call) -> Value:
    made = run.allocate("weakref", call.start)
    run.put_element(made, call.arg(0))
    return of(made)


def contents(run: Calls, value: Value) -> Value:
    """Return the join of what containers hold."""
    result: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject):
            atom.readers[run.reader] = None
            result = join(result, join(atom.contents(), V_U1) if atom.escaped else atom.contents())
        else:
            result = join(result, run.get_element(atom, 0))
    return result


def keys(run: Calls, value: Value) -> Value:
    """Return the join of maps' keys; a set's keys are its values."""
    result: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject) and atom.kind in {"map", "weakmap"}:
            atom.readers[run.reader] = None
            result = join(result, atom.properties.get("@@keys", BOTTOM))
            result = join(result, V_U1 if atom.escaped else BOTTOM)
        else:
            result = join(result, contents(run, of(atom)))
    return result


def _get(run: Calls, call: Call) -> Value:
    return join(contents(run, call.this), V_UNDEFINED)


def _set(run: Calls, call: Call) -> Value:
    for atom in call.this:
        if isinstance(atom, HeapObject):
            run.put(atom, "@@keys", call.arg(0))
            run.put_element(atom, call.arg(1))
            if atom.escaped:
                run.leak(call.all(), Flow.RETURN, call.start, call.end)
        else:
            run.leak(call.all(), Flow.PROPERTY, call.start, call.end)
    return call.this


def _add(run: Calls, call: Call) -> Value:
    for atom in call.this:
        if isinstance(atom, HeapObject):
            run.put_element(atom, call.arg(0))
            if atom.escaped:
                run.leak(call.arg(0), Flow.RETURN, call.start, call.end)
    return call.this


def _for_each(run: Calls, call: Call) -> Value:
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(
        call.arg(0),
        call.arg(1),
        (contents(run, call.this), keys(run, call.this), call.this),
        call.start,
        call.end,
    )
    return V_UNDEFINED


def _listed(run: Calls, call: Call, value: Value) -> Value:
    made = run.allocate("iterator", call.start, call.path)
    run.put_element(made, value)
    return of(made)


def _iterator_from(run: Calls, call: Call) -> Value:
    """``Iterator.from(o)``: what iterating gives; an object with a ``next`` is an iterator already."""
    given = run.iterated(call.arg(0), None, call.start, call.end)
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            for name in ("next", "return"):
                method = run.own_or_payload(atom, name)
                run.use(method, Flow.CALLBACK, call.start, call.end)
                step = run.call(method, of(atom), (), call.start, call.end)
                given = join(given, run.get(step, "value", call.start, call.end))
    return _listed(run, call, given)


def _entries(run: Calls, call: Call) -> Value:
    pair = run.allocate("array", call.start, "pair")
    run.put_item(pair, 0, keys(run, call.this) or V_UNDEFINED)
    run.put_item(pair, 1, contents(run, call.this) or V_UNDEFINED)
    return _listed(run, call, of(pair))


def _next(run: Calls, call: Call) -> Value:
    """``next(v)``, ``return(v)``, ``throw(v)`` of a generator: what is sent in reaches its ``yield``."""
    made = run.allocate("object", call.start, "step")
    if call.path.endswith("throw"):
        run.write(run.thrown, call.arg(0))
    for atom in call.this:
        if isinstance(atom, HeapObject):
            if atom.unit is not None:
                run.write(atom.unit.sent, call.arg(0))
            atom.readers[run.reader] = None
            run.put(made, "value", join(contents(run, of(atom)), atom.properties.get("@@returned", BOTTOM)))
    run.put(made, "value", join(call.arg(0) if not call.path.endswith("next") else BOTTOM, V_UNDEFINED))
    run.put(made, "done", V_BOOLEAN)
    promise = run.allocate("promise", call.start, "step")
    run.put_element(promise, of(made))
    asynchronous = any(
        isinstance(a, HeapObject) and a.unit is not None and a.unit.asynchronous for a in call.this
    )
    return of(promise) if asynchronous else of(made)


def _iterator_callback(result: Value | None) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        value = contents(run, call.this)
        run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
        if call.path.endswith("reduce"):
            value = join(value, call.arg(1) if len(call.args) > 1 else BOTTOM)
            made = run.call(call.arg(0), V_UNDEFINED, (value, value), call.start, call.end)
            return join(
                value, run.call(call.arg(0), V_UNDEFINED, (join(value, made), value), call.start, call.end)
            )
        made = run.call(call.arg(0), V_UNDEFINED, (value, V_NUMBER), call.start, call.end)
        if result is not None:
            return result
        if call.path.endswith("find"):
            return join(value, V_UNDEFINED)
        if call.path.endswith("flatMap"):
            made = join(made, run.iterated(made, None, call.start, call.end))
        return _listed(run, call, join(made, value))

    return transfer


def _members(run: Calls, call: Call) -> Value:
    """Return what a set and the set-like object beside it hold; what is no set is asked for its keys."""
    own = contents(run, call.this)
    given = call.arg(0)
    held = frozenset(a for a in given if isinstance(a, HeapObject) and a.kind in {"set", "map"})
    result = join(own, join(contents(run, held), keys(run, held)))
    for name, args in (("has", (own,)), ("keys", ())):
        for atom in given - held:
            made = run.call(
                run.get(of(atom), name, call.start, call.end), of(atom), args, call.start, call.end
            )
            if name == "keys":
                step = run.call(run.get(made, "next", call.start, call.end), made, (), call.start, call.end)
                result = join(result, run.get(step, "value", call.start, call.end))
    return result


def _compare_sets(run: Calls, call: Call) -> Value:
    _members(run, call)
    return V_BOOLEAN


def _combine_sets(run: Calls, call: Call) -> Value:
    """``union`` and its kin (ECMA-262 §24.2.4): a new set of what both hold."""
    made = run.allocate("set", call.start, call.path)
    run.put_element(made, _members(run, call))
    return of(made)


def _to_array(run: Calls, call: Call) -> Value:
    made = run.allocate("array", call.start, "toArray")
    run.inexact(made)
    run.put_element(made, contents(run, call.this))
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
    "Map.prototype.keys": lambda run, call: _listed(run, call, keys(run, call.this)),
    "Map.prototype.values": lambda run, call: _listed(run, call, contents(run, call.this)),
    "Map.prototype.has": lambda _run, _call: V_BOOLEAN,
    "Map.prototype.delete": lambda _run, _call: V_BOOLEAN,
    "Map.prototype.clear": lambda _run, _call: V_UNDEFINED,
    "WeakMap.prototype.get": _get,
    "WeakMap.prototype.set": _set,
    "WeakMap.prototype.has": lambda _run, _call: V_BOOLEAN,
    "WeakMap.prototype.delete": lambda _run, _call: V_BOOLEAN,
    "Set.prototype.add": _add,
    "Set.prototype.forEach": _for_each,
    "Set.prototype.entries": _entries,
    "Set.prototype.keys": lambda run, call: _listed(run, call, contents(run, call.this)),
    "Set.prototype.values": lambda run, call: _listed(run, call, contents(run, call.this)),
    **{
        f"Set.prototype.{name}": _combine_sets
        for name in ("union", "intersection", "difference", "symmetricDifference")
    },
    **{f"Set.prototype.{name}": _compare_sets for name in ("isSubsetOf", "isSupersetOf", "isDisjointFrom")},
    "Set.prototype.has": lambda _run, _call: V_BOOLEAN,
    "Set.prototype.delete": lambda _run, _call: V_BOOLEAN,
    "Set.prototype.clear": lambda _run, _call: V_UNDEFINED,
    "WeakSet.prototype.add": _add,
    "WeakSet.prototype.has": lambda _run, _call: V_BOOLEAN,
    "WeakSet.prototype.delete": lambda _run, _call: V_BOOLEAN,
    "Iterator.prototype.next": _next,
    "Iterator.prototype.return": _next,
    "Iterator.prototype.throw": _next,
    "Iterator.prototype.map": _iterator_callback(None),
    "Iterator.prototype.filter": _iterator_callback(None),
    "Iterator.prototype.flatMap": _iterator_callback(None),
    "Iterator.prototype.find": _iterator_callback(None),
    "Iterator.prototype.reduce": _iterator_callback(None),
    "Iterator.prototype.forEach": _iterator_callback(V_UNDEFINED),
    "Iterator.prototype.some": _iterator_callback(V_BOOLEAN),
    "Iterator.prototype.every": _iterator_callback(V_BOOLEAN),
    "Iterator.prototype.take": lambda _run, call: call.this,
    "Iterator.prototype.drop": lambda _run, call: call.this,
    "Iterator.prototype.toArray": _to_array,
    "Iterator.from": _iterator_from,
}
