"""Numbers and encodings: ``parseInt``, ``toString(radix)``, ``atob``, ``decodeURI``, ``escape``."""

from __future__ import annotations

import base64
import binascii
import math
import re
import urllib.parse
from typing import TYPE_CHECKING

from evalward.guard.builtins.constant_arguments import constants, integers
from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_STRING,
    BOTTOM,
    SCHEME_LETTERS,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    Primitive,
    Value,
    number,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.function_text import function_text
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.texts import decoding_of, part_of
from evalward.guard.domain.values import join, string
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_DECIMAL = 10
_LETTERS = of(ANY_STRING, SCHEME_LETTERS)  # digits beyond the tenth are letters
_MAX_SAFE = 2**53
_MAX_DIGITS = 180  # in base 36 still a number, and far below what Python takes time for
_RESERVED = re.compile(r"%(?:23|24|26|2[bcfBCF]|3[abdfABDF]|40)")
_PERCENT = re.compile(r"%u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})")


def _parse_int(machine: Machine, call: Call) -> Value:
    texts, radices = constants(machine, call.arg(0), call), integers(machine, call.arg(1), call, 0)
    if texts is None or radices is None:
        return V_ANY_NUMBER
    if any(not text.isascii() for text in texts):
        return V_ANY_NUMBER
    try:
        return frozenset(number(_int_of(text, radix or 0)) for text in texts for radix in radices)
    except OverflowError:
        return V_ANY_NUMBER


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
    if len(digits) > _MAX_DIGITS:
        raise OverflowError
    return float(int(digits, radix)) * (-1 if sign == "-" else 1)


def _parse_float(machine: Machine, call: Call) -> Value:
    texts = constants(machine, call.arg(0), call)
    if texts is None:
        return V_ANY_NUMBER
    if any(not text.isascii() or "I" in text for text in texts):
        return V_ANY_NUMBER  # what is white space, and Infinity
    found = [
        re.match(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", literals.trim(text), re.IGNORECASE)
        for text in texts
    ]
    return frozenset(number(float(match[0]) if match else math.nan) for match in found)


def _number(machine: Machine, call: Call) -> Value:
    return machine.to_number(call.arg(0), call.span) if call.args or call.rest else number(0).value


def _number_to_string(machine: Machine, call: Call) -> Value:
    radices = integers(machine, call.arg(0), call, 10)
    values = machine.to_number(call.this, call.span)
    if radices is None:
        return _LETTERS
    result: Value = BOTTOM
    for atom in values:
        for radix in radices:
            if type(atom) is not Primitive:
                return _LETTERS if any((each or 0) > _DECIMAL for each in radices) else V_ANY_STRING
            result = join(result, _in_radix(atom, radix or _DECIMAL))
    return result


def _in_radix(atom: Primitive, radix: int) -> Value:
    value = atom.number
    if radix == _DECIMAL or not math.isfinite(value):
        return of(atom.text)
    if value != int(value) or abs(value) >= _MAX_SAFE or not 2 <= radix <= 36:  # noqa: PLR2004 - the standard's bounds
        return V_ANY_STRING
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


def _text(fold: Callable[[str], str], unknown: Callable[[Value], Value] = part_of) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        texts = constants(machine, call.arg(0), call)
        if texts is None:
            return unknown(machine.to_string(call.arg(0), call.span))
        result: Value = BOTTOM
        for text in texts:
            try:
                result = join(result, string(fold(text)))
            except (ValueError, binascii.Error):
                result = join(result, unknown(machine.to_string(call.arg(0), call.span)))
        return result

    return transfer


def _decode_uri(text: str) -> str:
    if _RESERVED.search(text):
        raise ValueError  # `decodeURI` leaves these as they are
    return _decode_uri_component(text)


def _decode_uri_component(text: str) -> str:
    return urllib.parse.unquote(text, errors="strict")


def _constant(value: Value) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        machine.use(call.all(), Flow.COERCE, call.span)
        return value

    return transfer


def _function_text(machine: Machine, call: Call) -> Value:
    """Return a function's source text, with comments, for a payload function."""
    result: Value = BOTTOM
    for atom in call.this:
        if isinstance(atom, HeapObject) and atom.callable:
            result = join(result, function_text(machine.lowered, atom))
        else:
            result = join(result, V_ANY_STRING)
    return result


TRANSFER: dict[str, Transfer] = {
    "parseInt": _parse_int,
    "parseFloat": _parse_float,
    "Number": _number,
    "Number.parseInt": _parse_int,
    "Number.parseFloat": _parse_float,
    "Number.prototype.toString": _number_to_string,
    "BigInt.prototype.toString": _number_to_string,
    "Number.prototype.valueOf": lambda machine, call: machine.to_number(call.this, call.span),
    "Boolean": lambda _run, _call: V_ANY_BOOLEAN,
    "BigInt": _constant(of(ANY_BIGINT)),
    "atob": _text(_atob, decoding_of),
    "btoa": _text(lambda text: base64.b64encode(text.encode("latin-1")).decode()),
    "decodeURIComponent": _text(_decode_uri_component, decoding_of),
    "decodeURI": _text(_decode_uri, decoding_of),
    "encodeURIComponent": _text(lambda text: urllib.parse.quote(text, safe="-_.!~*'()")),
    "encodeURI": _text(lambda text: urllib.parse.quote(text, safe="-_.!~*'();/?:@&=+$,#")),
    "unescape": _text(_unescape, decoding_of),
    "escape": _text(_escape),
    "Math.random": lambda _run, _call: V_ANY_NUMBER,
    "Date.now": lambda _run, _call: V_ANY_NUMBER,
    "Function.prototype.toString": _function_text,
}
