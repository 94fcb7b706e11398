"""Judge many programs, in this process or in several: batches of plans out, compact verdicts back."""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.codes import Code
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.guard import judge
from evalward.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from evalward.fuzz.plan import Plan
    from evalward.fuzz.program_text import Program
    from evalward.guard.rules import Rules
    from evalward.guard.target import Profile

BATCH: Final = 250
"""Programs per batch: large enough to make the cost of sending negligible."""

_AHEAD: Final = 4


class Answer(NamedTuple):
    """A compact verdict: ``code`` is None for an allow; ``about`` is the construct, keyword or limit."""

    code: str | None
    about: str | None = None


@dataclass(frozen=True)
class Guard:
    """The guard under one profile, in a form that can be pickled."""

    profile: Profile

    def __call__(self, program: Program) -> Answer:
        """Judge ``program``; an exception of the guard is a defect, reported as INTERNAL."""
        try:
            verdict = judge(
                program.text.encode(), target=TARGET, shape=program.shape, rules=_rules(self.profile)
            )
        except Exception as error:  # noqa: BLE001 - a defect may raise anything, and the report must name the program
            return Answer(Code.INTERNAL, f"{type(error).__name__}: {error}")
        limit = verdict.limit[0] if verdict.limit else None
        return Answer(verdict.code, verdict.construct or verdict.keyword or limit)


@cache
def _rules(profile: Profile) -> Rules:
    return Policy.default().allowing([TARGET]).with_profile(profile).rules_for(TARGET)


def answers(
    plans: Iterable[Plan], judged_by: Callable[[Program], Answer], *, workers: int
) -> Iterator[tuple[tuple[Plan, ...], list[Answer]]]:
    """Yield each batch of ``plans`` with its answers, in order; ``workers`` 1 stays in this process."""
    batches = _batches(plans)
    if workers == 1:
        for batch in batches:
            yield batch, [judged_by(compose(plan)) for plan in batch]
        return
    # Fresh processes: a fork would copy locks that the caller's threads hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (judged_by,)) as pool:
        running: deque[tuple[tuple[Plan, ...], Future[list[Answer]]]] = deque()
        for batch in batches:
            running.append((batch, pool.submit(_judge_batch, batch)))
            if len(running) >= workers * _AHEAD:
                done, future = running.popleft()
                yield done, future.result()
        for done, future in running:
            yield done, future.result()


def _batches(plans: Iterable[Plan]) -> Iterator[tuple[Plan, ...]]:
    remaining = iter(plans)
    while batch := tuple(islice(remaining, BATCH)):
        yield batch


class _Worker:
    """The judge of a worker process."""

    judge: Callable[[Program], Answer]


def _begin(judged_by: Callable[[Program], Answer]) -> None:
    _Worker.judge = staticmethod(judged_by)


def _judge_batch(batch: Sequence[Plan]) -> list[Answer]:
    return [_Worker.judge(compose(plan)) for plan in batch]
