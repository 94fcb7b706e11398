"""URLs and what they lead to: documents, scripts, another page (URL Standard; guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    ACTIVE,
    BOTTOM,
    SPELLING,
    V_STRING,
    V_U1,
    V_UNDEFINED,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.judgement import Flow
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.markup import holds_active_document, is_active, is_script_url, is_scripted

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.interpret.calls.calls import Call, Calls


def _url(run: Calls, call: Call) -> Value:
    made = run.instance("URL.prototype", call.start)
    text = run.strings(call.arg(0), call.start, call.end)
    if any(type(atom) is str and is_active(atom) for atom in text) or ACTIVE in text:
        for atom in made:
            if isinstance(atom, HeapObject):
                run.put(atom, "href", of(ACTIVE))
                run.put(atom, "protocol", of(ACTIVE))
                run.put(atom, "@@toPrimitive", of(known("URL.prototype.toString active")))
    spelt = text & SPELLING
    for atom in made if spelt else BOTTOM:
        if isinstance(atom, HeapObject):
            run.put(atom, "href", spelt)
            run.put(atom, "protocol", spelt)
            run.put(atom, "@@primitive", spelt)
    return made


def _blob(run: Calls, call: Call) -> Value:
    """Make a blob: markup with script in it makes a document of its URL, in a frame of the same origin."""
    made = run.instance("Response.prototype", call.start)
    for part in run.iterated(call.arg(0), None, call.start, call.end):
        for text in run.strings(of(part), call.start, call.end):
            if text is ACTIVE or text in SPELLING or (type(text) is str and is_scripted(text)):
                for atom in made:
                    if isinstance(atom, HeapObject):
                        run.put(atom, "@@markup", of(text if text in SPELLING else ACTIVE))
    return made


def _object_url(run: Calls, call: Call) -> Value:
    result = V_STRING
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            atom.readers[run.reader] = None
            result = join(result, atom.properties.get("@@markup", BOTTOM))
    return result


def _open(run: Calls, call: Call) -> Value:
    run.sink("navigate", call.arg(0), call.start, call.end)
    return of(known("globalThis")) if call.path == "open" else of(known("document"))


def _navigate(run: Calls, call: Call) -> Value:
    run.sink("navigate", call.arg(0), call.start, call.end)
    return V_UNDEFINED


def _perhaps_navigate(run: Calls, call: Call) -> Value:
    """Judge ``x.assign(url)`` where x may be a window's location, and ``x.open(url)`` where it may be a window."""
    if len(call.args) == 1 or call.path.endswith("open"):
        for atom in call.arg(0):
            if type(atom) is str and is_script_url(atom):
                run.report(INJECTION, 0, call.start, call.end, None, "the URL is a script")
    return V_U1


def _perhaps_worker(run: Calls, call: Call) -> Value:
    """Judge ``new x.Worker(url)`` where x may be a window: the text of a ``data:`` URL would run."""
    for atom in call.arg(0):
        if type(atom) is str and atom.strip().lower().startswith("data:"):
            run.report("worker", 0, call.start, call.end, None, "the URL is a script")
    return V_U1


def _read_document(run: Calls, call: Call) -> Value:
    """``XMLHttpRequest.open``: a ``data:`` URL with script in its markup is a document that the page may adopt."""
    for text in run.strings(call.arg(1), call.start, call.end):
        if type(text) is str and holds_active_document(text):
            run.report(INJECTION, 0, call.start, call.end, None, "the markup of the URL holds script")
    run.leak(call.all(), Flow.ARGUMENT, call.start, call.end)
    return V_UNDEFINED


TRANSFER: dict[str, Transfer] = {
    "unknown.assign": _perhaps_navigate,
    "unknown.replace": _perhaps_navigate,
    "unknown.open": _perhaps_navigate,
    "unknown.Worker": _perhaps_worker,
    "unknown.SharedWorker": _perhaps_worker,
    "TextHolder.prototype.open": _read_document,
    "URL.parse": _url,
    "location.assign": _navigate,
    "location.replace": _navigate,
    "navigation.navigate": _navigate,
    "open": _open,
    "document.open": _open,
    "URL": _url,
    "URL.createObjectURL": _object_url,
    "Blob": _blob,
    "URL.prototype.toString active": lambda _run, _call: of(ACTIVE),
}
