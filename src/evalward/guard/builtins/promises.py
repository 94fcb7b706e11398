"""``Promise``: values travel through ``then``, executors and combinators (ECMA-262 §27.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.arrays import elements, make
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    NULL,
    U2,
    UNDEFINED,
    V_NUMBER,
    V_UNDEFINED,
    Value,
    join,
    of,
)

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls


def _callable(value: Value) -> Value:
    return frozenset(atom for atom in value if atom is not UNDEFINED and atom is not NULL)


def settled(run: Calls, call: Call, value: Value, tag: str = "") -> Value:
    """Return a promise of a value."""
    made = run.allocate("promise", call.start, f"{call.path}{tag}")
    run.put_element(made, run.awaited(value, call.start, call.end) or V_UNDEFINED)
    return of(made)


def _then(run: Calls, call: Call) -> Value:
    value = run.awaited(call.this, call.start, call.end)
    value = frozenset(atom for atom in value if not (isinstance(atom, HeapObject) and atom.kind == "promise"))
    result: Value = BOTTOM
    handlers = (
        [_callable(call.arg(0)), _callable(call.arg(1))]
        if call.path.endswith("then")
        else [BOTTOM, _callable(call.arg(0))]
    )
    for position, handler in enumerate(handlers):
        run.use(handler, Flow.CALLBACK, call.start, call.end)
        argument = value if position == 0 else join(join(run.read(run.thrown), of(U2)), value)
        result = join(result, run.call(handler, V_UNDEFINED, (argument,), call.start, call.end))
    made = settled(run, call, join(result, value))
    return made if call.path.endswith("then") else join(made, _through_then(run, call))


def _through_then(run: Calls, call: Call) -> Value:
    """Call the ``then`` that the payload puts over the built-in one, as ``catch`` and ``finally`` do."""
    result: Value = BOTTOM
    for atom in call.this:
        if isinstance(atom, HeapObject):
            method = run.own_or_payload(atom, "then")
            result = join(
                result, run.call(method, of(atom), (call.arg(0), call.arg(0)), call.start, call.end)
            )
    return result


def _finally(run: Calls, call: Call) -> Value:
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), V_UNDEFINED, (), call.start, call.end)
    return join(call.this, _through_then(run, call))


def _promise(run: Calls, call: Call) -> Value:
    made = run.allocate("promise", call.start, "executor")
    ways = (of(run.resolver(made)), of(run.resolver(made, rejects=True)))
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), V_UNDEFINED, ways, call.start, call.end)
    return of(made)


def _from_async(run: Calls, call: Call) -> Value:
    """``Array.fromAsync``: a promise of an array of what the source yields, awaited, and mapped."""
    joined = run.awaited(elements(run, call.arg(0), call), call.start, call.end)
    if len(call.args) > 1:
        run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
        made = run.call(call.arg(1), call.arg(2), (joined, V_NUMBER), call.start, call.end)
        joined = run.awaited(made, call.start, call.end)
    return settled(run, call, make(run, call, None, joined), "array")


def _resolve(run: Calls, call: Call) -> Value:
    return settled(run, call, call.arg(0))


def _reject(run: Calls, call: Call) -> Value:
    run.write(run.thrown, call.arg(0))
    return settled(run, call, call.arg(0))


def _all(run: Calls, call: Call) -> Value:
    array = run.allocate("array", call.start, "all")
    items = run.items_of(call.arg(0))
    if items is None or (array.items and len(array.items) != len(items)):
        run.inexact(array)
        elements = run.iterated(call.arg(0), None, call.start, call.end)
        run.put_element(array, run.awaited(elements, call.start, call.end))
    else:
        for index, item in enumerate(items):
            run.put_item(array, index, run.awaited(item, call.start, call.end))
    return settled(run, call, of(array))


def _all_settled(run: Calls, call: Call) -> Value:
    outcome = run.allocate("object", call.start, "outcome")
    elements = run.iterated(call.arg(0), None, call.start, call.end)
    value = run.awaited(elements, call.start, call.end)
    run.put(outcome, "status", of("fulfilled", "rejected"))
    run.put(outcome, "value", join(value, V_UNDEFINED))
    run.put(outcome, "reason", join(value, of(U2)))
    array = run.allocate("array", call.start, "outcomes")
    run.inexact(array)
    run.put_element(array, of(outcome))
    return settled(run, call, of(array))


def _first(run: Calls, call: Call) -> Value:
    return settled(run, call, run.iterated(call.arg(0), None, call.start, call.end))


def _any(run: Calls, call: Call) -> Value:
    """``Promise.any``: when all are rejected, the error that is thrown holds what each was rejected with."""
    value = run.awaited(run.iterated(call.arg(0), None, call.start, call.end), call.start, call.end)
    errors = run.allocate("array", call.start, "errors")
    run.inexact(errors)
    run.put_element(errors, value)
    for atom in (made := run.instance("Error.prototype", call.start)):
        if isinstance(atom, HeapObject):
            run.put(atom, "errors", of(errors))
    run.write(run.thrown, made)
    return settled(run, call, value)


def _with_resolvers(run: Calls, call: Call) -> Value:
    promise = run.allocate("promise", call.start, "withResolvers")
    made = run.allocate("object", call.start, "withResolvers")
    run.put(made, "promise", of(promise))
    run.put(made, "resolve", of(run.resolver(promise)))
    run.put(made, "reject", of(run.resolver(promise, rejects=True)))
    return of(made)


def _try(run: Calls, call: Call) -> Value:
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    return settled(
        run, call, run.call(call.arg(0), V_UNDEFINED, call.args[1:], call.start, call.end, call.rest)
    )


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
