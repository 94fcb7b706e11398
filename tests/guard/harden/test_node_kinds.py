"""Node kinds: every kind of the pinned grammar is either understood or refused by name."""

from __future__ import annotations

import pytest

from evalward.guard.harden.early_errors import HANDLED
from evalward.guard.harden.node_kinds import FIELDS, REFUSED, REFUSED_TOKENS, TOKENS, unknown_node
from evalward.guard.syntax.grammar import KIND_COUNT, LANGUAGE
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape

NAMES = {
    (LANGUAGE.node_kind_for_id(number) or "", LANGUAGE.node_kind_is_named(number))
    for number in range(KIND_COUNT)
    if LANGUAGE.node_kind_is_visible(number)
}


def test_every_kind_of_the_grammar_is_listed_once() -> None:
    named = {name for name, is_named in NAMES if is_named}
    tokens = {name for name, is_named in NAMES if not is_named} - {"end"}
    assert set(FIELDS) | REFUSED == named
    assert set(FIELDS) & REFUSED == set()
    assert tokens == TOKENS | REFUSED_TOKENS
    assert set() == TOKENS & REFUSED_TOKENS


def test_every_field_is_one_of_the_grammar() -> None:
    known = {LANGUAGE.field_name_for_id(number) for number in range(1, LANGUAGE.field_count + 1)}
    used = {field for fields in FIELDS.values() for field in fields}
    assert known - used == {"attribute", "close_tag", "decorator", "open_tag"}


def test_what_the_walk_handles_is_understood() -> None:
    assert set(FIELDS) >= HANDLED


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("@a class B {}", "decorator"),
        ("class A { @b c() {} }", "decorator"),
        ("<a/>", "jsx_self_closing_element"),
        ("f(<a>b</a>)", "jsx_element"),
        ("<!-- a", "html_comment"),
        ("import a from 'b' with { type: 'json' }", "import_attribute"),
        ("class A { static get\nx() {} }", "static get"),
    ],
)
def test_is_refused_by_name(code: str, kind: str) -> None:
    programs = programs_of(code.encode(), Shape.MODULE, limit_bytes=131_072)
    assert not isinstance(programs, Rejection)
    found = unknown_node(programs[0])
    assert found is not None
    assert found.type == kind


def test_large_programs_are_walked() -> None:
    code = ";" * 61_000 + "<!-- a"
    programs = programs_of(code.encode(), Shape.SCRIPT, limit_bytes=131_072)
    assert not isinstance(programs, Rejection)
    found = unknown_node(programs[0])
    assert found is not None
    assert found.type == "html_comment"
