"""Electron's functions that take code or settings: IPC listeners, windows (Electron's own documentation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import electron, electron_lifecycle
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    FALSE,
    SPELLS_ANY_NAME,
    TRUE,
    V_ANY_BOOLEAN,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import ANY_MENU_ITEM, EMITTED_ARGUMENTS, EVENT_LISTENERS

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

# What a setting must be for the page to stay a page; any other setting of these gives it Node or another origin.
SAFE_SETTINGS = {
    "nodeIntegration": FALSE,
    "nodeIntegrationInWorker": FALSE,
    "nodeIntegrationInSubFrames": FALSE,
    "webviewTag": FALSE,
    "allowRunningInsecureContent": FALSE,
    "experimentalFeatures": FALSE,
    "enableRemoteModule": FALSE,
    "contextIsolation": TRUE,
    "sandbox": TRUE,
    "webSecurity": TRUE,
}
HARMLESS_SETTINGS = frozenset(
    {
        "devTools",
        "zoomFactor",
        "images",
        "javascript",
        "webgl",
        "spellcheck",
        "backgroundThrottling",
        "offscreen",
    }
)


# The object that each event of an application carries.
_MADE = {
    "browser-window-created": "electron.BrowserWindow.prototype",
    "browser-window-focus": "electron.BrowserWindow.prototype",
    "browser-window-blur": "electron.BrowserWindow.prototype",
    "web-contents-created": "electron.webContents.prototype",
}


_SESSION_MADE: Final = "session-created"
# What a handler of these returns goes to the page that asks, as the `returnValue` of an event does.
_ANSWERING: Final = (".handle", ".handleOnce")
# Events of Node's emitters, whose listeners are given another listener.
_ABOUT_LISTENERS: Final = frozenset({"newListener", "removeListener"})


def _listen(machine: Machine, call: Call) -> Value:
    """``ipcMain.on`` and ``handle``: the listener gets the event, then what the page sent."""
    listener = call.arg(1)
    machine.use(listener, Flow.CALLBACK, call.span)
    given = [machine.instance("electron.ipcEvent", call.span.start)]
    for name in call.arg(0):
        made = _MADE.get(name) if type(name) is str else None
        if made is not None:
            given[1:] = [machine.instance(made, call.span.start)]
        if name == _SESSION_MADE or type(name) is not str:
            given[0] |= of(
                known("electron.session.defaultSession")
            )  # the one event without an object of its own
    machine.patches.put(EVENT_LISTENERS, listener)
    emitted = machine.patches.read(EMITTED_ARGUMENTS)
    if any(name in _ABOUT_LISTENERS if type(name) is str else True for name in call.arg(0)):
        emitted |= machine.patches.read(EVENT_LISTENERS)
    given = [value | emitted for value in given]
    answer = machine.call(listener, call.this, given, call.span, V_TAINTED_DATA | emitted)
    machine.use(answer, Flow.RETURN, call.span)  # a list of the listeners gives it to its reader
    if call.path.endswith(_ANSWERING):
        machine.leak(answer, Flow.ARGUMENT, call.span)
    for event in given[0]:
        if isinstance(event, HeapObject):
            machine.observe(event)
            machine.leak(event.properties.get("returnValue", BOTTOM), Flow.ARGUMENT, call.span)
    return call.this


def _window(machine: Machine, call: Call) -> Value:
    """Make a window, and judge options that give its page more than a page has."""
    if not (call.args or call.rest) or _is_page_only(machine, call):
        return machine.instance("electron.BrowserWindow.prototype", call.span.start)
    atom = known("electron.BrowserWindow")
    machine.report(electron.LABEL, Rank.USED, call.span, atom, "a window is made")
    return machine.instance("electron.BrowserWindow.prototype", call.span.start)


def _is_page_only(machine: Machine, call: Call) -> bool:
    if call.rest:
        return False
    for options in call.arg(0):
        settings = _settled(machine, options)
        if settings is None:
            return False
        for preferences in settings.get("webPreferences", frozenset()):
            chosen = _settled(machine, preferences)
            if chosen is None or not all(_is_safe(name, value) for name, value in chosen.items()):
                return False
    return True


def _settled(machine: Machine, atom: object) -> dict[str, Value] | None:
    """Return an object's properties when there are no others."""
    if not isinstance(atom, HeapObject) or atom.kind != "object":
        return None
    machine.observe(atom)
    if atom.escaped or atom.extensible or atom.prototype or atom.getters:
        return None
    return atom.properties


