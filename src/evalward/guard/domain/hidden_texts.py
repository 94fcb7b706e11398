r"""Texts of a payload as the host gives them back when it decodes them: turned, escaped, in other letters, as numbers.

A style sheet reads ``\6a`` as a letter, a host name is normalized (UTS #46), JSON reads ``\u006a``, and a decoder makes
text of bytes that a stream, a cache or a cipher gave back. No list of these ways is complete, so that what counts is
what the payload holds.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import Primitive
from evalward.guard.domain.encoded_markup import decodings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evalward.guard.domain.atoms import Atom

BYTES: Final = frozenset(
    {"TextDecoder", "TextDecoderStream", "ArrayBuffer", "DataView", "ImageData", "Buffer"}
    | {f"{kind}Array" for kind in ("Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32", "Uint32")}
)
"""The names of what makes bytes, or text of them."""
_WORD: Final = "javascript"
_ESCAPE: Final = re.compile(r"\\(?:u\{?|x)?([0-9a-fA-F]{1,6})\}?\s?")
_NUMBER: Final = re.compile(r"\d+")
_LAST_CHARACTER: Final = 0x10FFFF
_BYTE: Final = range(9, 256)
_MIN_NUMBERS: Final = 8
_MIN_BYTES: Final = 8
"""Of the characters of ``javascript``, nine differ; an element with a handler needs more."""


def readings(text: str) -> Iterator[str]:
    """Yield what ``text`` may be read as."""
    yield text[::-1]
    if "\\" in text:
        yield _ESCAPE.sub(_character, text)
    if not text.isascii():
        yield unicodedata.normalize("NFKC", text)
    numbers = _NUMBER.findall(text)
    if len(numbers) >= _MIN_NUMBERS:
        yield "".join(chr(int(each)) for each in numbers if int(each) <= _LAST_CHARACTER)
    yield from decodings(text)


def hides_script_url(text: str, reading: str) -> bool:
    """Whether the scheme of a script's URL is in ``reading``, and is not in the ``text`` that it was read from."""
    return _WORD in reading.lower() and _WORD not in text.lower()


def spell_script_url(pieces: Iterable[str]) -> bool:
    """Whether the scheme and its colon can be put together from ``pieces``, each of which is less than the word."""
    scheme = f"{_WORD}:"
    parts = {each.lower() for each in pieces if len(each) < len(_WORD)}
    ends = {0}
    for end in range(1, len(scheme) + 1):
        if any(scheme[start:end] in parts for start in ends):
            ends.add(end)
    return len(scheme) in ends


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return chr(code) if code <= _LAST_CHARACTER else ""


def may_be_bytes(constants: Iterable[Atom]) -> bool:
    """Whether constants are enough different bytes to spell a text that runs, or to hold one that a cipher hides."""
    numbers = {each.number for each in constants if type(each) is Primitive and each.type == "number"}
    return sum(each in _BYTE for each in numbers) >= _MIN_BYTES
