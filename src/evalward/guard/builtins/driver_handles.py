"""Handles of a driver: objects of a page, or of Electron's process, that its driver holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import V_UNKNOWN, Known, Value, known, of
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def handle(machine: Machine, call: Call, held: Value) -> Value:
    """Return a handle, whose `evaluate` passes the object to a function."""
    made = machine.instance("playwright.handle", call.span.start)
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put_element(atom, held)
    return made


def behind_handles(machine: Machine, value: Value) -> Value:
    """Return the arguments with handles replaced by their objects."""
    held: Value = frozenset()
    for atom in value:
        if type(atom) is Known and atom.path == "playwright.locator":
            held |= of(known("Element"))
        if isinstance(atom, HeapObject) and known("playwright.handle") in atom.prototype:
            machine.observe(atom)
            held |= atom.elements
    return held


def _property(machine: Machine, call: Call) -> Value:
    """``handle.getProperty(name)``: a handle of the property; of ``getProperties`` a map of such."""
    is_unknown = call.path.startswith("unknown.")
    held = V_UNKNOWN if is_unknown else behind_handles(machine, call.this)
    if not call.path.endswith("Properties"):
        held = machine.get_computed(held, call.arg(0), call.span)
    made = handle(machine, call, held)
    if call.path.endswith(".get"):
        return made
    promise = machine.allocate("promise", call.span.start, "property")
    machine.put_element(promise, made | V_UNKNOWN if is_unknown else made)
    return of(promise)


def _browser_window(machine: Machine, call: Call) -> Value:
    made = machine.allocate("promise", call.span.start, "window")
    machine.put_element(
        made, handle(machine, call, machine.instance("electron.BrowserWindow.prototype", call.span.start))
    )
    return of(made)


TRANSFER: dict[str, Transfer] = {
    "playwright.electronApp.browserWindow": _browser_window,
    **{f"playwright.handle.{name}": _property for name in ("getProperty", "getProperties", "get")},
    **{
        f"{owner}.{name}": _property
        for owner in ("playwright.locator", "unknown")
        for name in ("getProperty", "getProperties")
    },
}
