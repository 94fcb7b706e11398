"""Literals: what a string, a template chunk, an identifier or a number means (ECMA-262 §12.8, §12.9, Annex B.1)."""

from __future__ import annotations

import re

_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<point>[0-9A-Fa-f]+)\}|u(?P<unit>[0-9A-Fa-f]{4})|x(?P<hex>[0-9A-Fa-f]{2})"
    r"|(?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?)|(?P<line>\r\n|[\n\r\u2028\u2029])|(?P<char>[^ux0-7\r\n\u2028\u2029]))",
    re.DOTALL,
)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MAX_CODE_POINT = 0x10FFFF


class _UnmodelledEscapeError(ValueError):
    """An escape that is not modelled here."""


def _expand(match: re.Match[str]) -> str:
    kind = match.lastgroup
    text = match[kind] if kind else ""
    if kind == "line":
        return ""
    if kind == "char":
        return _SIMPLE.get(text, text)
    if kind == "octal":
        return chr(int(text, 8))
    point = int(text, 16)
    if point > _MAX_CODE_POINT:
        raise _UnmodelledEscapeError
    return chr(point)


def join_surrogates(text: str) -> str:
    """Replace each surrogate pair by the code point that it stands for, so that equal strings compare equal."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def unescape(body: str) -> str | None:
    """Return the value of the text between quotes or backticks; None when an escape in it is not modelled."""
    if "\\" not in body:
        return body
    pieces: list[str] = []
    position = 0
    while (backslash := body.find("\\", position)) >= 0:
        match = _ESCAPE.match(body, backslash)
        if match is None:
            return None
        pieces.append(body[position:backslash])
        try:
            pieces.append(_expand(match))
        except _UnmodelledEscapeError:
            return None
        position = match.end()
    pieces.append(body[position:])
    return join_surrogates("".join(pieces))


def template_chunk(body: str) -> str | None:
    r"""Return the cooked value of a template chunk: line ends are ``\n`` (ECMA-262 §12.9.6)."""
    return unescape(body.replace("\r\n", "\n").replace("\r", "\n"))


def identifier(text: str) -> str:
    r"""Return an identifier's name, with ``\u`` escapes decoded (ECMA-262 §12.7.1)."""
    return text if "\\" not in text else (unescape(text) or text)


def number(text: str) -> float | None:
    """Return the value of a numeric literal, None for a BigInt or a form that is not modelled."""
    text = text.replace("_", "").lower()
    if text.endswith("n") and not text.startswith("0x"):
        return None
    try:
        if text.startswith(("0x", "0b", "0o")):
            return None if text.endswith("n") else float(int(text, 0))
        if len(text) > 1 and text[0] == "0" and text.isdigit():
            return float(int(text, 8 if not set(text) & {"8", "9"} else 10))
        return float(text)
    except (ValueError, OverflowError):
        return None


def is_index(name: str) -> bool:
    """Return whether a property name is an integer index: ``7``, but neither ``07`` nor another script's digit."""
    return name.isdigit() and name.isascii() and (name[0] != "0" or len(name) == 1)


_NUMERIC = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\Z", re.ASCII)
_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def trim(text: str) -> str:
    """Return the text without JavaScript's white space at both ends."""
    return text.strip(_WHITE_SPACE)


def to_number(text: str) -> float:
    """Return ``StringToNumber`` (ECMA-262 §7.1.4.1.1)."""
    text = trim(text)
    if not text:
        return 0.0
    prefix = text[:2].lower()
    if prefix in {"0x", "0o", "0b"}:
        try:
            digits = text[2:]
            plain = digits.isascii() and digits.isalnum()
            return float(int(digits, {"x": 16, "o": 8, "b": 2}[prefix[1]])) if plain else float("nan")
        except (ValueError, OverflowError):
            return float("nan")
    if not _NUMERIC.match(text):
        return float("nan")
    return float(text.replace("Infinity", "inf"))
