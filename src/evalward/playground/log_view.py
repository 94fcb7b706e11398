"""An audit log for the page: the figures of a report, series for charts, and the latest denials. It has no payload."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.activity import Activity
from evalward.audit.read import records
from evalward.audit.record_values import Kind, Outcome
from evalward.audit.report.facts import facts_of
from evalward.audit.report.proof import proof_of, unverified
from evalward.audit.report.tables import figures
from evalward.audit.verification_result import KeyMissingError
from evalward.audit.verify import verify
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from evalward.audit import AuditKey
    from evalward.audit.files import LogFile
    from evalward.audit.report.proof import Proof
    from evalward.policy import Policy

MOST_ROWS: Final = 500
STEPS_MS: Final = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 250)
"""The steps of the chart of latencies, in milliseconds."""
_LONGEST: Final = 300


class LogView:
    """Reads a log once, and answers from what it has gathered."""

    def __init__(self, files: Sequence[LogFile], key: AuditKey | None, policy: Policy | None) -> None:
        self._names = [file.name for file in files]
        self._exceptions = None if policy is None else policy.exceptions
        self._gather()
        self._proof = self._read(files, key)

    def _gather(self) -> None:
        self._activity = Activity()
        self._denials: deque[Mapping[str, Any]] = deque(maxlen=MOST_ROWS)

    def _seen(self, record: Mapping[str, Any]) -> None:
        self._activity.add(record)
        if record.get("kind") == Kind.DECISION and record.get("outcome") != Outcome.ALLOW:
            self._denials.append(record)

    def _read(self, files: Sequence[LogFile], key: AuditKey | None) -> Proof:
        try:
            found = verify(files, key=key, seen=self._seen)
            proof = proof_of(found, heads_given=False)
            if found.fault is None:
                return proof
        except KeyMissingError as missing:
            proof = unverified(missing.key_id)
        self._gather()
        for file in files:
            for record in records(file.lines()):
                self._seen(record)
        return proof

    def as_object(self, now: datetime) -> dict[str, Any]:
        """Return everything that the page shows."""
        facts = facts_of(self._activity, self._proof, files=self._names, now=now, exceptions=self._exceptions)
        series = facts.series
        shown: dict[str, Any] = {
            "files": self._names,
            "begins": facts.begins,
            "ends": facts.ends,
            "figures": [
                {"name": name, "value": value, "about": about} for name, value, about in figures(facts)
            ],
            "proof": {
                "whole": self._proof.whole,
                "state": self._proof.state,
                "proven": [*self._proof.proven],
                "not_proven": [*self._proof.not_proven],
            },
            "series": {
                "unit": series.unit,
                "begins": [*series.begins],
                "decisions": [*series.decisions],
                "denied": [{"name": name, "counts": [*counts]} for name, counts in series.denied.items()],
            },
            "by": {
                "Construct": [[name, count] for name, count in facts.reasons[:10]],
                "Target": [[name, count] for name, count in facts.counts["denied_by_target"].items()],
                "Tool": [[name, denied] for name, denied, _ in facts.tools],
                "Caller": [[name, denied] for name, denied, _ in facts.principals],
            },
            "latency_ms": {**facts.latency_ms},
            "by_time": _by_time(self._activity.elapsed_us),
            "exceptions": [
                {
                    "id": row.id,
                    "state": row.state,
                    "owner": row.owner,
                    "until": row.expires,
                    "days": _days(row.expires, now.date()),
                    "used": row.used,
                    "reason": row.reason,
                }
                for row in facts.exceptions
            ],
            "weakened": [*facts.weakened],
            "denials": [dict(record) for record in reversed(self._denials)],
        }
        printed: dict[str, Any] = _printed(shown)
        return printed


def _by_time(elapsed_us: Iterable[int]) -> list[list[Any]]:
    """Return how many decisions took how long, from the shortest step with any to the longest."""
    counts = [0] * (len(STEPS_MS) + 1)
    for elapsed in elapsed_us:
        counts[bisect_left(STEPS_MS, elapsed / 1000)] += 1
    names = [*(f"≤ {step:g} ms" for step in STEPS_MS), f"> {STEPS_MS[-1]:g} ms"]
    taken = [place for place, count in enumerate(counts) if count]
    return [
        [names[place], counts[place]] for place in range(min(taken, default=0), max(taken, default=-1) + 1)
    ]


def _days(expires: str, today: date) -> int | None:
    """Return the days that an exception is in force from ``today``, negative after its end; None without an end."""
    try:
        return (date.fromisoformat(expires) - today).days
    except ValueError:
        return None


def _printed(value: Any) -> Any:
    """Return JSON data whose texts, which an edited log may have made anything, are printable and short."""
    if isinstance(value, str):
        return printable(value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…")
    if isinstance(value, dict):
        return {str(_printed(name)): _printed(each) for name, each in [*value.items()][:_LONGEST]}
    if isinstance(value, list):
        return [_printed(each) for each in value[:MOST_ROWS]]
    return value if value is None or isinstance(value, (bool, int)) else _number(value)


def _number(value: object) -> object:
    return round(value, 3) if isinstance(value, float) and abs(value) < 1e300 else str(value)  # noqa: PLR2004
