"""Blobs, bodies of responses and their URLs (File API §3, Fetch Standard §5; guard.md §3).

A page follows the URL of a blob as a document of its own origin. What is written as text is judged as that text. Bytes
that the payload makes hold a text that cannot be seen here, so they count as active markup where a page would read them
as a document, which their media type says: bytes of a table, a picture or an archive do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.builtins.codecs import as_texts, text_of
from evalward.guard.builtins.urls import is_document
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    DECODED_STRING,
    PRIMITIVE_UNKNOWNS,
    SPELLS_ANY_NAME,
    UNDEFINED,
    V_ANY_STRING,
    Atom,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import BLOB_BYTES, BLOB_MARKUP
from evalward.guard.domain.values import join
from evalward.guard.markup import is_scripted

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_DOCUMENT: Final = re.compile(r"html|xml|svg", re.IGNORECASE)
_BYTES: Final = frozenset(
    known(f"{name}.prototype") for name in ("Uint8Array", "ArrayBuffer", "DataView", "Buffer")
)
_HEADERS: Final = ("content-type", "Content-Type", "Content-type", "CONTENT-TYPE")


def _blob(machine: Machine, call: Call) -> Value:
    """Make a blob: markup with script in it makes a document of its URL, in a frame of the same origin."""
    items = machine.items_of(call.arg(0))
    parts = items if items is not None else [machine.iterate(call.arg(0), None, call.span)]
    return _made(machine, call, parts, _option(machine, call.arg(1), "type", call), whole=bool(items))


def _response(machine: Machine, call: Call) -> Value:
    """Make a response: the media type of the blob that it gives is the one that its headers say."""
    headers = machine.get(call.arg(1), "headers", call.span) if call.args[1:] or call.rest else BOTTOM
    said: Value = BOTTOM
    for atom in headers - {UNDEFINED}:
        if isinstance(atom, HeapObject) and atom.kind == "object" and not atom.extensible:
            for name in _HEADERS:
                said |= _option(machine, of(atom), name, call)
        else:
            said |= V_ANY_STRING
    made = _made(machine, call, [call.arg(0)], said, whole=False)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return made


def _made(machine: Machine, call: Call, parts: list[Value], media: Value, *, whole: bool) -> Value:
    made = machine.instance("Response.prototype", call.span.start)
    parts = [as_texts(machine, part) for part in parts]
    texts = [
        machine.to_string(frozenset(atom for atom in part if not _is_blob(atom)), call.span) for part in parts
    ]
    markup = V_ANY_STRING
    for text in frozenset[Atom]().union(machine.concatenated(texts) if whole else BOTTOM, *texts):
        if text is ACTIVE_MARKUP or text in SPELLS_ANY_NAME or (type(text) is str and is_scripted(text)):
            markup = join(markup, of(text if text in SPELLS_ANY_NAME else ACTIVE_MARKUP))
    for atom in frozenset[Atom]().union(*parts):
        markup = join(markup, _inside(machine, atom, BLOB_MARKUP))
    hidden = own_bytes(machine, frozenset[Atom]().union(*parts))
    if _may_be_document(media):
        markup = join(markup, hidden)
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put(atom, BLOB_MARKUP, markup)
            if hidden:
                machine.put(atom, BLOB_BYTES, hidden)
    return made


def _option(machine: Machine, options: Value, name: str, call: Call) -> Value:
    """Return an option's value, BOTTOM where it is absent."""
    return machine.get(options, name, call.span) - {UNDEFINED} if options - {UNDEFINED} else BOTTOM


def _may_be_document(media: Value) -> bool:
    """Whether a page may show contents of a media type as a document with script; without a type they are text."""
    return any(type(atom) is not str or _DOCUMENT.search(atom) for atom in media)


def own_bytes(machine: Machine, parts: Value) -> Value:
    """Return what bytes among parts may be as a document: BOTTOM if they are not the payload's own.

    What a host gave may be bytes that the host was given, once the payload has made some.
    """
    result: Value = BOTTOM
    made = machine.patches.has(BLOB_BYTES) or any(is_document(text) for text in machine.held())
    for atom in parts:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            result = join(result, atom.properties.get(BLOB_BYTES, BOTTOM))
            if _is_blob(atom):
                continue
            own = DECODED_STRING in text_of(machine, of(atom))
            if own or (_is_bytes(atom) and (made or atom.escaped)):
                result = join(result, of(ACTIVE_MARKUP))
        elif (
            made and type(atom) is not str and type(atom) is not Primitive and atom not in PRIMITIVE_UNKNOWNS
        ):
            result = join(result, of(ACTIVE_MARKUP))
    return result


def _is_bytes(atom: HeapObject) -> bool:
    return any(parent in _BYTES for parent in atom.prototype)


def _is_blob(atom: Atom) -> bool:
    """Whether a part is a blob of the payload, whose bytes are copied: it is not converted to a text."""
    return isinstance(atom, HeapObject) and BLOB_MARKUP in atom.properties


def _inside(machine: Machine, part: Atom, slot: str) -> Value:
    if not isinstance(part, HeapObject):
        return BOTTOM
    machine.observe(part)
    return part.properties.get(slot, BOTTOM)


def _slice(machine: Machine, call: Call) -> Value:
    """``blob.slice(start, end, type)``: a part of the contents under another type."""
    made = machine.instance("Response.prototype", call.span.start)
    again = _may_be_document(call.arg(2) - {UNDEFINED})
    for blob in call.this:
        markup, hidden = _inside(machine, blob, BLOB_MARKUP), _inside(machine, blob, BLOB_BYTES)
        for atom in made if markup else BOTTOM:
            if isinstance(atom, HeapObject):
                machine.put(atom, BLOB_MARKUP, join(markup, hidden) if again else markup)
                if hidden:
                    machine.put(atom, BLOB_BYTES, hidden)
    return made


def _read_blob(machine: Machine, call: Call) -> Value:
    """``response.blob()``: the same contents under the media type of the response."""
    result = machine.materialize("promise:data", call.span.start)
    own = frozenset(atom for atom in call.this if _is_blob(atom))
    for atom in result if own else BOTTOM:
        if isinstance(atom, HeapObject):
            machine.put_element(atom, own)
    return result


def _object_url(machine: Machine, call: Call) -> Value:
    """``URL.createObjectURL``: a blob that the host made may hold any text that the host was given."""
    result = V_ANY_STRING
    for atom in call.arg(0):
        own = _inside(machine, atom, BLOB_MARKUP) or None
        if own is None and any(is_document(text) for text in machine.held()):
            own = of(ACTIVE_MARKUP)
        result = join(result, own or BOTTOM)
    return result


TRANSFER: dict[str, Transfer] = {
    "Blob": _blob,
    "Response": _response,
    "Response.prototype.slice": _slice,
    "Response.prototype.blob": _read_blob,
    "URL.createObjectURL": _object_url,
}
