"""Places in a document: UTF-16 code units, the line ends of the protocol, texts of YAML."""

from __future__ import annotations

import pytest

from evalward.guard.target import Target
from evalward.lsp.corpus_problems import problems_of_corpus
from evalward.lsp.positions import Lines, Place, code_points
from evalward.lsp.problems import Frame, problems_of_payload
from evalward.policy import Policy

ODD_YAML = [
    "",
    "a: b",
    "- a",
    "- {code: 1, expect: 2}",
    "- {expect: *x, code: }",
    "- &a {code: *a, expect: 1}",
    "- {code: [], expect: allow}",
    "- {? [a] : b, code: 1, expect: allow}",
]
FRAME = Frame(Policy.default().allowing(Target), Target.MAIN, None, None, {})


@pytest.mark.parametrize(
    ("offset", "place"), [(0, (0, 0)), (1, (0, 2)), (2, (0, 3)), (4, (1, 0)), (6, (2, 0)), (9, (2, 3))]
)
def test_a_place_counts_code_units(offset: int, place: tuple[int, int]) -> None:
    assert Lines("𐐀a\r\nb\r\u2028cd\n").at(offset) == Place(*place)


def test_bytes_are_code_points() -> None:
    assert code_points("é𐐀a".encode(), 6) == 2


@pytest.mark.parametrize(
    ("field", "marked"),
    [
        ("process['ex' + 'it']()", (2, 8, 2, 30)),
        ("\"process['ex' + 'it']()\"", (2, 9, 2, 31)),
        ("\"'𐐀' + process[`ex` + `it`]()\"", (2, 16, 2, 38)),
        ('"process[\\x27exit\\x27]()"', (2, 8, 2, 33)),
        ("|\n    '𐐀';\n      process['ex' + 'it']()", (4, 6, 4, 28)),
        ("|-\n    process['ex' + 'it']()", (3, 4, 3, 26)),
        (">\n    process['ex' +\n    'it']()", (2, 8, 5, 0)),
    ],
)
def test_a_finding_in_a_case_is_where_the_text_is(field: str, marked: tuple[int, int, int, int]) -> None:
    text = f"- id: a\n  expect: allow\n  code: {field}\n  target: main\n"

    (problem,) = problems_of_corpus(text, FRAME) or ()

    assert (*problem.span.begin, *problem.span.end) == marked


@pytest.mark.parametrize("text", ["", "\ud800", "a\0b", "x" * 200_000, "/*", "\u202e"])
def test_any_text_is_judged(text: str) -> None:
    for problem in problems_of_payload(text, FRAME):
        assert problem.span.begin <= problem.span.end


@pytest.mark.parametrize("text", ODD_YAML)
def test_any_yaml_is_read(text: str) -> None:
    problems_of_corpus(text, FRAME)
