"""``Promise``: values travel through ``then``, executors and combinators (ECMA-262 §27.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.arrays import elements, make
from evalward.guard.domain.atoms import (
    BOTTOM,
    NULL,
    UNDEFINED,
    UNKNOWN_PLAIN,
    V_ANY_NUMBER,
    V_UNDEFINED,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _callable(value: Value) -> Value:
    return frozenset(atom for atom in value if atom is not UNDEFINED and atom is not NULL)


def settled(machine: Machine, call: Call, value: Value, tag: str = "") -> Value:
    """Return a promise of a value."""
    made = machine.allocate("promise", call.span.start, f"{call.path}{tag}")
    machine.put_element(made, machine.await_value(value, call.span) or V_UNDEFINED)
    return of(made)


def _then(machine: Machine, call: Call) -> Value:
    value = machine.await_value(call.this, call.span)
    value = frozenset(atom for atom in value if not (isinstance(atom, HeapObject) and atom.kind == "promise"))
    result: Value = BOTTOM
    handlers = (
        [_callable(call.arg(0)), _callable(call.arg(1))]
        if call.path.endswith("then")
        else [BOTTOM, _callable(call.arg(0))]
    )
    for position, handler in enumerate(handlers):
        machine.use(handler, Flow.CALLBACK, call.span)
        argument = (
            value if position == 0 else join(join(machine.read(machine.thrown), of(UNKNOWN_PLAIN)), value)
        )
        result = join(result, machine.call(handler, V_UNDEFINED, (argument,), call.span))
    made = settled(machine, call, join(result, value))
    return made if call.path.endswith("then") else join(made, _through_then(machine, call))


def _through_then(machine: Machine, call: Call) -> Value:
    """Call the ``then`` that the payload puts over the built-in one, as ``catch`` and ``finally`` do."""
    result: Value = BOTTOM
    for atom in call.this:
        if isinstance(atom, HeapObject):
            method = machine.get_method(atom, "then")
            result = join(result, machine.call(method, of(atom), (call.arg(0), call.arg(0)), call.span))
    return result


def _finally(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    # What it gives is awaited and dropped.
    machine.await_value(machine.call(call.arg(0), V_UNDEFINED, (), call.span), call.span)
    return join(call.this, _through_then(machine, call))


def _promise(machine: Machine, call: Call) -> Value:
    made = machine.allocate("promise", call.span.start, "executor")
    ways = (
        of(machine.create_resolving_function(made)),
        of(machine.create_resolving_function(made, rejects=True)),
    )
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), V_UNDEFINED, ways, call.span)
    return of(made)


def _from_async(machine: Machine, call: Call) -> Value:
    """``Array.fromAsync``: a promise of an array of what the source yields, awaited, and mapped."""
    joined = machine.await_value(elements(machine, call.arg(0), call), call.span)
    if len(call.args) > 1:
        machine.use(call.arg(1), Flow.CALLBACK, call.span)
        made = machine.call(call.arg(1), call.arg(2), (joined, V_ANY_NUMBER), call.span)
        joined = machine.await_value(made, call.span)
    return settled(machine, call, make(machine, call, None, joined), "array")


def _resolve(machine: Machine, call: Call) -> Value:
    same = frozenset(a for a in objects_of(call.arg(0)) if a.kind == "promise" or a.prototype)
    return join(settled(machine, call, call.arg(0)), same)  # a promise is given back as it is


def _reject(machine: Machine, call: Call) -> Value:
    machine.write(machine.thrown, call.arg(0))
    return settled(machine, call, call.arg(0))


def _all(machine: Machine, call: Call) -> Value:
    array = machine.allocate("array", call.span.start, "all")
    items = machine.items_of(call.arg(0))
    if items is None or (array.items and len(array.items) != len(items)):
        machine.inexact(array)
        elements = machine.iterate(call.arg(0), None, call.span)
        machine.put_element(array, machine.await_value(elements, call.span))
    else:
        for index, item in enumerate(items):
            machine.put_item(array, index, machine.await_value(item, call.span))
    return settled(machine, call, of(array))


def _all_settled(machine: Machine, call: Call) -> Value:
    outcome = machine.allocate("object", call.span.start, "outcome")
    elements = machine.iterate(call.arg(0), None, call.span)
    value = machine.await_value(elements, call.span)
    machine.put(outcome, "status", of("fulfilled", "rejected"))
    machine.put(outcome, "value", join(value, V_UNDEFINED))
    machine.put(outcome, "reason", join(value, of(UNKNOWN_PLAIN)))
    array = machine.allocate("array", call.span.start, "outcomes")
    machine.inexact(array)
    machine.put_element(array, of(outcome))
    return settled(machine, call, of(array))


def _first(machine: Machine, call: Call) -> Value:
    return settled(machine, call, machine.iterate(call.arg(0), None, call.span))


def _any(machine: Machine, call: Call) -> Value:
    """``Promise.any``: when all are rejected, the error that is thrown holds what each was rejected with."""
    value = machine.await_value(machine.iterate(call.arg(0), None, call.span), call.span)
    errors = machine.allocate("array", call.span.start, "errors")
    machine.inexact(errors)
    machine.put_element(errors, value)
    for atom in (made := machine.instance("Error.prototype", call.span.start)):
        if isinstance(atom, HeapObject):
            machine.put(atom, "errors", of(errors))
    machine.write(machine.thrown, made)
    return settled(machine, call, value)


def _with_resolvers(machine: Machine, call: Call) -> Value:
    promise = machine.allocate("promise", call.span.start, "withResolvers")
    made = machine.allocate("object", call.span.start, "withResolvers")
    machine.put(made, "promise", of(promise))
    machine.put(made, "resolve", of(machine.create_resolving_function(promise)))
    machine.put(made, "reject", of(machine.create_resolving_function(promise, rejects=True)))
    return of(made)


def _try(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    return settled(machine, call, machine.call(call.arg(0), V_UNDEFINED, call.args[1:], call.span, call.rest))


TRANSFER: dict[str, Transfer] = {
    "Array.fromAsync": _from_async,
    "Promise": _promise,
    "Promise.resolve": _resolve,
    "Promise.reject": _reject,
    "Promise.all": _all,
    "Promise.allSettled": _all_settled,
    "Promise.any": _any,
    "Promise.race": _first,
    "Promise.withResolvers": _with_resolvers,
    "Promise.try": _try,
    "Promise.prototype.then": _then,
    "Promise.prototype.catch": _then,
    "Promise.prototype.finally": _finally,
}
