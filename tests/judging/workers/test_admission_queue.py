"""The order of the queue, with fake workers."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from evalward.judging.executor import Overloaded
from evalward.judging.requester import Requester
from evalward.judging.workers.admission_queue import SHORT_BYTES, AdmissionQueue, Ticket

LONG = SHORT_BYTES + 1
GREEDY, MODEST = Requester("host", "host:1"), Requester("host", "host:2")


@dataclass(eq=False)
class Numbered:
    """A worker with only the fields that the queue uses."""

    pid: int
    spent: float = 0.0

    def processor_seconds(self) -> float:
        return self.spent


def places(count: int, *, queue: int = 8) -> Any:
    made = AdmissionQueue(count, queue=queue)
    for pid in range(count + 1):
        made.add(Numbered(pid))  # type: ignore[arg-type]
    return made


def give_back(made: Any, taken: tuple[Ticket, Any]) -> None:
    place, worker = taken
    made.add(worker)
    made.leave(place)


def spend(made: Any, requester: Requester, size: int, seconds: float) -> None:
    """Have ``requester`` use a worker for so long."""
    taken = made.take(size, requester, patience=None)
    taken[1].spent += seconds
    give_back(made, taken)


def waiting(made: Any, threads: ThreadPoolExecutor, size: int, *requester: Requester) -> "Future[Any]":
    """Ask for a place on a thread; return once it waits."""
    before = made.load()[1]
    asked: Future[Any] = threads.submit(made.take, size, *requester, patience=60)
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

        short = made.take(SHORT_BYTES // 2, patience=None)

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


def test_the_spare_worker_is_for_those_whose_payloads_are_cheap() -> None:
    made = places(1)
    spend(made, GREEDY, SHORT_BYTES, 0.15)
    held = made.take(LONG, patience=None)

    assert made.take_free(SHORT_BYTES, GREEDY) is None
    # Nor is it for a new connection from where the expensive ones came, but for what is much shorter.
    assert made.take_free(SHORT_BYTES, Requester("host", "host:3")) is None
    assert made.take_free(100, Requester("host", "host:4")) is not None
    assert held


def test_a_known_cheap_caller_keeps_the_spare_worker_beside_an_expensive_one_of_its_host() -> None:
    made = places(1)
    spend(made, MODEST, SHORT_BYTES, 0.005)
    spend(made, GREEDY, SHORT_BYTES, 0.25)
    assert made.take(LONG, patience=None)

    assert made.take_free(SHORT_BYTES, MODEST) is not None


def test_who_has_used_much_waits_for_those_who_have_not() -> None:
    made = places(1)
    for _ in range(40):
        spend(made, GREEDY, LONG, 0.25)
    with ThreadPoolExecutor(2) as threads:
        taken = made.take(LONG, patience=None)
        greedy = waiting(made, threads, LONG, GREEDY)
        modest = waiting(made, threads, LONG, MODEST)

        give_back(made, taken)

        give_back(made, modest.result(60))
        give_back(made, greedy.result(60))
    assert made.load() == (0, 0)


def test_a_full_queue_has_room_for_who_has_used_little() -> None:
    made = places(1, queue=1)
    for _ in range(40):
        spend(made, GREEDY, LONG, 0.25)
    with ThreadPoolExecutor(2) as threads:
        taken = made.take(LONG, patience=None)
        greedy = waiting(made, threads, LONG, GREEDY)
        modest = threads.submit(made.take, LONG, MODEST, patience=60)

        failure = greedy.exception(60)
        assert isinstance(failure, Overloaded)
        assert failure.limit == "queue"
        with pytest.raises(Overloaded):
            made.take(LONG, GREEDY, patience=60)

        give_back(made, taken)
        give_back(made, modest.result(60))
    assert made.load() == (0, 0)


def test_a_full_queue_has_room_for_what_the_spare_worker_may_serve() -> None:
    made = places(1, queue=1)
    with ThreadPoolExecutor(2) as threads:
        taken = made.take(LONG, patience=None)
        express = made.take(1, patience=None)
        long = waiting(made, threads, LONG)
        short = threads.submit(made.take, 1, patience=60)

        assert isinstance(long.exception(60), Overloaded)
        give_back(made, express)
        give_back(made, short.result(60))
        give_back(made, taken)
