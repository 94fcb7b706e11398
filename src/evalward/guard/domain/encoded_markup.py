"""Active markup that a text holds in base64 or in escapes, cut off anywhere (RFC 2397; RFC 4648 §4).

A ``data:`` URL, or what decodes a text, is put together with text that is not known: the part that the payload writes
may begin within the scheme, the media type or a group of four characters.
"""

from __future__ import annotations

import binascii
import re
import urllib.parse
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evalward.guard.markup import is_active

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_ALTERNATE: Final = str.maketrans("-_", "+/")
# Where a decoded byte is a character of ASCII, one bit of one character of its group is 0: the bit of 32 in the first,
# of 8 in the second, of 2 in the third.
_FIRST: Final = "[A-Za-f]"
_SECOND: Final = "[A-HQ-Xg-nw-z0-3]"
_THIRD: Final = "[ABEFIJMNQRUVYZcdghklopstwx014589]"
FOUR_OF_ASCII: Final = re.compile(
    f"{_FIRST}{_SECOND}{_THIRD}.{_FIRST}|{_SECOND}{_THIRD}.{_FIRST}{_SECOND}|{_THIRD}.{_FIRST}{_SECOND}{_THIRD}"
)
"""Base64 that may hold four characters of ASCII in a row, as all active markup and each name does."""
BEGINS_WITH_ASCII: Final = re.compile(rf"\A.{{0,3}}?{_FIRST}{_SECOND}")
"""Base64 that may begin with two characters of ASCII."""
_GROUP: Final = 4
_PADDING: Final = b"=="
# The rest of a script element whose beginning or end is missing.
_CUT_SCRIPT: Final = re.compile(r"<(?:/\s*scr|\s*scri)", re.IGNORECASE)
_SCRIPT_END: Final = re.compile(r"ript\s*>", re.IGNORECASE)
_HANDLER: Final = re.compile(r"[\s\"'/]on(?:err|loa|cli|foc|tog|poi|mou|ani)\w*\s*=", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\s*(?:https?:|[?#&.]|/(?![\w+/]{12}))", re.IGNORECASE)


def is_cut_markup(text: str) -> bool:
    """Whether a text is active markup, or a part of it that an unknown text may complete."""
    return (
        is_active(text, cut_off=True)
        or _CUT_SCRIPT.search(text) is not None
        or (">" in text and _SCRIPT_END.search(text) is not None)
    )


def holds_handler(text: str) -> bool:
    """Whether a text has an attribute that is a handler, where the beginning of its element is missing."""
    return _HANDLER.search(text) is not None


def decodings(text: str, where: re.Pattern[str] = FOUR_OF_ASCII) -> Iterator[str]:
    """Yield what the runs of base64 in a text decode to, for each place in a group of four where they may begin.

    Runs in which ``where`` finds nothing are left out: most words decode to nothing that could be a text.
    """
    for run in _RUN.findall(text):
        if where.search(run) is None:
            continue
        characters = run.translate(_ALTERNATE).encode()
        for start in range(_GROUP):
            # One character alone is less than a byte.
            end = len(characters) - ((len(characters) - start) % _GROUP == 1)
            yield binascii.a2b_base64(characters[start:end] + _PADDING).decode("latin-1")


def begins_address(text: str) -> bool:
    """Whether a text begins like what a server is asked for: no part of such a URL is decoded."""
    return _ADDRESS.match(text) is not None


@lru_cache(maxsize=256)  # each concatenation asks for its texts again
def hides_markup(text: str) -> bool:
    """Whether a text is active markup, or a part of it, once its base64 or its escapes are decoded."""
    if begins_address(text):
        return False
    if "%" in text and is_cut_markup(urllib.parse.unquote(text)):
        return True
    return any(is_cut_markup(decoded) or holds_handler(decoded) for decoded in decodings(text))
