"""A policy for the page: its errors with their lines, and its effect on the cases of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.corpus.compare import answer
from evalward.playground.question import policy_of
from evalward.policy import PolicyError, utc_day
from evalward.policy.lint import warnings_of
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.corpus.compare import Answer
    from evalward.corpus.corpus_case import Case
    from evalward.policy import Policy
    from evalward.policy.issues import Issue

EVERY: Final = 50
"""After how many cases the progress is reported."""
MOST_CHANGES: Final = 500


def policy_view(text: str) -> dict[str, Any]:
    """Return the errors and warnings of a policy."""
    try:
        policy = policy_of(text)
    except PolicyError as refusal:
        return {"valid": False, "issues": [_issue(each, "error") for each in refusal.issues]}
    warnings = warnings_of(policy, today=utc_day())
    return {
        "valid": True,
        "digest": policy.digest,
        "issues": [_issue(each, "warning") for each in warnings],
    }


def _issue(issue: Issue, kind: str) -> dict[str, Any]:
    message = printable(": ".join(filter(None, (issue.field, issue.problem))))
    return {"kind": kind, "line": issue.line, "message": message, "allowed": printable(issue.allowed)}


class Effect:
    """Compares policies on the cases of a corpus; the answers under the starting policy are kept."""

    def __init__(self, cases: Sequence[Case], start: Policy) -> None:
        self._cases = cases
        self._start = start
        self._before: dict[str, Answer] = {}

    def changes(self, policy: Policy) -> Iterator[dict[str, Any]]:
        """Yield ``{"done", "total"}`` as it goes, and ``{"id", "target", "old", "new"}`` for each case that changes."""
        found = 0
        for number, case in enumerate(self._cases):
            if number % EVERY == 0:
                yield {"done": number, "total": len(self._cases)}
            if case.id not in self._before:
                self._before[case.id] = answer(case, self._start)
            old, new = self._before[case.id], answer(case, policy)
            if old != new:
                found += 1
                if found <= MOST_CHANGES:
                    yield {
                        "id": case.id,
                        "target": str(case.target),
                        "old": old.as_object(),
                        "new": new.as_object(),
                    }
        yield {"done": len(self._cases), "total": len(self._cases), "changed": found}
