"""``Function.prototype``: ``call``, ``apply`` and ``bind`` (ECMA-262 §20.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    STRING_UNKNOWNS,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    V_ANY_STRING,
    V_UNKNOWN,
    Known,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import RUNS
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def call(machine: Machine, call: Call) -> Value:
    """``f.call(this, …)``."""
    receiver_leaves(machine, call)
    return machine.call(call.this, call.arg(0), call.args[1:], call.span, call.rest)


def run_async(machine: Machine, call: Call) -> Value:
    """Call the argument of ``_asyncToGenerator`` as an ``async`` function; call other generator functions as usual."""
    made = machine.run_async(call.arg(0), call.this, call.args[1:], call.rest)
    if made is None:
        made = machine.call(call.arg(0), call.this, call.args[1:], call.span, call.rest)
        machine.leak(made, Flow.ARGUMENT, call.span)
        return V_UNKNOWN
    return made


def receiver_leaves(machine: Machine, call: Call) -> None:
    """Judge a capability that becomes the ``this`` of a function that the payload did not write."""
    if all(isinstance(atom, HeapObject) for atom in call.this):
        return
    receiver = frozenset(
        a for a in call.arg(0) if type(a) is Known and a.label is not None and a.path != "globalThis"
    )
    machine.use(receiver, Flow.ARGUMENT, call.span)
    if any(type(a) is Known and a.path in {"document", "Element"} for a in call.arg(0)) and any(
        a is UNKNOWN_CONSTRUCTOR or a is UNKNOWN or a is UNKNOWN_NESTED_DATA for a in call.this
    ):
        for value in (*call.args[1:], call.rest):  # it may be a method that inserts markup
            machine.sink("html", value, call.span, certain=False)


def list_arguments(machine: Machine, value: Value, call: Call) -> tuple[list[Value], Value]:
    """Return the arguments that an array-like holds, and the join of those at unknown positions."""
    items = machine.items_of(value)
    if items is not None:
        return list(items), BOTTOM
    joined: Value = BOTTOM
    for atom in value:
        joined = join(joined, machine.get_element(atom, call.span.start))
    return [], joined


def apply(machine: Machine, call: Call) -> Value:
    """``f.apply(this, list)``."""
    receiver_leaves(machine, call)
    args, rest = (
        list_arguments(machine, call.arg(1), call) if len(call.args) > 1 or call.rest else ([], BOTTOM)
    )
    return machine.call(call.this, call.arg(0), args, call.span, rest)


def bind(machine: Machine, call: Call) -> Value:
    """``f.bind(this, …)``: a new function with the first arguments fixed."""
    if call.rest:
        machine.leak(call.this, Flow.ARGUMENT, call.span)
        return V_UNKNOWN
    made = machine.allocate("native", call.span.start, "bind")
    function, args = (call.this, (call.arg(0), *call.args[1:]))
    if made.bound is not None:
        function = join(function, made.bound[0])
        old = made.bound[1]
        args = tuple(join(a, old[i] if i < len(old) else BOTTOM) for i, a in enumerate(args))
    if made.bound != (function, args):
        made.bound = (function, args)
        machine.changed(made)
    names = machine.get(call.this, "name", call.span)
    texts = frozenset(name for name in names if type(name) is str or name in STRING_UNKNOWNS)
    if texts != names:
        texts = join(texts, of(""))  # of a name that is no text
    machine.put(made, "name", machine.concatenated((of("bound "), texts or V_ANY_STRING)))
    return of(made)


TRANSFER: dict[str, Transfer] = {
    "Function.prototype.call": call,
    "Function.prototype.apply": apply,
    "Function.prototype.bind": bind,
    RUNS: run_async,
}
