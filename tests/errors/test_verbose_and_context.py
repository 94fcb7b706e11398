"""The optional parts of an envelope: the lines around findings, and the place of an exception."""

import pytest

from evalward.errors.context import MAX_WIDTH, source_context
from evalward.errors.stack import FULL, frames, parse_verbose
from evalward.guard.syntax.locate import locate

TEXT = "\n".join(f"line {n}" for n in range(1, 41)).encode()


def at(line: int) -> int:
    return TEXT.index(b"line %d" % line)


@pytest.mark.parametrize(("line", "first", "last"), [(20, 13, 27), (1, 1, 15), (3, 1, 15), (40, 26, 40)])
def test_one_place_is_quoted_with_fifteen_raw_lines(line: int, first: int, last: int) -> None:
    context = source_context(TEXT, [locate(TEXT, at(line), at(line) + 1)])

    assert context == {"snippet": "\n".join(f"line {n}" for n in range(first, last + 1))}


def test_several_places_get_three_lines_around_and_at_most_five_are_quoted() -> None:
    places = [locate(TEXT, at(line), at(line)) for line in range(5, 40, 5)]

    context = source_context(TEXT, [*places, places[0]])

    assert context["omitted"] == 2
    snippets = context["snippets"]
    assert isinstance(snippets, list)
    assert [each["line"] for each in snippets] == [5, 10, 15, 20, 25]
    assert snippets[0]["snippet"] == "\n".join(f"line {n}" for n in range(2, 9))


def test_a_short_payload_is_quoted_whole_and_a_long_line_is_cut_around_its_place() -> None:
    assert source_context(b"a\nb", [locate(b"a\nb", 2, 3)]) == {"snippet": "a\nb"}
    wide = b"x" * 5_000 + b"HERE" + b"y" * 5_000

    snippet = source_context(wide, [locate(wide, 5_000, 5_004)])["snippet"]

    assert isinstance(snippet, str)
    assert len(snippet) == MAX_WIDTH
    assert "HERE" in snippet


def test_without_a_place_nothing_is_quoted() -> None:
    assert source_context(TEXT, []) == {}


def test_frames_hold_no_path_and_no_text_of_the_failure() -> None:
    def inner() -> None:
        raise RuntimeError("marker_7f3a")

    try:
        inner()
    except RuntimeError as failure:
        found = frames(failure.__traceback__, FULL)
        first = frames(failure.__traceback__, 1)

    assert [frame.rpartition(" in ")[2] for frame in found] == [
        "inner",
        "test_frames_hold_no_path_and_no_text_of_the_failure",
    ]
    assert first == found[:1]
    assert not [frame for frame in found if "/" in frame or "marker" in frame]


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("5", 5), ("full", FULL)])
def test_verbosity_is_a_number_or_full(text: str, number: int) -> None:
    assert parse_verbose(text) == number


@pytest.mark.parametrize("text", ["", "-1", "all", "1e3", "99999"])
def test_other_verbosities_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        parse_verbose(text)
