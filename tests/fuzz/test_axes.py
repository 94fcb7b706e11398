"""The axes as data: enough values, all complete, and none that an earlier step of the guard rejects."""

from itertools import product

import pytest

from evalward.fuzz.axes import AXES, Value, load_axes
from evalward.fuzz.key_spellings import spellings
from evalward.fuzz.plan import Plan
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import Prover
from evalward.guard.rules import SEED_KEYWORDS

LEAST = {"gadget": 40, "road": 30, "carrier": 30, "stage": 5, "use": 15, "setting": 10}  # guard.md §5


def lone(axis: str, index: int, *, benign: bool = False) -> Plan:
    """The plainest program with one value: values that do not fit it are replaced by the first that does."""
    axes = load_axes(benign=benign).all()
    at = AXES.index(axis)
    value = axes[at][index]
    row = [next(i for i, other in enumerate(each) if other.fits(value)) for each in axes]
    row[at] = index
    plan = Plan(tuple(row), benign=benign)
    if plan.fits:
        return plan
    choices = [range(len(each)) if i != at else [index] for i, each in enumerate(axes)]
    plain = [list(choice)[:12] for choice in choices]
    return next(p for p in (Plan(tuple(row), benign=benign) for row in product(*plain)) if p.fits)


def every_value(*, benign: bool = False) -> list[tuple[str, int]]:
    axes = load_axes(benign=benign).all()
    return [(axis, i) for axis, values in zip(AXES, axes, strict=True) for i in range(len(values))]


def test_there_is_enough_of_each_axis() -> None:
    counts = {axis: len(values) for axis, values in zip(AXES, load_axes().all(), strict=True)}
    assert all(counts[axis] >= least for axis, least in LEAST.items()), counts


@pytest.mark.exhaustive
def test_no_program_holds_a_blocklisted_word() -> None:
    for benign in (False, True):
        for axis, index in every_value(benign=benign):
            text = compose(lone(axis, index, benign=benign)).text
            assert not [word for word in SEED_KEYWORDS if word in text], (axis, index, text)


def test_every_hole_is_filled() -> None:
    for axis, index in every_value():
        text = compose(lone(axis, index)).text
        assert "@" not in text, (axis, index, text)


def test_every_need_is_lacked_by_something() -> None:
    values: list[Value] = [value for axis in load_axes().all() for value in axis]
    needs = {tag for value in values for tag in value.needs}
    lacks = {tag for value in values for tag in value.lacks}
    assert needs == lacks


@pytest.mark.parametrize("text", ["constructor", "exit", "_load", "getBuiltinModule"])
def test_spellings_read_back(text: str) -> None:
    holes = spellings(text)
    assert holes["A"] + holes["B"] == text == holes["rev"][::-1]
    assert bytes.fromhex(holes["hexdigits"]).decode() == text
    assert "".join(holes["alphabet"][int(i)] for i in holes["indices"].split(", ")) == text


@pytest.mark.exhaustive
def test_every_value_lives_in_an_engine() -> None:
    plans = [lone(axis, index) for axis, index in every_value()]
    with Prover() as prover:
        dead = [plan.names() for plan, live in zip(plans, prover.each(plans), strict=True) if not live]
    assert dead == []


def test_benign_roads_reach_nothing() -> None:
    roads = range(len(load_axes(benign=True).road))
    plans = [lone("road", index, benign=True) for index in roads]
    with Prover() as prover:
        reaching = [plan.names() for plan, hit in zip(plans, prover.each(plans), strict=True) if hit]
    assert reaching == []
