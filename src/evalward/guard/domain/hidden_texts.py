r"""Texts of a payload as the host gives them back when it decodes them: turned, escaped, in other letters, as numbers.

A style sheet reads ``\6a`` as a letter, a host name is normalized (UTS #46), JSON reads ``\u006a``, and a decoder makes
text of bytes that a stream, a cache or a cipher gave back. No list of these ways is complete, so that what counts is
what the payload holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
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
_SCHEME: Final = f"{_WORD}:"
_LETTERS: Final = Counter(_SCHEME)
_CLOSE: Final = 32
"""Characters among which the letters of the scheme stand together; those of an address of 40 may be there by chance."""
_SHORT: Final = 5
"""Characters of a text of which a single one may be a part of the scheme."""
_FILLED: Final = 64
"""Characters of the longest text that is read without its filling."""
_ESCAPE: Final = re.compile(r"\\(?:u\{?|x)?([0-9a-fA-F]{1,6})\}?\s?")
_ESCAPE_OF_FOUR: Final = re.compile(r"\\u([0-9a-fA-F]{4})")  # JSON's: another digit may follow
_NUMBER: Final = re.compile(r"\d+")
_REPLACED: Final = re.compile(r"\$(?:[&'`$]|\d\d?|<[^>]*>)")
_LAST_CHARACTER: Final = 0x10FFFF
_BYTE: Final = range(9, 256)
_MIN_NUMBERS: Final = 8
_MIN_BYTES: Final = 8
"""Of the characters of ``javascript``, nine differ; an element with a handler needs more."""


def without_substitutions(text: str) -> str:
    """Return the text of a replacement without what stands for parts of the match (ECMA-262 §22.1.3.19.1)."""
    return _REPLACED.sub("", text)


def readings(text: str) -> Iterator[str]:
    """Yield what ``text`` may be read as."""
    yield text[::-1]
    if "$" in text:
        yield without_substitutions(text)
    if "\\" in text:
        yield _ESCAPE.sub(_character, text)
        yield _ESCAPE_OF_FOUR.sub(_character, text)
    if not text.isascii():
        yield unicodedata.normalize("NFKC", text)
    numbers = _NUMBER.findall(text)
    if len(numbers) >= _MIN_NUMBERS:
        yield "".join(chr(int(each)) for each in numbers if int(each) <= _LAST_CHARACTER)
    yield from decodings(text)


def hides_script_url(text: str, reading: str) -> bool:
    """Whether the scheme of a script's URL is in ``reading``, and is not in the ``text`` that it was read from."""
    return _WORD in reading.lower() and _WORD not in text.lower()


def scatters_script_url(text: str) -> bool:
    """Whether the letters of a script's scheme stand in ``text`` among others that the payload may take away.

    They stand in their order or backwards, anywhere, or close together in any order. Where the scheme stands as it is,
    a check or a selector names it.
    """
    text = text.lower()
    if _SCHEME in text or any(text.count(letter) < count for letter, count in _LETTERS.items()):
        return False
    return _follow(text) or _follow(reversed(text)) or _are_close(text)


def _follow(text: Iterable[str]) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in _SCHEME)


def _are_close(text: str) -> bool:
    # What the window of the last characters does not have; less than 0 is more than enough.
    lacking = Counter(_LETTERS)
    for end, letter in enumerate(text):
        if letter in _LETTERS:
            lacking[letter] -= 1
        if end >= _CLOSE and text[end - _CLOSE] in _LETTERS:
            lacking[text[end - _CLOSE]] += 1
        if letter in _LETTERS and max(lacking.values()) <= 0:
            return True
    return False


def spell_script_url(texts: Iterable[str]) -> bool:
    """Whether the scheme and its colon can be put together from parts of ``texts``: of each at least two characters.

    Of a short text any part will do, and the colon of any text. A text is also read backwards, and without a character
    that fills every fifth place of it. The words of ordinary payloads spell the scheme in single letters alone; a check
    names it whole, and a media type its word.
    """
    lower = [text.replace(f"/{_WORD}", "/") for text in map(str.lower, texts) if _SCHEME not in text]
    parts = "\n".join(variation for each in lower for variation in _variations(each))
    short = "\n".join(each for each in lower if len(each) <= _SHORT)
    ends = {0}
    for end in range(1, len(_SCHEME) + 1):
        for start in ends:
            part = _SCHEME[start:end]
            if part in (short if len(part) == 1 and part != ":" else parts):
                ends.add(end)
                break
    return len(_SCHEME) in ends


def _variations(text: str) -> Iterator[str]:
    yield text
    yield text[::-1]
    if len(text) <= _FILLED:
        for character in set(text):
            count = text.count(character)
            if count > 1 and count * 5 >= len(text):
                rest = text.replace(character, "")
                yield rest
                yield rest[::-1]


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return chr(code) if code <= _LAST_CHARACTER else ""


def may_be_bytes(constants: Iterable[Atom]) -> bool:
    """Whether constants are enough different bytes to spell a text that runs, or to hold one that a cipher hides."""
    numbers = {each.number for each in constants if type(each) is Primitive and each.type == "number"}
    return sum(each in _BYTE for each in numbers) >= _MIN_BYTES
