"""Timers: a function is a callback, text is compiled (HTML Standard §8.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import string_timer
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_BOOLEAN,
    ANY_NUMBER,
    BOTTOM,
    HOST_HELD_TEXT,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_ANY_NUMBER,
    V_GLOBAL,
    V_UNDEFINED,
    V_UNKNOWN,
    Host,
    Known,
    Value,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import KEPT_ARGUMENTS, PRIMITIVE_VALUE, PROXY_TARGET, SYMBOL_PREFIX
from evalward.guard.domain.values import join
from evalward.guard.interpret.unresolved_sinks import TIMER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


_MAX_PROXIES = 8
_TOLD_NOTHING: Value = V_UNKNOWN | V_UNDEFINED | {ANY_NUMBER, ANY_BOOLEAN}  # of what a payload writes
_MAX_GIVEN = 4
_TIMER = "Timeout.prototype"
_MEMBERS = f"{_TIMER}.*"  # what timers keep, and the note that the payload reads it


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
        if unresolved:
            machine.miss(TIMER, call.span)
        if textual or (machine.strict and unresolved):
            note = "text" if type(atom) is str else "a value that may be text"
            machine.report(string_timer.LABEL, Rank.USED, call.span, atom, f"{note} is handed to a timer")
    first = 1 if call.path == "setImmediate" else 2
    timeout = _start(machine, call, call.args[first:], call.rest)
    return timeout | V_ANY_NUMBER


def _start(machine: Machine, call: Call, args: Sequence[Value], rest: Value) -> Value:
    """Call a timer's callback, and return Node's timer, which keeps it and its arguments."""
    handler = call.arg(0)
    machine.use(handler, Flow.CALLBACK, call.span)
    timeout = machine.instance(_TIMER, call.span.start)
    for atom in timeout:
        if isinstance(atom, HeapObject):
            machine.put(atom, PRIMITIVE_VALUE, V_ANY_NUMBER)
    if machine.in_page:  # a number there
        machine.call(handler, V_GLOBAL, args, call.span, rest)
        return timeout
    kept = machine.materialize("array:unknown", 0, None, _MEMBERS)
    written = (_written(machine, kept) | _own_members(machine, timeout)) - kept - timeout - _TOLD_NOTHING
    if written:
        args = [join(value, written) for value in (*args, *[V_UNDEFINED] * _MAX_GIVEN)]
        rest = join(rest, written)
        machine.use(written, Flow.CALLBACK, call.span)
        handler |= written
    given = machine.call(handler, V_GLOBAL | timeout, args, call.span, rest)
    machine.use(given, Flow.RETURN, call.span)  # the timer shows its callback
    for atom in kept:
        if isinstance(atom, HeapObject):
            # A text stands for one that is not known: the texts there are those that the payload writes.
            held = frozenset(each for each in join(call.all(), given) if type(each) is not str)
            machine.extend(atom)
            machine.put(atom, KEPT_ARGUMENTS, held | kept | timeout | V_UNKNOWN | V_UNDEFINED)
            machine.put_element(atom, held | kept | timeout | V_UNKNOWN)
    for atom in timeout:
        if isinstance(atom, HeapObject):
            machine.put(atom, KEPT_ARGUMENTS, kept)
    return timeout


def _own_members(machine: Machine, timers: Value) -> Value:
    """Return what the payload wrote on timers, and what that holds: `_timerArgs` are the arguments."""
    written: Value = BOTTOM
    for atom in timers:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            if atom.extensible:
                written |= atom.elements
            for name, value in atom.properties.items():
                if not name.startswith(SYMBOL_PREFIX):
                    written |= value
    return written | _inside(machine, written)


def _inside(machine: Machine, value: Value) -> Value:
    held: Value = BOTTOM
    for atom in value:
        if isinstance(atom, HeapObject) and atom.kind in {"array", "object"}:
            machine.observe(atom)
            held |= atom.everything()
    return held


def _written(machine: Machine, kept: Value) -> Value:
    """Return what the payload may have written into what timers keep: all of it once it reads a member by name."""
    read = machine.patches.has(_MEMBERS)
    held: Value = BOTTOM
    for atom in kept:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            held |= atom.everything() - (BOTTOM if read else atom.properties.get(KEPT_ARGUMENTS, BOTTOM))
    return held | _inside(machine, held - kept)


def _make(machine: Machine, call: Call) -> Value:
    """Model ``new timer.constructor(callback, delay, args)``: `refresh` starts the timer."""
    return _start(machine, call, (), machine.iterate(call.arg(2), None, call.span))


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
    "Timeout": _make,
    "setTimeout": _timer,
    "setInterval": _timer,
    "setImmediate": _timer,
    "requestAnimationFrame": _frame,
    "requestIdleCallback": _frame,
    "queueMicrotask": _microtask,
    "process.nextTick": _next_tick,
}
