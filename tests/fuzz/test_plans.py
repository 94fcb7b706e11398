"""The index of each program, and that the first programs cover every pair."""

import random
from itertools import combinations

import pytest

from evalward.fuzz.axes import AXES, Value, load_axes
from evalward.fuzz.pairs import Pairs
from evalward.fuzz.plan import Plan, Plans
from evalward.fuzz.program_text import compose


def small_axes() -> list[list[Value]]:
    def axis(name: str, count: int) -> list[Value]:
        return [Value(name, f"{name}{i}") for i in range(count)]

    odd = Value("b", "odd", needs=frozenset({"x"}))
    closed = Value("c", "closed", lacks=frozenset({"x"}))
    return [axis("a", 7), [*axis("b", 5), odd], [*axis("c", 4), closed], axis("d", 3)]


def test_rows_cover_every_pair_that_fits_and_no_other() -> None:
    axes = small_axes()
    pairs = Pairs(axes)
    held = set()
    for row in pairs.rows(random.Random(0)):
        for (i, a), (j, b) in combinations(enumerate(row), 2):
            assert axes[i][a].fits(axes[j][b])
            held.add((i, a, j, b))
    wanted = {
        (i, a, j, b)
        for i, j in combinations(range(len(axes)), 2)
        for a, first in enumerate(axes[i])
        for b, second in enumerate(axes[j])
        if first.fits(second)
    }
    assert held == wanted
    assert pairs.covered == pairs.total == len(wanted)
    assert pairs.impossible == 1


def test_the_first_programs_hold_every_pair_of_the_real_axes() -> None:
    plans = Plans(3)
    fresh = Pairs(load_axes().all())
    for plan in plans.first(plans.covering):
        fresh.cover(plan.row)
    assert fresh.covered == fresh.total
    assert plans.covering < 1.1 * len(load_axes().gadget) * len(load_axes().carrier)
    assert plans.pairs_in_first(plans.covering) == plans.pairs.total
    assert 0 < plans.pairs_in_first(10) < plans.pairs.total


@pytest.mark.exhaustive
def test_a_program_depends_on_seed_and_index_alone() -> None:
    one, again, other = Plans(5), Plans(5), Plans(6)
    indices = [0, 1, 77, one.covering, one.covering + 900]
    texts = [compose(one[i]).text for i in indices]
    assert texts == [compose(again[i]).text for i in reversed(indices)][::-1]
    assert all(compose(other[i]).text != text for i, text in zip(indices, texts, strict=True))


def test_random_plans_fit_and_chain_a_second_layer() -> None:
    plans = Plans(1)
    later = [plans[plans.covering + i] for i in range(300)]
    assert all(plan.fits for plan in later)
    assert any(plan.second_carrier is not None for plan in later)
    assert any(plan.second_gadget is not None for plan in later)


def test_a_second_layer_is_in_the_program() -> None:
    axes = load_axes()
    second = next(i for i, value in enumerate(axes.carrier) if value.name == "map")
    spelled = next(i for i, value in enumerate(axes.gadget) if value.name == "reverse")
    chain = next(i for i, value in enumerate(axes.road) if value.name == "array-chain")
    row = [0] * len(AXES)
    row[AXES.index("road")] = chain
    text = compose(Plan(tuple(row), second_carrier=second, second_gadget=spelled)).text
    assert '.set("b", x' in text
    assert '"rotcurtsnoc"' in text
    assert '("constructor")' in text
