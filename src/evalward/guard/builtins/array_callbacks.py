"""Array methods that call back for each element, and ``Array.from`` (ECMA-262 §23.1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.accumulation import reached
from evalward.guard.domain.atoms import (
    BOTTOM,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_UNDEFINED,
    Value,
    number,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.conversion.operators import truthiness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer
from evalward.guard.builtins.arrays import elements, flattened, make

_MAX_UNROLLED = 64


def each(
    machine: Machine, call: Call, function: Value, *, items: Sequence[Value] | None, joined: Value
) -> list[Value]:
    """Call a callback for every item (or once for the join of all) and return its results."""
    machine.use(function, Flow.CALLBACK, call.span)
    this = call.arg(1)
    if items is not None and len(items) <= _MAX_UNROLLED:
        return [
            machine.call(function, this, (item, number(index).value, call.this), call.span)
            for index, item in enumerate(items)
        ]
    return [machine.call(function, this, (joined, V_ANY_NUMBER, call.this), call.span)] if joined else []


def _callback(result: Value | None) -> Transfer:
    """Return a method that calls back for each element; without a fixed result it gives an element."""

    def transfer(machine: Machine, call: Call) -> Value:
        items, joined = machine.items_of(call.this), elements(machine, call.this, call)
        for outcome in each(machine, call, call.arg(0), items=items, joined=joined):
            machine.use(outcome, Flow.RETURN, call.span)
        return join(joined, V_UNDEFINED) if result is None else result

    return transfer


def _map(machine: Machine, call: Call) -> Value:
    items, joined = machine.items_of(call.this), elements(machine, call.this, call)
    results = each(machine, call, call.arg(0), items=items, joined=joined)
    if items is not None and len(results) == len(items):
        return make(machine, call, results, BOTTOM)
    combined: Value = BOTTOM
    for result in results:
        combined = join(combined, result)
    return make(machine, call, None, combined)


def _flat_map(machine: Machine, call: Call) -> Value:
    items, joined = machine.items_of(call.this), elements(machine, call.this, call)
    combined: Value = BOTTOM
    for result in each(machine, call, call.arg(0), items=items, joined=joined):
        combined = join(combined, join(result, flattened(machine, result, call)))
    return make(machine, call, None, combined)


def _filter(machine: Machine, call: Call) -> Value:
    items, joined = machine.items_of(call.this), elements(machine, call.this, call)
    outcomes = each(machine, call, call.arg(0), items=items, joined=joined)
    for outcome in outcomes:
        machine.use(outcome, Flow.RETURN, call.span)
    if items is not None and len(outcomes) == len(items):
        kept = [_certainty(outcome) for outcome in outcomes]
        if None not in kept:
            return make(machine, call, [item for item, keep in zip(items, kept, strict=True) if keep], BOTTOM)
    return make(machine, call, None, joined)


def _certainty(value: Value) -> bool | None:
    """Return whether a callback's result is certainly true or certainly false."""
    known = {truthiness(atom) for atom in value}
    return known.pop() if len(known) == 1 else None


def _reduce(machine: Machine, call: Call) -> Value:
    function, items = call.arg(0), machine.items_of(call.this)
    machine.use(function, Flow.CALLBACK, call.span)
    joined = elements(machine, call.this, call)
    has_initial = len(call.args) > 1
    if items is not None and 0 < len(items) <= _MAX_UNROLLED and not call.rest:
        ordered = list(reversed(items)) if call.path.endswith("Right") else list(items)
        total = call.args[1] if has_initial else ordered.pop(0)
        first = 0 if has_initial else 1
        for position, item in enumerate(ordered, first):
            index = len(items) - 1 - position if call.path.endswith("Right") else position
            args = (total, item, number(index).value, call.this)
            total = machine.call(function, V_UNDEFINED, args, call.span)
        return total
    total = join(call.arg(1) if has_initial else joined, call.rest)
    return accumulated(machine, call, total, (joined, V_ANY_NUMBER, call.this))


def accumulated(machine: Machine, call: Call, total: Value, others: tuple[Value, ...]) -> Value:
    """Return what a reducer may make of a total in any number of rounds; each gets the total first."""
    return join(
        total,
        reached(
            lambda given: machine.call(call.arg(0), V_UNDEFINED, (join(total, given), *others), call.span)
        ),
    )


def _from(machine: Machine, call: Call) -> Value:
    source, function = call.arg(0), call.arg(1)
    items = machine.items_of(source)
    texts = [atom for atom in source if type(atom) is str]
    if items is None and len(texts) == len(source) == 1:
        items = [of(character) for character in texts[0][:MAX_ITEMS]]
    joined = elements(machine, source, call)
    for atom in source:
        if isinstance(atom, HeapObject) and atom.kind not in {"array", "arguments"}:
            joined = join(joined, atom.everything())
    if len(call.args) > 1:
        machine.use(function, Flow.CALLBACK, call.span)
        if items is not None and len(items) <= _MAX_UNROLLED:
            items = [
                machine.call(function, call.arg(2), (item, number(i).value), call.span)
                for i, item in enumerate(items)
            ]
        else:
            items = None
            joined = machine.call(function, call.arg(2), (join(joined, V_UNDEFINED), V_ANY_NUMBER), call.span)
    return make(machine, call, items, joined)


_P = "Array.prototype."
TRANSFER: dict[str, Transfer] = {
    "Array.from": _from,
    f"{_P}map": _map,
    f"{_P}flatMap": _flat_map,
    f"{_P}filter": _filter,
    f"{_P}forEach": _callback(V_UNDEFINED),
    f"{_P}find": _callback(None),
    f"{_P}findLast": _callback(None),
    f"{_P}findIndex": _callback(V_ANY_NUMBER),
    f"{_P}findLastIndex": _callback(V_ANY_NUMBER),
    f"{_P}every": _callback(V_ANY_BOOLEAN),
    f"{_P}some": _callback(V_ANY_BOOLEAN),
    f"{_P}reduce": _reduce,
    f"{_P}reduceRight": _reduce,
}
