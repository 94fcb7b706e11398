"""URLs of documents, scripts and other pages (URL Standard; guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import worker
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    SPELLS_ANY_NAME,
    V_UNDEFINED,
    V_UNKNOWN,
    Atom,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import PRIMITIVE_VALUE, SYMBOL_TO_PRIMITIVE
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.markup import is_active, is_script_url, runs_as_document

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _url(machine: Machine, call: Call) -> Value:
    made = machine.instance("URL.prototype", call.span.start)
    text = machine.to_string(call.arg(0), call.span)
    if any(type(atom) is str and is_active(atom) for atom in text) or ACTIVE_MARKUP in text:
        for atom in made:
            if isinstance(atom, HeapObject):
                machine.put(atom, "href", of(ACTIVE_MARKUP))
                machine.put(atom, "protocol", of(ACTIVE_MARKUP))
                machine.put(atom, SYMBOL_TO_PRIMITIVE, of(known("URL.prototype.toString active")))
    spelt = text & SPELLS_ANY_NAME
    for atom in made if spelt else BOTTOM:
        if isinstance(atom, HeapObject):
            machine.put(atom, "href", spelt)
            machine.put(atom, "protocol", spelt)
            machine.put(atom, PRIMITIVE_VALUE, spelt)
    return made


def is_document(text: Atom) -> bool:
    """Whether a text is a document with script in it, or the URL of one, for a reader that chooses its type."""
    return text is ACTIVE_MARKUP or (type(text) is str and runs_as_document(text))


def _open(machine: Machine, call: Call) -> Value:
    machine.sink("navigate", call.arg(0), call.span)
    return of(known("globalThis")) if call.path == "open" else of(known("document"))


def _navigate(machine: Machine, call: Call) -> Value:
    machine.sink("navigate", call.arg(0), call.span)
    machine.leak(call.all(1), Flow.ARGUMENT, call.span)  # `info` and `state` come back in events and entries
    return V_UNDEFINED


def _perhaps_navigate(machine: Machine, call: Call) -> Value:
    """Judge ``x.assign(url)`` where x may be a window's location, and ``x.open(url)`` where it may be a window."""
    if len(call.args) == 1 or call.path.endswith("open"):
        for atom in call.arg(0):
            if type(atom) is str and is_script_url(atom):
                machine.report(INJECTION, Rank.USED, call.span, None, "the URL is a script")
    return V_UNKNOWN


def _perhaps_worker(machine: Machine, call: Call) -> Value:
    """Judge ``new x.Worker(url)`` where x may be a window: the text of a ``data:`` URL would run."""
    for atom in call.arg(0):
        if type(atom) is str and atom.strip().lower().startswith("data:"):
            machine.report(worker.LABEL, Rank.USED, call.span, None, "the URL is a script")
    return V_UNKNOWN


def _read_document(machine: Machine, call: Call) -> Value:
    """``XMLHttpRequest.open``: a ``data:`` URL with script in its markup is a document that the page may adopt."""
    for text in machine.to_string(call.arg(1), call.span):
        if is_document(text):  # `overrideMimeType` says how it is read
            machine.report(INJECTION, Rank.USED, call.span, None, "the markup of the URL holds script")
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
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
    "Element.loadURL": _navigate,
    "navigation.navigate": _navigate,
    "open": _open,
    "document.open": _open,
    "URL": _url,
    "URL.prototype.toString active": lambda _run, _call: of(ACTIVE_MARKUP),
}
