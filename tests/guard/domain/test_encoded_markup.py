"""Runs of base64 that are left out decode to nothing that could be a text."""

from __future__ import annotations

import binascii
import re
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from evalward.guard.domain.encoded_markup import BEGINS_WITH_ASCII, decodings

FOUR = re.compile(r"[\x00-\x7f]{4}")
RUNS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-", min_size=8, max_size=40)


def all_decodings(run: str) -> list[str]:
    """Decode a run from each place of a group of four, by the library alone."""
    characters = run.replace("-", "+").replace("_", "/")
    found = []
    for start in range(4):
        part = characters[start:]
        if len(part) % 4 == 1:
            part = part[:-1]
        found.append(binascii.a2b_base64(part + "=" * (-len(part) % 4)).decode("latin-1"))
    return found


@given(RUNS)
def test_what_has_four_characters_of_ascii_in_a_row_is_decoded(run: str) -> None:
    wanted = [each for each in all_decodings(run) if FOUR.search(each)]
    assert set(wanted) <= set(decodings(run))


@given(RUNS)
def test_what_begins_with_two_characters_of_ascii_is_decoded(run: str) -> None:
    wanted = [each for each in all_decodings(run) if len([*takewhile(str.isascii, each)]) > 1]
    assert set(wanted) <= set(decodings(run, BEGINS_WITH_ASCII))


def test_a_word_that_decodes_to_no_text_is_left_out() -> None:
    assert [*decodings("toString")] == []
    assert next(decodings("PHNjcmlwdD4x")) == "<script>1"
