"""The result of a campaign: counts by axis value, and classes of misses."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalward.codes import Code
from evalward.corpus.regression import LIMIT_CODES
from evalward.fuzz.axes import AXES
from evalward.fuzz.program_text import compose
from evalward.fuzz.shrink import significant

if TYPE_CHECKING:
    from evalward.fuzz.plan import Plan
    from evalward.fuzz.verdict_batches import Answer

_EXAMPLES = 20
_PLENTY = 1_000


@dataclass(slots=True)
class MissClass:
    """A class of misses that shrink to one plan, with ``count`` programs."""

    shrunk: Plan
    count: int = 1

    def as_object(self) -> dict[str, Any]:
        """Return the class as JSON-ready data."""
        program = compose(self.shrunk)
        return {
            "about": significant(self.shrunk),
            "axes": self.shrunk.names(),
            "count": self.count,
            "code": program.text,
            "shape": program.shape,
        }


@dataclass(slots=True)
class FuzzReport:
    """The counts of one run. A program is blocked, limited, failed (the guard raised), missed or inert."""

    profile: str
    seed: int
    covering: int
    pairs_total: int
    pairs_covered: int
    pairs_impossible: int
    total: int = 0
    blocked: int = 0
    limited: int = 0
    inert: int = 0
    unexplained: int = 0
    blocked_by: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    failed: int = 0
    missed: int = 0
    classes: list[MissClass] = field(default_factory=list)
    by_value: dict[str, dict[str, Counter[str]]] = field(
        default_factory=lambda: {axis: defaultdict(Counter) for axis in AXES}
    )
    sampled: int = 0
    sample_live: int = 0
    benign_total: int = 0
    benign_blocked: int = 0
    benign_sampled: int = 0
    benign_reaching: int = 0
    benign_classes: list[MissClass] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there was no miss and the guard never raised."""
        return not (self.missed or self.failed)

    def count(self, plan: Plan, answer: Answer) -> bool:
        """Count the verdict on an escape; return whether it was allowed, and needs the oracle."""
        self.total += 1
        outcome = self._outcome(plan, answer)
        for axis, name in plan.names().items():
            counts = self.by_value[axis.removeprefix("second_")][name]
            counts["generated"] += 1
            counts[outcome] += 1
        return outcome == "allowed"

    def note(self, plan: Plan, what: str) -> None:
        """Count ``what`` (missed, inert, sampled, live) for every axis value of ``plan``."""
        for axis, name in plan.names().items():
            self.by_value[axis.removeprefix("second_")][name][what] += 1

    def _outcome(self, plan: Plan, answer: Answer) -> str:
        if answer.code is None:
            return "allowed"
        if answer.code == Code.INTERNAL:
            self.failed += 1
            if len(self.failures) < _EXAMPLES:
                self.failures.append({"code": compose(plan).text, "raised": answer.about})
            return "failed"
        self.blocked_by[f"{answer.code} {answer.about or ''}".strip()] += 1
        if answer.code in LIMIT_CODES:
            self.limited += 1
            return "limited"
        self.blocked += 1
        return "blocked"

    def families(self) -> list[tuple[str, int]]:
        """Return axis values that together cover every class of miss, with the misses of each."""
        left = [(_values(each.shrunk), each.count) for each in self.classes]
        found = []
        while left:
            # The stage of a carrier is less informative than the carrier.
            weights: Counter[tuple[str, str]] = Counter()
            for values, _ in left:
                weights.update(
                    {value: 1 if value[0] in {"stage", "setting"} else _PLENTY for value in values}
                )
            if not weights:
                found.append(("(the simplest program)", sum(count for _, count in left)))
                break
            best = weights.most_common(1)[0][0]
            found.append((" ".join(best), sum(count for values, count in left if best in values)))
            left = [(values, count) for values, count in left if best not in values]
        return found

    def as_object(self, elapsed_s: float) -> dict[str, Any]:
        """Return the JSON object that ``evalward fuzz --json`` prints; ``elapsed_s`` is in seconds."""
        return {
            "profile": self.profile,
            "seed": self.seed,
            "total": self.total,
            "blocked": self.blocked,
            "limited": self.limited,
            "inert": self.inert,
            "missed": self.missed,
            "failed": self.failed,
            "blocked_by": dict(self.blocked_by.most_common()),
            "pairs": {
                "covered": self.pairs_covered,
                "possible": self.pairs_total,
                "impossible": self.pairs_impossible,
                "programs_to_cover": self.covering,
            },
            "sample": {"size": self.sampled, "live": self.sample_live},
            "misses": [each.as_object() for each in self.classes],
            "unshrunk": self.unexplained,
            "failures": self.failures,
            "families": [{"value": value, "misses": count} for value, count in self.families()],
            "benign": {
                "total": self.benign_total,
                "blocked": self.benign_blocked,
                "sample": {"size": self.benign_sampled, "reaching": self.benign_reaching},
                "classes": [each.as_object() for each in self.benign_classes],
            },
            "axes": {
                axis: {name: dict(counts) for name, counts in sorted(values.items())}
                for axis, values in self.by_value.items()
            },
            "elapsed_s": round(elapsed_s, 3),
        }


def _values(shrunk: Plan) -> set[tuple[str, str]]:
    """Return the distinctive axis values of a miss, from either layer."""
    return {(axis.removeprefix("second_"), name) for axis, name in significant(shrunk).items()}
