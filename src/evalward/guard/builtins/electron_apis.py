"""Electron's functions that take code or settings: IPC listeners, windows (Electron's own documentation)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import FALSE, TRUE, V_DATA, V_U1, V_UNDEFINED, Value, known

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls

# What a setting must be for the page to stay a page; any other setting of these gives it Node or another origin.
_SAFE_SETTINGS = {
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
_HARMLESS_SETTINGS = frozenset(
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


# What an application's events tell of.
_MADE = {
    "browser-window-created": "electron.BrowserWindow.prototype",
    "browser-window-focus": "electron.BrowserWindow.prototype",
    "browser-window-blur": "electron.BrowserWindow.prototype",
    "web-contents-created": "electron.webContents.prototype",
}


def _listen(run: Calls, call: Call) -> Value:
    """``ipcMain.on`` and ``handle``: the listener gets the event, then what the page sent."""
    listener = call.arg(1)
    run.use(listener, Flow.CALLBACK, call.start, call.end)
    given = [run.instance("electron.ipcEvent", call.start)]
    for name in call.arg(0):
        made = _MADE.get(name) if type(name) is str else None
        if made is not None:
            given[1:] = [run.instance(made, call.start)]
    run.call(listener, call.this, given, call.start, call.end, V_DATA)
    return call.this


def _window(run: Calls, call: Call) -> Value:
    """Make a window: a page of its own, as long as no option gives it more than a page has."""
    if not (call.args or call.rest) or _is_page_only(run, call):
        return run.instance("electron.BrowserWindow.prototype", call.start)
    atom = known("electron.BrowserWindow")
    run.report("electron", 0, call.start, call.end, atom, "a window is made")
    return run.instance("electron.BrowserWindow.prototype", call.start)


def _is_page_only(run: Calls, call: Call) -> bool:
    if call.rest:
        return False
    for options in call.arg(0):
        settings = _settled(run, options)
        if settings is None:
            return False
        for preferences in settings.get("webPreferences", frozenset()):
            chosen = _settled(run, preferences)
            if chosen is None or not all(_is_safe(name, value) for name, value in chosen.items()):
                return False
    return True


def _settled(run: Calls, atom: object) -> dict[str, Value] | None:
    """Return an object's properties when there are no others."""
    if not isinstance(atom, HeapObject) or atom.kind != "object":
        return None
    atom.readers[run.reader] = None
    if atom.escaped or atom.extensible or atom.prototype or atom.getters:
        return None
    return atom.properties


def _is_safe(name: str, value: Value) -> bool:
    safe = _SAFE_SETTINGS.get(name)
    return name in _HARMLESS_SETTINGS if safe is None else value == frozenset({safe})


def _unlisten(run: Calls, call: Call) -> Value:
    del run
    return call.this or V_U1


def _click(run: Calls, call: Call) -> Value:
    """``item.click()``: what it does is the item's role, when it has one."""
    run.clicked.add((call.start, call.end))
    return V_UNDEFINED


TRANSFER: dict[str, Transfer] = {
    "electron.MenuItem.prototype.click": _click,
    "electron.BrowserWindow": _window,
    **{f"electron.app.{name}": _listen for name in ("on", "once", "addListener", "prependListener")},
    **{f"electron.events.{name}": _listen for name in ("on", "once", "addListener", "handle", "handleOnce")},
    **{
        f"electron.events.{name}": _unlisten
        for name in ("off", "removeListener", "removeHandler", "removeAllListeners")
    },
}
