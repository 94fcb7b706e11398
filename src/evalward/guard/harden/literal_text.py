"""Literals and names: what they mean, and how they are printed again in ASCII (ECMA-262 §12.7, §12.9, Annex B.1).

What the tree-sitter grammar takes for a literal and ECMA-262 does not is refused here, so that the text that is
printed always has the value that an engine would have given to the original.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evalward.guard.syntax import digits, literals

_PLAIN: Final = re.compile(r"[ !#-;=-\[\]-~]*")
_UNPLAIN: Final = re.compile(r'[^ -~]|["\\]|<(?=[/!sS])')
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}
# One escape at a time, so that an escaped backslash is never taken for the start of the next escape.
_ESCAPE: Final = re.compile(r"\\(?:(?P<legacy>[1-9]|0(?=[0-9]))|\r\n|.)", re.DOTALL)
_LINE_END: Final = re.compile(r"[\n\r]")
_DIGITS: Final = r"[0-9](?:_?[0-9])*"
_DECIMAL: Final = re.compile(
    rf"(?:(?:0|[1-9](?:_?[0-9])*)(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?\Z"
)
_LEGACY_OCTAL: Final = re.compile(r"0[0-7]+\Z")
_LEADING_ZERO: Final = re.compile(r"0[0-7]*[89][0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?\Z")
_RADIX: Final = re.compile(
    r"0(?:[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*|[oO][0-7](?:_?[0-7])*|[bB][01](?:_?[01])*)\Z"
)
_DECIMAL_BIGINT: Final = re.compile(r"(?:0|[1-9](?:_?[0-9])*)\Z")
# The two halves of a surrogate pair are no characters of a name (§12.7).
_NAME_ESCAPE: Final = re.compile(r"\\u(?:\{[0-9A-Fa-f]+\}|(?![dD][89A-Fa-f])[0-9A-Fa-f]{4})")
_ASTRAL: Final = 0x10000


class InvalidLiteralError(ValueError):
    """The text is no literal or name that an engine accepts; the message says why."""


@dataclass(frozen=True, slots=True)
class DecodedString:
    """The value of a string literal. ``octal``: it has a legacy escape, which strict code forbids (§12.9.4.1)."""

    value: str
    octal: bool


@dataclass(frozen=True, slots=True)
class Number:
    """The value of a numeric literal. ``legacy``: it begins with a zero, which strict code forbids (§12.9.3.1)."""

    value: float
    legacy: bool


@dataclass(frozen=True, slots=True)
class TemplateChunk:
    """A piece of a template literal. ``cooked`` is None where an escape is invalid, which only a tag may have."""

    cooked: str | None
    raw: str


@dataclass(frozen=True, slots=True)
class Name:
    r"""An identifier's name. ``escaped``: it was written with a ``\u`` escape, which no keyword may have."""

    text: str
    escaped: bool


def string_text(value: str) -> str:
    r"""Return a double-quoted ASCII literal of ``value`` that is also safe in the text of an HTML script element.

    Every UTF-16 code unit that is not ASCII is a ``\uXXXX`` escape, lone surrogates included.
    """
    if _PLAIN.fullmatch(value):
        return f'"{value}"'
    return f'"{_UNPLAIN.sub(_escaped, value)}"'


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or unit_escapes(char)


def unit_escapes(char: str) -> str:
    r"""Return ``\uXXXX`` for each UTF-16 code unit of one character."""
    point = ord(char)
    if point < _ASTRAL:
        return f"\\u{point:04x}"
    point -= _ASTRAL
    return f"\\u{0xD800 | point >> 10:04x}\\u{0xDC00 | point & 0x3FF:04x}"


def decoded_string(source: bytes) -> DecodedString:
    """Return what a string literal means, given with its quotes (§12.9.4.2); raise InvalidLiteralError."""
    text = _decoded(source)
    body = text[1:-1]
    if len(text) < len('""') or text[0] not in "\"'" or text[-1] != text[0]:
        raise InvalidLiteralError("the string literal has no closing quote")
    if "\\" not in body:
        _check_characters(body, text[0])
        return DecodedString(body, octal=False)
    _check_characters(_ESCAPE.sub("", body), text[0])
    value = literals.unescape(body)
    if value is None:
        raise InvalidLiteralError("the string literal has an invalid escape")
    return DecodedString(value, octal=_has_legacy_escape(body))


