"""Counts of the records of a log: the figures of ``evalward audit summary``, of reports and of the playground."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.record_values import Kind, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDS: Final[Mapping[str, str]] = {Outcome.ALLOW: "allowed", Outcome.DENY: "denied", Outcome.ERROR: "errors"}
REASONS: Final = ("code", "construct", "keyword", "target")
"""The fields by which denials are counted."""


class Counts:
    """Counts records as they are added. A value that is no text is counted under its text, as a log can be edited."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.denied_by: dict[str, Counter[str]] = {name: Counter() for name in REASONS}
        self.would_block: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.lifecycle: Counter[str] = Counter()
        self.refused = 0
        self.unrecorded = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Count ``record``."""
        kind = str(record.get("kind"))
        if kind == Kind.DECISION:
            self._add_decision(record)
        elif kind == Kind.REFUSED:
            self.refused += number(record, "count")
        elif kind != Kind.EVALUATION:
            self.lifecycle[kind] += 1
            self.unrecorded += number(record, "unrecorded")

    def _add_decision(self, record: Mapping[str, Any]) -> None:
        self.outcomes[_ENDS.get(str(record.get("outcome")), "other")] += 1
        for label in names(record, "shadow"):
            self.would_block[label] += 1
        if "tool" in record:
            self.tools[str(record["tool"])] += 1
        if record.get("outcome") != Outcome.ALLOW:
            for name, counts in self.denied_by.items():
                if name in record:
                    counts[str(record[name])] += 1

    def as_object(self) -> dict[str, Any]:
        """Return the counts as JSON data, the most frequent of each kind first."""
        return {
            "decisions": {name: self.outcomes[name] for name in _ENDS.values()},
            **{f"denied_by_{name}": dict(counts.most_common()) for name, counts in self.denied_by.items()},
            "would_block": dict(self.would_block.most_common()),
            "tools": dict(self.tools.most_common()),
            "refused_without_record": self.refused,
            "unrecorded": self.unrecorded,
            "lifecycle": dict(self.lifecycle.most_common()),
        }


def number(record: Mapping[str, Any], name: str) -> int:
    """Return the whole number in a field, 0 for anything else."""
    value = record.get(name)
    return value if type(value) is int else 0


def names(record: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts in a field that holds a list of them, nothing of anything else."""
    value = record.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
