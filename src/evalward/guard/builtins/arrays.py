"""``Array`` and ``Array.prototype``: exact arrays fold, others join their elements (ECMA-262 §23.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.constant_arguments import integers
from evalward.guard.domain.atoms import (
    BOTTOM,
    UNDEFINED,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    number,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def make(
    machine: Machine, call: Call, items: Sequence[Value] | None, elements: Value, tag: str = ""
) -> Value:
    """Return an array of the call's site, exact when its items are known."""
    array = machine.allocate("array", call.span.start, f"{call.path}{tag}")
    if items is None or (array.items and len(array.items) != len(items)) or len(items) > MAX_ITEMS:
        machine.inexact(array)
        for item in items or ():
            elements = join(elements, item)
        machine.put_element(array, elements)
    else:
        for index, item in enumerate(items):
            machine.put_item(array, index, item)
    return array.value


def elements(machine: Machine, value: Value, call: Call) -> Value:
    """Return the join of an array-like's elements: what Get gives for any index (ECMA-262 §7.3.2)."""
    result = machine.iterate(value, None, call.span)
    for atom in value:
        if not isinstance(atom, HeapObject):
            continue
        if atom.kind in {"object", "proxy"}:
            result = join(result, atom.everything())
        if atom.kind not in {"array", "arguments"} or atom.prototype or atom.getters:
            result = join(result, machine.get_element(atom, call.span.start))
    return result


def flattened(machine: Machine, value: Value, call: Call) -> Value:
    """Return the elements of the arrays in a value."""
    arrays = frozenset(
        atom
        for atom in value
        if isinstance(atom, HeapObject) and (atom.kind in {"array", "proxy"} or atom.prototype)
    )
    return elements(machine, arrays, call) if arrays else BOTTOM


def _flat(machine: Machine, call: Call) -> Value:
    items = machine.items_of(call.this)
    if items is not None and not call.args:
        flat: list[Value] | None = []
        for item in items:
            inner = machine.items_of(item)
            if inner is not None and flat is not None:
                flat.extend(inner)
            elif any(isinstance(atom, HeapObject) for atom in item):
                flat = None
            elif flat is not None:
                flat.append(item)
        if flat is not None:
            return make(machine, call, flat, BOTTOM)
    joined = elements(machine, call.this, call)
    deeper = join(joined, flattened(machine, joined, call))
    while deeper != joined:  # an array is flattened once, so this ends
        joined, fresh = deeper, deeper - joined
        deeper = join(joined, flattened(machine, fresh, call))
    return make(machine, call, None, joined)


def _slice(machine: Machine, call: Call) -> Value:
    items = machine.items_of(call.this)
    starts, ends = integers(machine, call.arg(0), call, 0), integers(machine, call.arg(1), call, None)
    if items is not None and starts and ends and len(starts) == len(ends) == 1:
        return make(machine, call, items[slice(starts[0], ends[0])], BOTTOM)
    return make(machine, call, None, elements(machine, call.this, call))


def _concat(machine: Machine, call: Call) -> Value:
    parts: list[Value] | None = []
    combined: Value = BOTTOM
    for value in (call.this, *call.args, *([call.rest] if call.rest else [])):
        items = machine.items_of(value)
        spreading = [
            atom
            for atom in value
            if isinstance(atom, HeapObject) and machine.get_method(atom, "@@isConcatSpreadable")
        ]
        if spreading:
            parts = None
            for atom in spreading:
                combined = join(combined, atom.everything())
        is_array = any(isinstance(atom, HeapObject) and atom.kind in {"array", "arguments"} for atom in value)
        if items is not None and parts is not None and not call.rest:
            parts.extend(items)
        elif is_array or not all(type(atom) is str or type(atom) is Primitive for atom in value):
            parts = None
        elif parts is not None:
            parts.append(value)
        combined = join(combined, join(value, elements(machine, value, call)))
    return make(machine, call, parts, combined)


def _at(machine: Machine, call: Call) -> Value:
    items, indices = machine.items_of(call.this), integers(machine, call.arg(0), call, 0)
    if items is None or indices is None:
        return join(elements(machine, call.this, call), V_UNDEFINED)
    result: Value = BOTTOM
    for index in indices:
        inside = index is not None and -len(items) <= index < len(items)
        result = join(result, items[index] if inside and index is not None else V_UNDEFINED)
    return result


