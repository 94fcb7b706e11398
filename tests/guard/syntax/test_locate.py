from __future__ import annotations

import pytest

from evalward.guard.syntax.locate import locate


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029"])
def test_every_line_terminator_of_ecma_262_ends_a_line(end: str) -> None:
    payload = f"é{end}äb".encode()
    start = payload.index(b"b")
    place = locate(payload, start, start + 1)
    assert (place.line, place.column, place.start, place.end) == (2, 2, start, start + 1)


def test_offsets_outside_are_drawn_in() -> None:
    place = locate(b"abc", 9, 12)
    assert (place.line, place.column, place.start, place.end) == (1, 4, 3, 3)
