"""What the payload puts on objects of the host is found by its name, and a change wakes what read that name alone."""

from __future__ import annotations

import pytest

from evalward.guard.domain.atoms import ANY_STRING, BOTTOM, V_UNDEFINED, of
from evalward.guard.domain.heap import Outcome
from evalward.guard.interpret.dataflow import MAX_OBJECT_GROWTH, Dataflow
from evalward.guard.interpret.patches import Patches
from evalward.guard.lower.lower import lower


@pytest.fixture
def dataflow() -> Dataflow:
    return Dataflow(lower(b"", [], expression=False, module=False, script=True), budget=1_000)


def _reader(dataflow: Dataflow) -> Outcome:
    """Make a call the reader; it stands until something that it read changes."""
    made = Outcome(0)
    made.stands = True
    dataflow.reader = made
    return made


def test_a_change_wakes_what_read_the_name_and_nothing_else(dataflow: Dataflow) -> None:
    patches = Patches(dataflow)
    source = _reader(dataflow)
    assert patches.read("Element.src") == BOTTOM
    title = _reader(dataflow)
    assert not patches.has("document.title")
    listing = _reader(dataflow)
    assert patches.names() == []

    patches.put("Element.src", of("a"))
    assert not source.stands
    assert title.stands
    assert not listing.stands, "a name was added"
    assert patches.read("Element.src") == of("a")
    assert patches.names() == ["Element.src"]


def test_what_is_there_already_wakes_nothing(dataflow: Dataflow) -> None:
    patches = Patches(dataflow)
    patches.put("Element.src", of("a"))
    reader = _reader(dataflow)
    patches.read("Element.src")
    listing = _reader(dataflow)
    patches.names()
    version = dataflow.version

    patches.put("Element.src", of("a"))
    patches.put("document.title", BOTTOM)
    assert (reader.stands, dataflow.version) == (True, version)

    patches.put("Element.src", V_UNDEFINED)
    assert (reader.stands, listing.stands) == (False, True), "no name was added"


def test_what_keeps_growing_becomes_unknown(dataflow: Dataflow) -> None:
    patches = Patches(dataflow)
    for count in range(MAX_OBJECT_GROWTH + 2):
        patches.put("Element.src", of(f"a{count}"))
    assert ANY_STRING in patches.read("Element.src")
    assert patches.read("document.title") == BOTTOM
