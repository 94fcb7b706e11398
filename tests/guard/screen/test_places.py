"""Where words are in a text, and which character precedes them."""

from __future__ import annotations

import pytest

from evalward.guard.screen.places import before, is_member, places


def test_every_place_of_every_word_is_found() -> None:
    assert list(places(b"a.text = text; b.data", [b"text", b"data"])) == [(2, 6), (9, 13), (17, 21)]
    assert list(places(b"context", [b"text"])) == [(3, 7)], "within a longer word, too"
    assert list(places(b"none", [b"text"])) == []


@pytest.mark.parametrize(
    ("text", "member", "behind"),
    [
        (b"a.text", True, b"."),
        (b"a.\n text", True, b"\n"),
        (b"a['text", True, b"'"),
        (b"a[' text", False, b"'"),
        (b"{ text", False, b"{"),
        (b"{\n\ttext", False, b"\n"),
        (b"text", False, b""),
        (b"  text", False, b""),
    ],
)
def test_what_precedes_a_place(text: bytes, member: bool, behind: bytes) -> None:  # noqa: FBT001
    start = text.index(b"text")
    assert is_member(text, start) is member
    assert before(text, start) == behind
