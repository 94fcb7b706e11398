"""A payload's line on a terminal: aligned carets, and no control sequence that the terminal would apply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from evalward.cli.excerpt import excerpt
from evalward.guard.verdict import Location
from evalward.printable import printable

CASES = [
    ("one line", "process['exit'](0)", "process", "process['exit'](0)", "^^^^^^^"),
    ("later line", "let a\n  b = eval1\nc", "eval1", "  b = eval1", "      ^^^^^"),
    ("lone CR and U+2028", "a\rb\u2028c.x", "c", "c.x", "^"),
    ("wide characters", "'日本'; here", "here", "'日本'; here", "        ^^^^"),
    ("tab", "\ta.b", "a", " a.b", " ^"),
    ("escape sequence", "\x1b[2Jx", "x", "\\x1b[2Jx", "       ^"),
    ("bidi override", "a\u202eb", "b", "a\\u202eb", "       ^"),
    ("many lines marked", "f(\n1)\n", "f(\n1)", "f(", "^^"),
]


@pytest.mark.parametrize(
    ("code", "marked", "source", "carets"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_line_and_its_carets(code: str, marked: str, source: str, carets: str) -> None:
    payload = code.encode()
    start = payload.index(marked.encode())

    shown = excerpt(payload, Location(1, 1, start, start + len(marked.encode())))

    assert (source, carets) == (shown.source, shown.carets)


def test_a_minified_line_is_cut_around_the_finding() -> None:
    payload = b"a" * 5000 + b"HERE" + b"b" * 5000

    shown = excerpt(payload, Location(1, 5001, 5000, 5004))

    assert len(shown.source) <= 100
    assert shown.source[shown.carets.index("^") :].startswith("HERE")
    assert shown.source[0] == shown.source[-1] == "…"


def test_a_finding_at_the_end_still_has_a_caret() -> None:
    assert excerpt(b"abc", Location(1, 4, 3, 3)).carets == "   ^"


def test_bytes_that_are_not_text_are_shown_as_escapes() -> None:
    assert excerpt(b"\xff\xfe=x", Location(1, 1, 3, 4)).source == "\\xff\\xfe=x"


@given(st.text(), st.integers(0, 40), st.integers(0, 40))
def test_no_payload_drives_the_terminal(code: str, start: int, length: int) -> None:
    shown = excerpt(code.encode("utf-8", "surrogatepass"), Location(1, 1, start, start + length))

    assert shown.source.isprintable()
    assert set(shown.carets) <= {" ", "^"}
    assert "^" in shown.carets
    assert cell_len(shown.carets) <= cell_len(shown.source)


@given(st.text())
def test_printable_text_is_printable(text: str) -> None:
    assert printable(text).isprintable()
