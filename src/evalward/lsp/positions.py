"""Places in a document: lines from 0, characters in UTF-16 code units (LSP 3.17, "Position")."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

from evalward.utf16 import utf16_length

_LINE_END: Final = re.compile("\r\n|\n|\r")  # LSP 3.17, "Text Documents": not U+2028


class Place(NamedTuple):
    """A position."""

    line: int
    character: int


class Span(NamedTuple):
    """A range; ``end`` is exclusive."""

    begin: Place
    end: Place

    def contains(self, place: Place) -> bool:
        """Return whether ``place`` is in it, or at its end."""
        return self.begin <= place <= self.end


class Lines:
    """The lines of ``text``; finds places by offsets in code points, or in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._begins = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def at(self, offset: int) -> Place:
        """Return the place of the code point at ``offset``."""
        line = bisect_right(self._begins, offset) - 1
        return Place(line, utf16_length(self.text[self._begins[line] : offset]))

    def span(self, begin: int, end: int) -> Span:
        """Return the span between two offsets in code points."""
        return Span(self.at(begin), self.at(end))

    @property
    def whole(self) -> Span:
        """The first line, for what concerns the whole text."""
        end = self._begins[1] if len(self._begins) > 1 else len(self.text)
        return self.span(0, len(self.text[:end].rstrip("\r\n")))


def code_points(code: bytes, byte_offset: int) -> int:
    """Return how many code points of ``code`` (UTF-8) are before ``byte_offset``."""
    return len(code[:byte_offset].decode("utf-8", "surrogatepass"))