def _is_safe(name: str, value: Value) -> bool:
    safe = SAFE_SETTINGS.get(name)
    return name in HARMLESS_SETTINGS if safe is None else value == frozenset({safe})


def _unlisten(machine: Machine, call: Call) -> Value:
    del machine
    return call.this or V_UNKNOWN


# Events at which an application ends, asks whether it may, or is started again (Electron's `app`).
_ENDING: Final = frozenset(
    {
        *("window-all-closed", "before-quit", "will-quit", "quit", "before-quit-for-update"),
        *("session-end", "query-session-end"),
    }
)
_LOAD: Value = of(known("electron.webContents.prototype.loadURL"))
_LISTENER: Value = of(known("electron.app.quit", electron_lifecycle.LABEL))


def _may_end(machine: Machine, call: Call) -> bool:
    return any(
        atom in _ENDING if type(atom) is str else machine.strict or atom in SPELLS_ANY_NAME
        for atom in call.arg(0)
    )


def _emit(machine: Machine, call: Call) -> Value:
    """``app.emit(name, …)``: runs what the application does at an event, and it may quit at its end.

    The listeners of the payload are given the arguments.
    """
    if _may_end(machine, call):
        note = "an event of the application's end is emitted"
        machine.report(electron_lifecycle.LABEL, Rank.USED, call.span, None, note)
    machine.leak(call.all(1), Flow.ARGUMENT, call.span)
    machine.patches.put(EMITTED_ARGUMENTS, call.all(1))
    return V_ANY_BOOLEAN


def _listeners(machine: Machine, call: Call) -> Value:
    """``app.listeners(name)``: functions of the application; those of its end are as good as ``app.quit``."""
    made = machine.materialize("array:unknown", call.span.start)
    own = machine.patches.read(EVENT_LISTENERS)
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put_element(atom, own)
    if _may_end(machine, call):
        for atom in made:
            if isinstance(atom, HeapObject):
                machine.put_element(atom, _LISTENER)
    return made


def _item_by_id(machine: Machine, call: Call) -> Value:
    """``menu.getMenuItemById(id)``: which item that is, no text says that the payload composes itself.

    An id from the caller is the item that the caller means; ``strict`` judges it as any item.
    """
    found = machine.instance("electron.MenuItem.prototype", call.span.start)
    name = machine.to_string(call.arg(0), call.span)
    if name & SPELLS_ANY_NAME or (machine.strict and not all(type(atom) is str for atom in name)):
        machine.patches.put(ANY_MENU_ITEM, V_UNDEFINED)
    return found


def _click(machine: Machine, call: Call) -> Value:
    """``item.click()``: runs the item's role, if it has one."""
    machine.click(call.span)
    return V_UNDEFINED


def _restore(machine: Machine, call: Call) -> Value:
    """``navigationHistory.restore({ entries })``: loads the URL of an entry."""
    entries = machine.get(call.arg(0), "entries", call.span)
    urls = machine.get(machine.iterate(entries, None, call.span), "url", call.span)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.call(_LOAD, V_UNDEFINED, (urls,), call.span)


TRANSFER: dict[str, Transfer] = {
    "electron.navigationHistory.restore": _restore,
    "electron.Menu.prototype.getMenuItemById": _item_by_id,
    "electron.MenuItem.prototype.click": _click,
    "electron.BrowserWindow": _window,
    "electron.app.emit": _emit,
    "electron.app.listeners": _listeners,
    "electron.app.rawListeners": _listeners,
    **{f"electron.app.{name}": _listen for name in ("on", "once", "addListener", "prependListener")},
    **{f"electron.events.{name}": _listen for name in ("on", "once", "addListener", "handle", "handleOnce")},
    **{
        f"electron.events.{name}": _unlisten
        for name in ("off", "removeListener", "removeHandler", "removeAllListeners")
    },
}
