"""Codecs: bytes, ``TextDecoder``, ``Buffer`` and queries that decode text of the payload.

The bytes themselves are not tracked. An object that is made of the payload's own text or numbers holds, as
``@@text``, what decoding it may give.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evalward.guard.builtins import array_callbacks
from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_NUMBER,
    BOTTOM,
    DECODED_STRING,
    PRIMITIVE_UNKNOWNS,
    STRING_UNKNOWNS,
    TAINTED_STRING,
    UNDEFINED,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import BLOB_BYTES, BUFFER_VIEWS, BYTES_SOURCE, DECODED_TEXT
from evalward.guard.domain.texts import decoding_of
from evalward.guard.domain.values import join
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_OWN = of(DECODED_STRING)
_NUMERIC = of(ANY_NUMBER, ANY_BIGINT)
_BUFFER = known("ArrayBuffer.prototype")
_OF_TEXTS = frozenset({"Buffer.from", "TextCodec.prototype.encode"})


def _is_number(atom: Atom) -> bool:
    return atom in _NUMERIC or (type(atom) is Primitive and atom.type == "number")


def _holds_numbers(atom: HeapObject) -> bool:
    """Whether the payload puts numbers into an object, or texts that bytes make numbers of."""
    return any(map(_is_number, atom.contents())) or any(
        _is_number(each) or type(each) is str for each in _written_by_index(atom)
    )


def _written_by_index(atom: HeapObject) -> Value:
    bytes_alone = atom.elements if atom.kind == "object" else BOTTOM
    return bytes_alone.union(*(value for name, value in atom.properties.items() if is_index(name)))


def text_of(machine: Machine, value: Value) -> Value:
    """Return the texts that bytes may decode to, BOTTOM for bytes that are not the payload's own."""
    result: Value = BOTTOM
    pending, seen = list(value), set(value)
    for atom in pending:
        if type(atom) is str or atom in STRING_UNKNOWNS:
            found = decoding_of(of(atom))
            result = join(result, found if found != V_ANY_STRING else BOTTOM)
        elif isinstance(atom, HeapObject):
            machine.observe(atom)
            result = join(result, atom.properties.get(DECODED_TEXT, BOTTOM))
            if _holds_numbers(atom):
                result = join(result, _OWN)
            views = atom.properties.get(BUFFER_VIEWS, BOTTOM) - seen
            seen |= views
            pending.extend(views)
    return result


def _keep(machine: Machine, targets: Value, text: Value) -> None:
    if DECODED_STRING in text:
        machine.patches.put(BLOB_BYTES, _OWN)
    for atom in targets:
        if isinstance(atom, HeapObject) and text:
            machine.put(atom, DECODED_TEXT, text)


def _change(machine: Machine, target: HeapObject) -> None:
    """Note that bytes may no longer be those of the text that they were made of."""
    if BYTES_SOURCE in target.properties:
        machine.put(target, BYTES_SOURCE, V_UNDEFINED)


def as_texts(machine: Machine, value: Value) -> Value:
    """Return a value with bytes that are a text's, as they were made of it, replaced by that text."""
    result: Value = BOTTOM
    for atom in value:
        source = _source(machine, atom) if isinstance(atom, HeapObject) else BOTTOM
        result |= source or of(atom)
    return result


def _source(machine: Machine, made: HeapObject) -> Value:
    machine.observe(made)
    source = made.properties.get(BYTES_SOURCE, BOTTOM)
    if not source or UNDEFINED in source or made.escaped or _written_by_index(made):
        return BOTTOM
    for buffer in made.properties.get("buffer", BOTTOM):
        if not isinstance(buffer, HeapObject):
            return BOTTOM
        machine.observe(buffer)
        if buffer.escaped or BUFFER_VIEWS in buffer.properties:
            return BOTTOM
    return source


def _keep_source(machine: Machine, call: Call, made: Value) -> None:
    """Keep the text of ``Buffer.from(text)`` and ``encode(text)``, whose bytes are its UTF-8."""
    text = call.arg(0)
    if (
        not text
        or call.rest
        or call.args[1:]
        or not all(type(atom) is str or atom in STRING_UNKNOWNS for atom in text)
    ):
        return
    for atom in made:
        if isinstance(atom, HeapObject):
            machine.put(atom, BYTES_SOURCE, text)
            machine.put(atom, "buffer", machine.instance("ArrayBuffer.prototype", call.span.start))


def _made(path: str) -> Transfer:
    """Return the constructor of bytes from an array, a text or other bytes."""

    def transfer(machine: Machine, call: Call) -> Value:
        text = join(text_of(machine, call.arg(0)), text_of(machine, call.this))
        if call.path.endswith(".of") and any(map(_is_number, call.all())):
            text = join(text, _OWN)
        for value in (*call.args, call.rest):
            machine.leak(value, Flow.ARGUMENT, call.span)
        made = machine.instance(path, call.span.start)
        for atom in call.this:
            if isinstance(atom, HeapObject):
                _change(machine, atom)  # the method may share its memory
        _keep(machine, made, text)
        if call.path in _OF_TEXTS:
            _keep_source(machine, call, made)
        for atom in call.arg(0) if call.constructing else BOTTOM:
            if isinstance(atom, HeapObject) and _BUFFER in atom.prototype:
                machine.put(atom, BUFFER_VIEWS, made)
        return made if call.constructing else machine.answered(call.path, made, (*call.args, call.rest))

    return transfer


