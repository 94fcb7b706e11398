"""What of the scheme `javascript:` a payload writes in a text with unknown parts."""

from __future__ import annotations

import pytest

from evalward.guard.domain.atoms import TAINTED_STRING, Value, of
from evalward.guard.domain.script_urls import may_be_script_url
from evalward.guard.domain.texts import unresolved_text

_UNKNOWN = of(TAINTED_STRING)


def _concatenated(pieces: list[str]) -> Value:
    """Return a concatenation from the left; ``?`` is an unknown text."""
    values = [_UNKNOWN if piece == "?" else of(piece) for piece in pieces]
    made = values[0]
    for value in values[1:]:
        made = unresolved_text((made, value))
    return made


@pytest.mark.parametrize(
    "pieces",
    [
        ["?", "avascript:1"],
        ["?", "a", "?", "s", "?", ":", "1"],
        ["j", "?", "vascript:1"],
        ["?", " AVA\tScript\n:1"],
        ["?", "avascript%3A1"],
        ["amF2YXNjcmlwdDox", "?"],
        ["?", "t", ":", "1"],
    ],
    ids=" + ".join,
)
def test_a_text_that_may_be_a_script_url(pieces: list[str]) -> None:
    """Letters of the payload and its colon make one for some value of the unknown parts."""
    assert may_be_script_url(_concatenated(pieces))


@pytest.mark.parametrize(
    "pieces",
    [
        ["?", "/path?x=", "?"],
        ["?", ":8080", "/x"],
        ["?", "://", "?"],
        ["?", "s", "/", "?", ":1"],
        ["https://x.test/", "?", ":1"],
        ["?", ": ", "?", "s"],
        ["?", "a:1"],
        ["?"],
    ],
    ids=" + ".join,
)
def test_a_text_that_is_no_script_url(pieces: list[str]) -> None:
    """An unknown that may be the whole scheme is judged as the unknown alone."""
    assert not may_be_script_url(_concatenated(pieces))
