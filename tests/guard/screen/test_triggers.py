"""The trigger table is derived: nothing that policy decides about is missed because a word was forgotten."""

from __future__ import annotations

import pytest

from evalward.guard.catalogue import load_catalogue
from evalward.guard.constructs import CONSTRUCTS, Construct, Twins
from evalward.guard.rules import Action, Limits
from evalward.guard.screen import triggers
from evalward.guard.screen.quiet import is_quiet
from evalward.guard.screen.triggers import TRIGGERS, is_loaded
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey

BLOCKED = [
    pytest.param(twins, id=f"{label} {index}")
    for label, construct in CONSTRUCTS.items()
    if construct.default is Action.BLOCK
    for index, twins in enumerate(construct.examples)
]


@pytest.mark.parametrize("twins", BLOCKED)
def test_a_blocked_example_is_neither_quiet_nor_left_out(twins: Twins) -> None:
    programs = programs_of(twins.blocked.encode(), twins.shape, limit_bytes=131_072)
    if isinstance(programs, Rejection):
        return  # denied before the screen
    assert not all(is_quiet(program, Limits()) for program in programs)
    for program in programs:
        seen = survey(program, Limits())
        assert isinstance(seen, Rejection) or is_loaded(program.source, seen, strict=False)


def test_every_labelled_member_of_the_catalogue_is_a_trigger() -> None:
    missing: dict[str, set[str]] = {}
    for path, entry in load_catalogue().entries.items():
        labelled = {name for name, member in entry.members.items() if member.label is not None}
        reached_by = triggers._REACHED_BY.get(path)  # noqa: SLF001 - the exceptions are what is checked
        words = (
            {reached_by}
            if reached_by
            else labelled
            | {
                name
                for name, kind in entry.sinks.items()
                if kind != "text"  # `names_something` looks at how these are used
            }
        )
        if found := {word for word in words if word.encode() not in TRIGGERS}:
            missing[path] = found
    assert missing == {}


@pytest.mark.parametrize("construct", CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_a_word_of_a_construct_is_derived_from_nowhere_else(
    construct: Construct, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triggers, "CONSTRUCTS", {})
    elsewhere = triggers._words(load_catalogue())  # noqa: SLF001 - the rest of the table
    words = {word.encode() for word in construct.wakes.split()}
    assert words <= TRIGGERS
    assert words & elsewhere == set()
