"""An audit log for the page: the figures of a report, series for charts, and the latest denials. It has no payload."""

from __future__ import annotations

from collections import deque
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
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from evalward.audit import AuditKey
    from evalward.audit.files import LogFile
    from evalward.audit.report.proof import Proof
    from evalward.policy import Policy

MOST_ROWS: Final = 500
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
            "exceptions": [
                {
                    "id": row.id,
                    "state": row.state,
                    "owner": row.owner,
                    "until": row.expires,
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
