"""Numbers and encodings: ``parseInt``, ``toString(radix)``, ``atob``, ``decodeURI``, ``escape``, ``JSON``."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

from evalward.guard.resolver import literals
from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.natives.strings import constants, integers, unknown_like
from evalward.guard.resolver.values import (
    BOTTOM,
    FALSE,
    NULL,
    TEXT,
    TRUE,
    V_BOOLEAN,
    V_DATA,
    V_NUMBER,
    V_STRING,
    Primitive,
    Value,
    join,
    number,
    of,
    string,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.resolver.calls import Call, Calls
    from evalward.guard.resolver.natives import Transfer

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAX_JSON_NODES = 2_000
_MAX_SAFE = 2**53
_RESERVED = re.compile(r"%(?:23|24|26|2[bcfBCF]|3[abdfABDF]|40)")
_PERCENT = re.compile(r"%u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})")


def _parse_int(run: Calls, call: Call) -> Value:
    texts, radices = constants(run, call.arg(0), call), integers(run, call.arg(1), call, 0)
    if texts is None or radices is None:
        return V_NUMBER
    if any(not text.isascii() for text in texts):
        return V_NUMBER
    return frozenset(number(_int_of(text, radix or 0)) for text in texts for radix in radices)


def _int_of(text: str, radix: int) -> float:
    match = re.match(r"[+-]?", text := literals.trim(text))
    sign = match[0] if match else ""
    text = text[len(sign) :].lower()
    if radix in {0, 16} and text.startswith("0x"):
        text, radix = text[2:], 16
    radix = radix or 10
    digits = ""
    for character in text:
        if character not in _DIGITS[:radix]:
            break
        digits += character
    if not digits or not 2 <= radix <= 36:  # noqa: PLR2004 - the bounds of the standard
        return math.nan
    return float(int(digits, radix)) * (-1 if sign == "-" else 1)


def _parse_float(run: Calls, call: Call) -> Value:
    texts = constants(run, call.arg(0), call)
    if texts is None:
        return V_NUMBER
    if any(not text.isascii() or "I" in text for text in texts):
        return V_NUMBER  # what is white space, and Infinity
    found = [
        re.match(r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)", literals.trim(text), re.IGNORECASE)
        for text in texts
    ]
    return frozenset(number(float(match[0]) if match else math.nan) for match in found)


def _number(run: Calls, call: Call) -> Value:
    return run.numbers(call.arg(0), call.start, call.end) if call.args or call.rest else of(number(0))


def _number_to_string(run: Calls, call: Call) -> Value:
    radices = integers(run, call.arg(0), call, 10)
    values = run.numbers(call.this, call.start, call.end)
    if radices is None:
        return V_STRING
    result: Value = BOTTOM
    for atom in values:
        for radix in radices:
            if type(atom) is not Primitive:
                return V_STRING
            result = join(result, _in_radix(atom, radix or 10))
    return result


def _in_radix(atom: Primitive, radix: int) -> Value:
    value = atom.number
    if radix == 10 or not math.isfinite(value):  # noqa: PLR2004 - decimal
        return of(atom.text)
    if value != int(value) or abs(value) >= _MAX_SAFE or not 2 <= radix <= 36:  # noqa: PLR2004 - the standard's bounds
        return V_STRING
    rest, digits = abs(int(value)), ""
    while rest:
        rest, digit = divmod(rest, radix)
        digits = _DIGITS[digit] + digits
    return of(("-" if value < 0 else "") + (digits or "0"))


def _atob(text: str) -> str:
    compact = re.sub(r"[\t\n\f\r ]", "", text).rstrip("=")
    return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True).decode("latin-1")


def _unescape(text: str) -> str:
    return _PERCENT.sub(lambda match: chr(int(match[1] or match[2], 16)), text)


def _escape(text: str) -> str:
    kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@*_+-./"
    return "".join(c if c in kept else f"%{ord(c):02X}" if ord(c) < 256 else f"%u{ord(c):04X}" for c in text)  # noqa: PLR2004


def _text(fold: Callable[[str], str]) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        texts = constants(run, call.arg(0), call)
        if texts is None:
            return unknown_like(run.strings(call.arg(0), call.start, call.end))
        result: Value = BOTTOM
        for text in texts:
            try:
                result = join(result, string(fold(text)))
            except (ValueError, binascii.Error):
                result = join(result, V_STRING)
        return result

    return transfer


def _decode_uri(text: str) -> str:
    if _RESERVED.search(text):
        raise ValueError  # `decodeURI` leaves these as they are
    return urllib.parse.unquote(text, errors="strict")


def _json_parse(run: Calls, call: Call) -> Value:
    texts = constants(run, call.arg(0), call)
    made = V_DATA
    if texts is not None:
        made = BOTTOM
        for position, text in enumerate(texts):
            try:
                document = json.loads(text)
            except (ValueError, RecursionError):
                continue
            made = join(made, from_json(run, document, call.start, f"json{position}"))
    if len(call.args) > 1:
        reviver = call.arg(1)
        run.use(reviver, Flow.CALLBACK, call.start, call.end)
        holder = run.allocate("object", call.start, "holder")
        holder.extensible = True
        run.put_element(holder, made)
        keys = V_STRING if texts is not None else of(TEXT)
        revived = run.call(reviver, of(holder), (keys, join(made, V_DATA), of(holder)), call.start, call.end)
        return join(revived, run.get_element(holder, call.start))
    return made


def from_json(run: Calls, document: Any, start: int, tag: str) -> Value:
    """Return the value of parsed JSON; past a size it is data like any other."""
    run.spend()
    if isinstance(document, str):
        return string(document)
    if isinstance(document, bool):
        return of(TRUE if document else FALSE)
    if isinstance(document, (int, float)):
        return of(number(float(document)))
    if document is None:
        return of(NULL)
    if len(tag) > _MAX_JSON_NODES:
        return V_DATA
    made = run.allocate("array" if isinstance(document, list) else "object", start, tag)
    entries = enumerate(document) if isinstance(document, list) else document.items()
    for position, (key, value) in enumerate(entries):
        inner = from_json(run, value, start, f"{tag}.{position}")
        if isinstance(document, list):
            run.put_item(made, position, inner)
        else:
            run.put(made, str(key), inner)
    return of(made)


def reachable(run: Calls, value: Value) -> Value:
    """Return the join of a value and all that is in it, as deep as it goes."""
    result, pending = value, [atom for atom in value if isinstance(atom, HeapObject)]
    seen = set(pending)
    while pending:
        target = pending.pop()
        target.readers.add(run.unit)
        run.spend()
        inside = target.everything()
        result = join(result, inside)
        for atom in inside:
            if isinstance(atom, HeapObject) and atom not in seen:
                seen.add(atom)
                pending.append(atom)
    return result


def _json_stringify(run: Calls, call: Call) -> Value:
    value, replacer = call.arg(0), call.arg(1)
    functions = frozenset(a for a in replacer if not (type(a) is Primitive or type(a) is str))
    if functions:
        run.use(functions, Flow.CALLBACK, call.start, call.end)
        inside = reachable(run, value)
        run.call(functions, inside, (V_STRING, inside), call.start, call.end)
        return V_STRING
    for atom in reachable(run, value):
        if isinstance(atom, HeapObject):
            convert = run.own_or_payload(atom, "toJSON")
            if convert:
                run.use(convert, Flow.CALLBACK, call.start, call.end)
                run.call(convert, of(atom), (V_STRING,), call.start, call.end)
    run.use(value, Flow.COERCE, call.start, call.end)
    texts = [atom for atom in value if type(atom) is str]
    if texts and len(texts) == len(value):
        return frozenset(json.dumps(text, ensure_ascii=False) for text in texts)
    document = _document(run, value, 0) if len(call.args) == 1 else _UNKNOWN
    if document is not _UNKNOWN:
        return string(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    primitives = [atom for atom in value if type(atom) is Primitive]
    if primitives and len(primitives) == len(value):
        return frozenset(atom.text for atom in primitives)
    return of(TEXT) if TEXT in value else V_STRING


_UNKNOWN = object()
_MAX_DOCUMENT_DEPTH = 8


def _document(run: Calls, value: Value, depth: int) -> Any:
    """Return the JSON document that a value certainly is, ``_UNKNOWN`` otherwise."""
    if len(value) != 1 or depth > _MAX_DOCUMENT_DEPTH:
        return _UNKNOWN
    (atom,) = value
    if type(atom) is str:
        return atom
    if (
        type(atom) is Primitive
        and atom.type == "number"
        and abs(atom.number) < _MAX_SAFE
        and atom.number == int(atom.number)
    ):
        return int(atom.number)
    if atom is TRUE or atom is FALSE or atom is NULL:
        return {TRUE: True, FALSE: False, NULL: None}[atom]
    if (
        not isinstance(atom, HeapObject)
        or atom.escaped
        or atom.extensible
        or atom.prototype
        or atom.getters
        or atom.uncertain
    ):
        return _UNKNOWN
    atom.readers.add(run.unit)
    run.spend(len(atom.properties) + len(atom.items))
    if atom.kind == "array" and atom.exact and not atom.properties:
        made = [_document(run, item, depth + 1) for item in atom.items]
        return _UNKNOWN if _UNKNOWN in made else made
    if atom.kind != "object" or any(name.startswith("@@") or name.isdigit() for name in atom.properties):
        return _UNKNOWN
    members = {name: _document(run, item, depth + 1) for name, item in atom.properties.items()}
    return _UNKNOWN if _UNKNOWN in members.values() else members


def _constant(value: Value) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        run.use(call.all(), Flow.COERCE, call.start, call.end)
        return value

    return transfer


TRANSFER: dict[str, Transfer] = {
    "parseInt": _parse_int,
    "parseFloat": _parse_float,
    "Number": _number,
    "Number.parseInt": _parse_int,
    "Number.parseFloat": _parse_float,
    "Number.prototype.toString": _number_to_string,
    "Number.prototype.valueOf": lambda run, call: run.numbers(call.this, call.start, call.end),
    "Boolean": lambda _run, _call: V_BOOLEAN,
    "BigInt": _constant(V_NUMBER),
    "atob": _text(_atob),
    "btoa": _text(lambda text: base64.b64encode(text.encode("latin-1")).decode()),
    "decodeURIComponent": _text(_decode_uri),
    "decodeURI": _text(_decode_uri),
    "encodeURIComponent": _text(lambda text: urllib.parse.quote(text, safe="-_.!~*'()")),
    "encodeURI": _text(lambda text: urllib.parse.quote(text, safe="-_.!~*'();/?:@&=+$,#")),
    "unescape": _text(_unescape),
    "escape": _text(_escape),
    "JSON.parse": _json_parse,
    "JSON.stringify": _json_stringify,
    "Math.random": lambda _run, _call: V_NUMBER,
    "Date.now": lambda _run, _call: V_NUMBER,
    "Function.prototype.toString": _constant(V_STRING),
}