def own_join(machine: Machine, call: Call) -> Value:
    """Return what a ``join`` of the payload gives its receiver's ``toString`` (ECMA-262 §23.1.3.36)."""
    result: Value = BOTTOM
    for atom in call.this:
        if isinstance(atom, HeapObject):
            method = machine.get_method(atom, "join")
            if method:
                machine.use(method, Flow.CALLBACK, call.span)
                result = join(result, join(machine.call(method, of(atom), (), call.span), V_ANY_STRING))
    return result


def _join(machine: Machine, call: Call) -> Value:
    given = call.arg(0) if call.path.endswith("join") else V_UNDEFINED
    separators = machine.to_string(given - V_UNDEFINED, call.span)
    if UNDEFINED in given:
        separators = join(separators, of(","))
    known = [separator for separator in separators if type(separator) is str]
    unknown = separators.difference(known)
    result = own_join(machine, call) if call.path.endswith("toString") else BOTTOM
    for atom in call.this:
        if not isinstance(atom, HeapObject):
            result = join(result, V_ANY_STRING)
            continue
        machine.observe(atom)
        for separator in known:
            result = join(result, machine.joined(atom, of(separator), call.span))
        if unknown:
            result = join(result, machine.joined(atom, unknown, call.span))
    return result


def _to_locale_string(machine: Machine, call: Call) -> Value:
    pending = sorted(objects_of(elements(machine, call.this, call)), key=lambda each: each.serial)
    seen = set(pending)
    for atom in pending:
        method = machine.get_method(atom, "toLocaleString")
        machine.use(method, Flow.CALLBACK, call.span)
        machine.call(method, of(atom), (call.arg(0), call.arg(1)), call.span)
        inside = objects_of(elements(machine, of(atom), call)) - seen if atom.kind == "array" else ()
        seen.update(inside)
        pending.extend(sorted(inside, key=lambda each: each.serial))
    return V_ANY_STRING


def _array(machine: Machine, call: Call) -> Value:
    if len(call.args) == 1 and not call.rest and call.args[0] in _FEW:
        return make(machine, call, _FEW[call.args[0]], BOTTOM)
    if len(call.args) == 1 or call.rest:
        return make(machine, call, None, join(call.all(), V_UNDEFINED))
    return make(machine, call, list(call.args), BOTTOM)


def _of(machine: Machine, call: Call) -> Value:
    made = machine.construct(
        frozenset(a for a in call.this if not isinstance(a, Known)),
        call.args,
        call.span,
        call.rest,
    )
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.set_computed(of(atom), V_ANY_NUMBER, call.all(), call.span)
    return join(made, make(machine, call, None if call.rest else list(call.args), call.all()))


def _with(machine: Machine, call: Call) -> Value:
    return make(machine, call, None, join(elements(machine, call.this, call), call.arg(1)))


def _entries(machine: Machine, call: Call) -> Value:
    pair = machine.allocate("array", call.span.start, "pair")
    machine.put_item(pair, 0, V_ANY_NUMBER)
    machine.put_item(pair, 1, elements(machine, call.this, call) or V_UNDEFINED)
    return listed(machine, call, of(pair))


def listed(machine: Machine, call: Call, value: Value) -> Value:
    """Return an iterator over a value."""
    made = machine.allocate("iterator", call.span.start, call.path)
    machine.put_element(made, value)
    return made.value


# Arrays of so many holes: `Array(2).join(text)` is the text.
_FEW = {number(float(length)).value: [V_UNDEFINED] * length for length in range(5)}
_P = "Array.prototype."
TRANSFER: dict[str, Transfer] = {
    "Array": _array,
    "Array.of": _of,
    f"{_P}flat": _flat,
    f"{_P}slice": _slice,
    f"{_P}concat": _concat,
    f"{_P}at": _at,
    f"{_P}join": _join,
    f"{_P}toString": _join,
    "Uint8Array.prototype.toString": lambda machine, call: join(own_join(machine, call), V_ANY_STRING),
    f"{_P}with": _with,
    f"{_P}entries": _entries,
    f"{_P}keys": lambda machine, call: listed(machine, call, V_ANY_NUMBER),
    f"{_P}values": lambda machine, call: listed(machine, call, elements(machine, call.this, call)),
    f"{_P}indexOf": lambda _run, _call: V_ANY_NUMBER,
    f"{_P}lastIndexOf": lambda _run, _call: V_ANY_NUMBER,
    f"{_P}includes": lambda _run, _call: V_ANY_BOOLEAN,
    f"{_P}toLocaleString": _to_locale_string,
}
