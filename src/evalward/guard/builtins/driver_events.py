"""Events of a driver's objects: its listeners are given what the payload emits (Node.js, `EventEmitter`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import V_ANY_BOOLEAN, V_UNDEFINED, V_UNKNOWN, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.slots import CONSOLE_IS_HEARD, EMITTED_ARGUMENTS, EVENT_LISTENERS

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_MAX_GIVEN: Final = 4


def _emitted(machine: Machine) -> Value:
    return machine.patches.read(EMITTED_ARGUMENTS)


def _hear(machine: Machine, call: Call) -> None:
    if any(type(name) is not str or name == "console" for name in call.arg(0)):
        machine.patches.put(CONSOLE_IS_HEARD, V_UNDEFINED)


def _listen(machine: Machine, call: Call) -> Value:
    """``page.on(name, listener)``: the listener gets what the driver tells, or what the payload emits."""
    listener = call.arg(1)
    _hear(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    machine.patches.put(EVENT_LISTENERS, listener)
    emitted = _emitted(machine)
    if emitted:
        given = V_UNKNOWN | emitted
        machine.call(listener, call.this, [given] * _MAX_GIVEN, call.span, given)
    return V_UNKNOWN


def _emit(machine: Machine, call: Call) -> Value:
    machine.leak(call.all(1), Flow.ARGUMENT, call.span)
    machine.patches.put(EMITTED_ARGUMENTS, call.all(1))
    return V_ANY_BOOLEAN


def _wait(machine: Machine, call: Call) -> Value:
    """``page.waitForEvent(name, predicate)``: a promise of what the event carries."""
    _hear(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    made = machine.allocate("promise", call.span.start, "event")
    machine.put_element(made, V_UNKNOWN | _emitted(machine))
    return of(made)


_OWNERS: Final = ("page", "context", "browser", "electronApp")

TRANSFER: dict[str, Transfer] = {
    **{
        f"playwright.{owner}.{name}": _listen
        for owner in _OWNERS
        for name in ("on", "once", "addListener", "prependListener")
    },
    **{f"playwright.{owner}.emit": _emit for owner in _OWNERS},
    **{f"playwright.{owner}.waitForEvent": _wait for owner in _OWNERS if owner != "browser"},
}
