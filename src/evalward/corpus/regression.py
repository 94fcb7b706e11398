"""Judge corpus cases and compare with their expected verdicts (guard.md §5): pure, one process, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalward.codes import Code
from evalward.corpus.corpus_case import Expectation
from evalward.guard import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalward.corpus.corpus_case import Case
    from evalward.guard.rules import Rules
    from evalward.guard.target import Profile
    from evalward.guard.verdict import Verdict

LIMIT_CODES = frozenset({Code.EVAL_PAYLOAD_TOO_LARGE, Code.EVAL_ANALYSIS_LIMIT})
"""Denials for size, depth or budget: they do not count as detections (guard.md §0)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case and its verdict."""

    case: Case
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a corpus under one profile; every judged case is in exactly one list."""

    profile: Profile
    caught: tuple[Outcome, ...]
    limited: tuple[Outcome, ...]
    missed: tuple[Outcome, ...]
    wrong_construct: tuple[Outcome, ...]
    allowed: tuple[Outcome, ...]
    wrongly_blocked: tuple[Outcome, ...]

    @property
    def escapes(self) -> int:
        """How many cases had to be blocked."""
        return sum(map(len, (self.caught, self.limited, self.missed, self.wrong_construct)))

    @property
    def benign(self) -> int:
        """How many cases had to be allowed."""
        return len(self.allowed) + len(self.wrongly_blocked)

    @property
    def ok(self) -> bool:
        """Whether nothing was missed, blocked under an unexpected label, or wrongly blocked."""
        return not (self.missed or self.wrong_construct or self.wrongly_blocked)

    def as_object(self, elapsed_s: float) -> dict[str, Any]:
        """Return the JSON object that ``evalward corpus run --json`` prints; ``elapsed_s`` is in seconds."""
        return {
            "profile": str(self.profile),
            "escapes": {
                "total": self.escapes,
                "blocked": len(self.caught),
                "limited": [_entry(o) | {"error_code": o.verdict.code} for o in self.limited],
                "missed": [_entry(o) for o in self.missed],
                "wrong_construct": [
                    _blocked(o) | {"expected": [*o.case.constructs]} for o in self.wrong_construct
                ],
            },
            "benign": {
                "total": self.benign,
                "allowed": len(self.allowed),
                "blocked": [_blocked(o) for o in self.wrongly_blocked],
            },
            "elapsed_s": round(elapsed_s, 3),
        }


def run_cases(
    cases: Iterable[Case],
    *,
    profile: Profile,
    rules_for: Callable[[Case], Rules],
    judged: Callable[[Case], None] = lambda _: None,
) -> Report:
    """Judge every case that has an expectation for its profile, under the rules of ``rules_for``.

    ``profile`` is the one that the report names: a policy may set another for a single target. ``judged`` is called
    after each case, for a progress display.
    """
    lists: dict[str, list[Outcome]] = {
        name: [] for name in ("caught", "limited", "missed", "wrong_construct", "allowed", "wrongly_blocked")
    }
    for case in cases:
        rules = rules_for(case)
        expected = case.expected(rules.profile)
        if expected is not None:
            verdict = judge(case.payload, target=case.target, shape=case.shape, rules=rules, sink=case.sink)
            lists[_list_for(case, expected, verdict)].append(Outcome(case, verdict))
        judged(case)
    return Report(profile, **{name: tuple(outcomes) for name, outcomes in lists.items()})


def _list_for(case: Case, expected: Expectation, verdict: Verdict) -> str:
    if expected is Expectation.ALLOW:
        return "allowed" if verdict.allowed else "wrongly_blocked"
    if verdict.allowed:
        return "missed"
    if verdict.code in LIMIT_CODES:
        return "limited"
    if verdict.code is Code.EVAL_TARGET_DENIED:
        return "wrong_construct"  # the payload was not analysed
    # A keyword denies a payload before values are resolved, whatever the expected construct.
    named = verdict.code is Code.EVAL_BLOCKED_KEYWORD or verdict.construct in case.constructs
    return "caught" if named or not case.constructs else "wrong_construct"


def _entry(outcome: Outcome) -> dict[str, Any]:
    return {"id": outcome.case.id, "code": outcome.case.code}


def _blocked(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    return _entry(outcome) | {"error_code": verdict.code, "construct": verdict.construct}