def _from(machine: Machine, call: Call) -> Value:
    """``from(source, mapper, receiver)``: the mapper gets the elements, and gives numbers."""
    mapped: Value = BOTTOM
    if len(call.args) > 1:
        element = machine.iterate(call.arg(0), None, call.span)
        machine.use(call.arg(1), Flow.CALLBACK, call.span)
        mapped = machine.call(call.arg(1), call.arg(2), (element, V_ANY_NUMBER), call.span)
    return _computed(machine, _MAKE(machine, call), mapped)


def _written(machine: Machine, call: Call) -> Value:
    """Write numbers or other bytes into bytes."""
    given = call.all()
    text = text_of(machine, given) | (_OWN if any(map(_is_number, given)) else BOTTOM)
    _keep(machine, call.this, text)
    for atom in call.this:
        if isinstance(atom, HeapObject):
            _change(machine, atom)
    return V_UNDEFINED


def _filled(machine: Machine, call: Call) -> Value:
    _written(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return call.this


def _called_back(result: Value | None) -> Transfer:
    """Return a method that calls back with numbers and the receiver; without a result it gives other bytes."""

    def transfer(machine: Machine, call: Call) -> Value:
        machine.use(call.arg(0), Flow.CALLBACK, call.span)
        found = machine.call(call.arg(0), call.arg(1), (_NUMERIC, V_ANY_NUMBER, call.this), call.span)
        return _computed(machine, _MAKE(machine, call), found) if result is None else result

    return transfer


def _computed(machine: Machine, made: Value, numbers: Value) -> Value:
    """Return bytes that a callback of the payload computes, or chooses: they spell what it wants."""
    if numbers:
        _keep(machine, made, _OWN)
    return made


def _reduced(machine: Machine, call: Call) -> Value:
    numbers = machine.allocate("array", call.span.start, "bytes")
    machine.inexact(numbers)
    machine.put_element(numbers, _NUMERIC)
    return array_callbacks.TRANSFER[call.path.replace("Uint8Array", "Array")](
        machine, replace(call, this=of(numbers))
    )


def _query(machine: Machine, call: Call) -> Value:
    """Make a ``URLSearchParams``: it decodes what the payload has escaped."""
    escaped = frozenset(atom for atom in call.arg(0) if type(atom) is str and "%" in atom)
    made = machine.instance("URLSearchParams.prototype", call.span.start)
    _keep(machine, made, text_of(machine, escaped))
    return made


def _parameter(machine: Machine, call: Call) -> Value:
    return machine.answered(call.path, of(TAINTED_STRING), (*call.args, call.rest)) | text_of(
        machine, call.this
    )


def _decoded(machine: Machine, call: Call) -> Value:
    text = text_of(machine, call.arg(0) if call.path.startswith("TextCodec") else call.this)
    for value in (*call.args, call.rest):
        machine.leak(value, Flow.ARGUMENT, call.span)
    made = machine.answered(call.path, V_ANY_STRING, (*call.args, call.rest))
    return join(made, text) if made <= PRIMITIVE_UNKNOWNS else made | text


_BYTES = "Uint8Array.prototype"
_MAKE = _made(_BYTES)
TRANSFER: dict[str, Transfer] = {
    "Uint8Array": _MAKE,
    "Uint8Array.from": _from,
    "Uint8Array.of": _MAKE,
    "Uint8Array.fromBase64": _MAKE,
    "Uint8Array.fromHex": _MAKE,
    **{
        f"{_BYTES}.{name}": _MAKE
        for name in (
            "reverse",
            "slice",
            "sort",
            "subarray",
            "toReversed",
            "toSorted",
            "with",
        )
    },
    **{f"{_BYTES}.{name}": _called_back(None) for name in ("filter", "map")},
    **{f"{_BYTES}.{name}": _called_back(V_ANY_BOOLEAN) for name in ("every", "some")},
    **{f"{_BYTES}.{name}": _called_back(V_ANY_NUMBER) for name in ("findIndex", "findLastIndex")},
    **{f"{_BYTES}.{name}": _called_back(join(_NUMERIC, V_UNDEFINED)) for name in ("find", "findLast")},
    f"{_BYTES}.forEach": _called_back(V_UNDEFINED),
    f"{_BYTES}.set": _written,
    f"{_BYTES}.fill": _filled,
    f"{_BYTES}.reduce": _reduced,
    f"{_BYTES}.reduceRight": _reduced,
    "DataView": _made("DataView.prototype"),
    **{
        f"DataView.prototype.set{kind}{size}": _written
        for kind, sizes in {
            "Int": (8, 16, 32),
            "Uint": (8, 16, 32),
            "Float": (16, 32, 64),
            "BigInt": (64,),
            "BigUint": (64,),
        }.items()
        for size in sizes
    },
    "Buffer.from": _made("Buffer.prototype"),
    "Buffer.concat": _made("Buffer.prototype"),
    "Buffer.prototype.toString": _decoded,
    "URLSearchParams": _query,
    "URLSearchParams.prototype.get": _parameter,
    "TextCodec.prototype.encode": _made(_BYTES),
    "TextCodec.prototype.decode": _decoded,
}
