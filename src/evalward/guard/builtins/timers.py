"""Timers: a function is a callback, text is compiled (HTML Standard §8.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import string_timer
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    HOST_HELD_TEXT,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_ANY_NUMBER,
    V_GLOBAL,
    V_UNDEFINED,
    Host,
    Known,
    Value,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import PRIMITIVE_VALUE, PROXY_TARGET

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


_MAX_PROXIES = 8


def _timer(machine: Machine, call: Call) -> Value:
    handler = call.arg(0)
    for atom in handler:
        textual = type(atom) is str or atom is TAINTED_DATA or atom in STRING_UNKNOWNS
        textual = textual or (isinstance(atom, HeapObject) and is_turned_into_text(atom, machine))
        if (
            type(atom) is Known
        ):  # an object: an anchor is its address, others may have a `toString` of the payload
            entry = machine.catalogue.entries.get(atom.path)
            textual = entry is not None and not entry.callable and not atom.path.endswith(".prototype")
        textual = textual or atom is HOST_HELD_TEXT
        unresolved = atom in {UNKNOWN, UNKNOWN_PLAIN} or isinstance(atom, Host)
        if textual or (machine.strict and unresolved):
            note = "text" if type(atom) is str else "a value that may be text"
            machine.report(string_timer.LABEL, Rank.USED, call.span, atom, f"{note} is handed to a timer")
    machine.use(handler, Flow.CALLBACK, call.span)
    first = 1 if call.path == "setImmediate" else 2
    machine.call(handler, V_GLOBAL, call.args[first:], call.span, call.rest)
    timeout = machine.instance("Timeout.prototype", call.span.start)  # Node's, a number elsewhere
    for atom in timeout:
        if isinstance(atom, HeapObject):
            machine.put(atom, PRIMITIVE_VALUE, V_ANY_NUMBER)
    return timeout | V_ANY_NUMBER


def is_turned_into_text(target: HeapObject, machine: Machine) -> bool:
    """Whether an object is not a function; a proxy is one when its target is."""
    for _ in range(_MAX_PROXIES):
        if target.kind != "proxy":
            return not target.callable and target.kind not in {"resolver", "rejecter"}
        machine.observe(target)
        inner = [a for a in target.properties.get(PROXY_TARGET, BOTTOM) if isinstance(a, HeapObject)]
        if len(inner) != 1:
            return False
        target = inner[0]
    return True


def _frame(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), V_UNDEFINED, (V_ANY_NUMBER,), call.span)
    return V_ANY_NUMBER


def _next_tick(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), V_UNDEFINED, call.args[1:], call.span, call.rest)
    return V_UNDEFINED


def _microtask(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), V_UNDEFINED, (), call.span)
    return V_UNDEFINED


TRANSFER: dict[str, Transfer] = {
    "setTimeout": _timer,
    "setInterval": _timer,
    "setImmediate": _timer,
    "requestAnimationFrame": _frame,
    "requestIdleCallback": _frame,
    "queueMicrotask": _microtask,
    "process.nextTick": _next_tick,
}
