"""URLs of documents, scripts and other pages (URL Standard; guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import worker
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    SPELLS_ANY_NAME,
    V_ANY_STRING,
    V_UNDEFINED,
    V_UNKNOWN,
    Atom,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import BLOB_MARKUP, PRIMITIVE_VALUE, SYMBOL_TO_PRIMITIVE
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.markup import is_active, is_script_url, is_scripted, runs_as_document

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


def _blob(machine: Machine, call: Call) -> Value:
    """Make a blob: markup with script in it makes a document of its URL, in a frame of the same origin."""
    made = machine.instance("Response.prototype", call.span.start)
    items = machine.items_of(call.arg(0))
    texts = [
        machine.to_string(frozenset(atom for atom in part if not _is_blob(atom)), call.span)
        for part in (items if items is not None else [machine.iterate(call.arg(0), None, call.span)])
    ]
    whole = machine.concatenated(texts) if items else BOTTOM
    markup = V_ANY_STRING
    for text in frozenset[Atom]().union(whole, *texts):
        if text is ACTIVE_MARKUP or text in SPELLS_ANY_NAME or (type(text) is str and is_scripted(text)):
            markup = join(markup, of(text if text in SPELLS_ANY_NAME else ACTIVE_MARKUP))
    for part in call.arg(0):
        markup = join(markup, _markup_inside(machine, part, call))
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put(atom, BLOB_MARKUP, markup)
    return made


def _is_blob(atom: Atom) -> bool:
    """Whether a part is a blob of the payload, whose bytes are copied: it is not converted to a text."""
    return isinstance(atom, HeapObject) and BLOB_MARKUP in atom.properties


def _markup_inside(machine: Machine, parts: Atom, call: Call) -> Value:
    """Return the markup of the blobs among the parts of a blob."""
    inner: Value = BOTTOM
    if isinstance(parts, HeapObject):
        for part in machine.iterate(of(parts), None, call.span):
            if isinstance(part, HeapObject):
                machine.observe(part)
                inner = join(inner, part.properties.get(BLOB_MARKUP, BOTTOM))
    return inner


def _slice(machine: Machine, call: Call) -> Value:
    """``blob.slice(start, end, type)``: a part of the contents under another type."""
    made = machine.instance("Response.prototype", call.span.start)
    for blob in call.this:
        if isinstance(blob, HeapObject):
            machine.observe(blob)
            for atom in made if BLOB_MARKUP in blob.properties else BOTTOM:
                if isinstance(atom, HeapObject):
                    machine.put(atom, BLOB_MARKUP, blob.properties[BLOB_MARKUP])
    return made


def _object_url(machine: Machine, call: Call) -> Value:
    """``URL.createObjectURL``: a blob that the host made may hold any text that the host was given."""
    result = V_ANY_STRING
    for atom in call.arg(0):
        own = None
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            own = atom.properties.get(BLOB_MARKUP)
        if own is None and any(_is_document(text) for text in machine.held()):
            own = of(ACTIVE_MARKUP)
        result = join(result, own or BOTTOM)
    return result


def _is_document(text: Atom) -> bool:
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
        if _is_document(text):  # `overrideMimeType` says how it is read
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
    "URL.createObjectURL": _object_url,
    "Blob": _blob,
    "Response.prototype.slice": _slice,
    "URL.prototype.toString active": lambda _run, _call: of(ACTIVE_MARKUP),
}
