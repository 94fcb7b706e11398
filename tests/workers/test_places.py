"""Who is served first, with workers that only have a number."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from evalward.server.executor import Overloaded
from evalward.workers.places import SHORT_BYTES, Place, Places

LONG = SHORT_BYTES + 1


@dataclass(frozen=True)
class Numbered:
    """A worker as far as places know one."""

    pid: int


def places(count: int, *, queue: int = 8) -> Any:
    made = Places(count, queue=queue)
    for pid in range(count + 1):
        made.add(Numbered(pid))  # type: ignore[arg-type]
    return made


def give_back(made: Any, taken: tuple[Place, Any]) -> None:
    place, worker = taken
    made.add(worker)
    made.leave(place)


def waiting(made: Any, threads: ThreadPoolExecutor, size: int) -> "Future[Any]":
    """Ask for a place on a thread; return once it waits."""
    before = made.load()[1]
    asked: Future[Any] = threads.submit(made.take, size, patience=60)
    until(lambda: made.load()[1] == before + 1)
    return asked


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        threading.Event().wait(0.005)


def test_a_short_payload_overtakes_long_ones_on_the_spare_worker() -> None:
    made = places(1)
    with ThreadPoolExecutor(2) as threads:
        first = made.take(LONG, patience=None)
        second = waiting(made, threads, LONG)

        short = made.take(SHORT_BYTES, patience=None)

        assert made.load() == (2, 1)
        give_back(made, short)
        assert not second.done()
        give_back(made, first)
        give_back(made, second.result(60))
    assert made.load() == (0, 0)


def test_short_ones_do_not_keep_a_long_one_from_its_place() -> None:
    made = places(1)
    with ThreadPoolExecutor(2) as threads:
        first = made.take(LONG, patience=None)
        express = made.take(1, patience=None)
        long = waiting(made, threads, LONG)
        short = waiting(made, threads, 1)

        give_back(made, first)

        held = long.result(60)
        assert not short.done()
        give_back(made, express)
        give_back(made, short.result(60))
        give_back(made, held)


def test_those_of_a_kind_are_served_in_their_order() -> None:
    made = places(1)
    with ThreadPoolExecutor(4) as threads:
        taken = made.take(LONG, patience=None)
        order = [waiting(made, threads, LONG) for _ in range(4)]
        for number, each in enumerate(order):
            give_back(made, taken)
            taken = each.result(60)
            assert not any(later.done() for later in order[number + 1 :])


def test_patience_ends_and_leaves_nothing_behind() -> None:
    made = places(1)
    taken = made.take(LONG, patience=None)

    with pytest.raises(Overloaded) as full:
        made.take(LONG, patience=0.01)

    assert (full.value.limit, full.value.allowed) == ("workers", 1)
    assert made.load() == (1, 0)
    give_back(made, taken)
    assert made.take(LONG, patience=0.01)


def test_without_a_queue_nobody_waits() -> None:
    made = places(1, queue=0)
    taken = made.take(LONG, patience=None)

    with pytest.raises(Overloaded) as full:
        made.take(LONG, patience=None)

    assert full.value.limit == "queue"
    give_back(made, taken)
    assert made.take(LONG, patience=None)


def test_closing_sends_away_those_who_wait_and_those_who_come() -> None:
    made = places(1)
    with ThreadPoolExecutor(1) as threads:
        made.take(LONG, patience=None)
        asked = waiting(made, threads, LONG)

        made.close()

        assert isinstance(asked.exception(60), Overloaded)
        with pytest.raises(Overloaded):
            made.take(1, patience=None)
