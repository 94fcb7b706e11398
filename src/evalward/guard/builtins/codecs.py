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
from evalward.guard.domain.slots import BUFFER_VIEWS, DECODED_TEXT
from evalward.guard.domain.texts import decoding_of
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_OWN = of(DECODED_STRING)
_NUMERIC = of(ANY_NUMBER, ANY_BIGINT)
_BUFFER = known("ArrayBuffer.prototype")


def _is_number(atom: Atom) -> bool:
    return atom in _NUMERIC or (type(atom) is Primitive and atom.type == "number")


def _text_of(machine: Machine, value: Value) -> Value:
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
            if any(map(_is_number, atom.contents())):
                result = join(result, _OWN)
            views = atom.properties.get(BUFFER_VIEWS, BOTTOM) - seen
            seen |= views
            pending.extend(views)
    return result


def _keep(machine: Machine, targets: Value, text: Value) -> None:
    for atom in targets:
        if isinstance(atom, HeapObject) and text:
            machine.put(atom, DECODED_TEXT, text)


def _made(path: str) -> Transfer:
    """Return the constructor of bytes from an array, a text or other bytes."""

    def transfer(machine: Machine, call: Call) -> Value:
        text = join(_text_of(machine, call.arg(0)), _text_of(machine, call.this))
        for value in (*call.args, call.rest):
            machine.leak(value, Flow.ARGUMENT, call.span)
        made = machine.instance(path, call.span.start)
        _keep(machine, made, text)
        for atom in call.arg(0) if call.constructing else BOTTOM:
            if isinstance(atom, HeapObject) and _BUFFER in atom.prototype:
                machine.put(atom, BUFFER_VIEWS, made)
        return made if call.constructing else machine.answered(call.path, made, (*call.args, call.rest))

    return transfer


def _from(machine: Machine, call: Call) -> Value:
    """``from(source, mapper, receiver)``: the mapper gets the elements, and gives numbers."""
    if len(call.args) > 1:
        element = machine.iterate(call.arg(0), None, call.span)
        machine.use(call.arg(1), Flow.CALLBACK, call.span)
        machine.call(call.arg(1), call.arg(2), (element, V_ANY_NUMBER), call.span)
    return _MAKE(machine, call)


def _written(machine: Machine, call: Call) -> Value:
    """Write numbers or other bytes into bytes."""
    given = call.all()
    text = _text_of(machine, given) | (_OWN if any(map(_is_number, given)) else BOTTOM)
    _keep(machine, call.this, text)
    return V_UNDEFINED


def _called_back(result: Value | None) -> Transfer:
    """Return a method that calls back with numbers and the receiver; without a result it gives other bytes."""

    def transfer(machine: Machine, call: Call) -> Value:
        machine.use(call.arg(0), Flow.CALLBACK, call.span)
        machine.call(call.arg(0), call.arg(1), (_NUMERIC, V_ANY_NUMBER, call.this), call.span)
        return _MAKE(machine, call) if result is None else result

    return transfer


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
    _keep(machine, made, _text_of(machine, escaped))
    return made


def _parameter(machine: Machine, call: Call) -> Value:
    return machine.answered(call.path, of(TAINTED_STRING), (*call.args, call.rest)) | _text_of(
        machine, call.this
    )


def _decoded(machine: Machine, call: Call) -> Value:
    text = _text_of(machine, call.arg(0) if call.path.startswith("TextCodec") else call.this)
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
