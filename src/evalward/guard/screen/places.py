"""Where words are in a text: a search for each word is several times as fast as a pattern that begins before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SPACE: Final = b" \t\n\r\f\v"
_DIRECTLY: Final = b".'\"`"


def places(source: bytes, words: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where each of the words begins and ends in a text, within longer words as well."""
    for word in words:
        end = 0
        while (start := source.find(word, end)) >= 0:
            end = start + len(word)
            yield start, end


def before(source: bytes, start: int) -> bytes:
    """Return the character before a place and the space in front of it; a line feed counts as one, nothing is empty."""
    at = start - 1
    while at >= 0 and source[at] in _SPACE:
        if source[at] == 0x0A:  # noqa: PLR2004 - a line feed
            return b"\n"
        at -= 1
    return source[at : at + 1] if at >= 0 else b""


def is_member(source: bytes, start: int) -> bool:
    """Whether what begins at a place follows a dot, with or without space, or directly a quote."""
    at = start - 1
    if at >= 0 and source[at] in _DIRECTLY:
        return True
    while at >= 0 and source[at] in _SPACE:
        at -= 1
    return at >= 0 and source[at : at + 1] == b"."
