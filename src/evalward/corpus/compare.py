"""The cases with different verdicts under two policies (contract.md §7): pure, one process, one ruleset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalward.errors import CodedError
from evalward.policy import judge_under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evalward.corpus.corpus_case import Case
    from evalward.policy import Policy


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict of a policy on a case: no ``code`` is an allow; ``why`` is the construct or the keyword's id."""

    code: str | None
    why: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.code or "allowed", self.why)))

    def as_object(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return {"allowed": self.code is None, "code": self.code, "why": self.why}


@dataclass(frozen=True, slots=True)
class Change:
    """A case with different verdicts under two policies."""

    case: Case
    old: Answer
    new: Answer


def changes(
    cases: Iterable[Case], old: Policy, new: Policy, *, judged: Callable[[Case], object] = lambda _: None
) -> Iterator[Change]:
    """Yield every case whose verdict differs; ``judged`` is called after each case, for a progress display."""
    for case in cases:
        before, after = answer(case, old), answer(case, new)
        if before != after:
            yield Change(case, before, after)
        judged(case)


def answer(case: Case, policy: Policy) -> Answer:
    """Return the verdict of ``policy`` on ``case`` today, with its enforcement and its exceptions."""
    try:
        verdict = judge_under(
            policy, case.payload, target=case.target, shape=case.shape, bindings=case.bindings, sink=case.sink
        )
    except CodedError as refusal:  # a binding that this policy rejects
        return Answer(refusal.code)
    return Answer(verdict.code, verdict.construct or verdict.keyword)