def _check_characters(body: str, quote: str) -> None:
    """Check the characters of a string that stand for themselves."""
    if _LINE_END.search(body):
        raise InvalidLiteralError("the string literal has a line break")
    if quote in body or "\\" in body:
        raise InvalidLiteralError("the string literal does not end at its last quote")


def _has_legacy_escape(body: str) -> bool:
    return any(match["legacy"] for match in _ESCAPE.finditer(body))


def _decoded(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise InvalidLiteralError("the literal is not UTF-8") from error


def template_chunk(source: bytes) -> TemplateChunk:
    """Return what the text of a template around its substitutions means (§12.9.6); raise InvalidLiteralError."""
    raw = _decoded(source).replace("\r\n", "\n").replace("\r", "\n")
    if "\\" not in raw:
        return TemplateChunk(raw, raw)
    if _ESCAPE.sub("", raw).find("\\") >= 0:
        raise InvalidLiteralError("the template ends in a backslash")
    cooked = None if _has_legacy_escape(raw) else literals.unescape(raw)
    return TemplateChunk(cooked, raw)


def number(source: str) -> Number:
    """Return the value of a numeric literal that is no BigInt (§12.9.3.3); raise InvalidLiteralError."""
    plain = source.replace("_", "")
    if _DECIMAL.match(source):
        return Number(float(plain), legacy=False)
    if _RADIX.match(source):
        return Number(_rounded(int(plain, 0)), legacy=False)
    if _LEGACY_OCTAL.match(source):
        return Number(_rounded(int(source, 8)), legacy=True)
    if _LEADING_ZERO.match(source):
        return Number(float(source), legacy=True)
    raise InvalidLiteralError("the number is not written as ECMA-262 allows")


def _rounded(integer: int) -> float:
    try:
        return float(integer)
    except OverflowError:
        return float("inf")


def number_text(source: str) -> str:
    """Return the decimal text of a numeric literal's value; raise InvalidLiteralError.

    It parses to the same IEEE 754 value. A value that is too large is ``(1/0)``, because ``Infinity`` is only a name.
    """
    text = digits.number_text(number(source).value)
    return "(1/0)" if text == "Infinity" else text


def is_bigint(source: str) -> bool:
    """Return whether the text of a number is that of a BigInt."""
    return source.endswith("n")


def bigint_text(source: str) -> str:
    """Return the text of a BigInt literal in the same radix, without separators; raise InvalidLiteralError."""
    body = source[:-1]
    if not is_bigint(source) or not (_DECIMAL_BIGINT.match(body) or _RADIX.match(body)):
        raise InvalidLiteralError("the BigInt is not written as ECMA-262 allows")
    return source.replace("_", "").lower()


def number_key(source: str) -> str:
    """Return the property key of a numeric literal as a string (§13.2.5.5); raise InvalidLiteralError."""
    if not is_bigint(source):
        return digits.number_text(number(source).value)
    try:
        return str(int(bigint_text(source)[:-1], 0))
    except ValueError as error:  # more digits than Python converts
        raise InvalidLiteralError("the BigInt is too long for a property key") from error


def name(source: bytes) -> Name:
    """Return an identifier's name, or a private name with its ``#`` (§12.7); raise InvalidLiteralError."""
    text = _decoded(source)
    escaped = "\\" in text
    if text.isascii() and not escaped:
        return Name(text, escaped=False)
    if _NAME_ESCAPE.sub("", text).find("\\") >= 0:
        raise InvalidLiteralError("the name has an escape that no name may have")
    value = literals.identifier(text)
    # The `#` of a private name is no part of what an escape may stand for.
    if "\\" in value or not is_identifier_name(value[text.startswith("#") :]):
        raise InvalidLiteralError("the name has a character that no name may have")
    return Name(value, escaped)


def is_identifier_name(text: str) -> bool:
    """Return whether ``text`` is an IdentifierName (§12.7)."""
    if not text or text[0] in "\u200c\u200d":
        return False
    return text.replace("$", "_").replace("\u200c", "_").replace("\u200d", "_").isidentifier()


def name_text(text: str) -> str:
    r"""Return a name in ASCII, with ``\u`` escapes for other characters."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else f"\\u{{{ord(char):x}}}" for char in text)
