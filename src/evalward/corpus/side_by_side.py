"""The answers of several guards to the same cases, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalward.corpus.compare import answer
from evalward.corpus.corpus_case import Case, Expectation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evalward.policy import Policy

Guard = Callable[[Case], tuple[bool, str]]
"""Whether a guard allows a case, and the reason of a denial."""


@dataclass(frozen=True, slots=True)
class Row:
    """A case, what it expects of every guard, and the answer of each: whether it allows the code, and why not."""

    case: Case
    expected: Expectation
    answers: tuple[tuple[bool, str], ...]

    @property
    def wrong(self) -> tuple[bool, ...]:
        """Whether each guard gives another answer than expected."""
        return tuple(allowed is not (self.expected is Expectation.ALLOW) for allowed, _ in self.answers)

    @property
    def differs(self) -> bool:
        """Whether two guards answer differently."""
        return len({allowed for allowed, _ in self.answers}) > 1


@dataclass(frozen=True, slots=True)
class Score:
    """What a guard does with the cases: escapes that it blocks, and benign payloads that it allows."""

    name: str
    blocked: int
    escapes: int
    allowed: int
    benign: int

    def as_object(self) -> dict[str, Any]:
        """Return it as JSON data."""
        escapes = {"total": self.escapes, "blocked": self.blocked}
        benign = {"total": self.benign, "allowed": self.allowed}
        return {"guard": self.name, "escapes": escapes, "benign": benign}


def evalward_guard(policy: Policy) -> Guard:
    """Return Evalward under ``policy`` as a guard."""

    def judge(case: Case) -> tuple[bool, str]:
        found = answer(case, policy)
        return found.code is None, str(found.why or found.code or "")

    return judge


def compare(
    cases: Iterable[Case], guards: Mapping[str, Guard], *, judged: Callable[[object], None] = lambda _: None
) -> tuple[Row, ...]:
    """Return a row for each case that expects one verdict, whatever the profile; ``judged`` is called after each."""
    rows = []
    for case in cases:
        if not isinstance(case.expect, dict):
            rows.append(Row(case, case.expect, tuple(judge(case) for judge in guards.values())))
        judged(case)
    return tuple(rows)


def scores(rows: Sequence[Row], names: Iterable[str]) -> tuple[Score, ...]:
    """Return the score of each guard, in the order of the answers."""
    escapes = [row for row in rows if row.expected is Expectation.BLOCK]
    benign = [row for row in rows if row.expected is Expectation.ALLOW]
    return tuple(
        Score(
            name,
            sum(not row.answers[place][0] for row in escapes),
            len(escapes),
            sum(row.answers[place][0] for row in benign),
            len(benign),
        )
        for place, name in enumerate(names)
    )
