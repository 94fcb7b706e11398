"""Draft exceptions from what the audit log says was denied (service.md, Policy)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalward.guard.labels import UNSWITCHABLE_LABELS
from evalward.policy.enforcement import KEYWORD_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TO_FILL_IN = "CHANGE ME"
"""What stands in a draft where a person has to say why, and who answers for it."""

_PLAIN = "sha256"
_SHA256_DIGITS = 64


@dataclass(slots=True)
class Draft:
    """One payload that was denied, or would have been: how often, where, and for what."""

    sha256: str
    count: int = 0
    targets: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    constructs: set[str] = field(default_factory=set)

    def as_yaml_data(self, expires: str) -> dict[str, Any]:
        """Return the entry for ``exceptions``; reason and owner are for people to fill in."""
        entry: dict[str, Any] = {"sha256": self.sha256, "targets": sorted(self.targets)}
        if self.tools:
            entry["tools"] = sorted(self.tools)
        entry["constructs"] = sorted(self.constructs)
        return {**entry, "reason": TO_FILL_IN, "owner": TO_FILL_IN, "expires": expires}


def drafts(records: Iterable[Mapping[str, Any]], *, least: int = 1) -> list[Draft]:
    """Return a draft for each payload denied at least ``least`` times for constructs or keywords, commonest first.

    What no exception can let through (another denial in the log, a construct that hides code) is left out, and so
    is a payload that the log knows by a keyed hash only.
    """
    found: dict[str, Draft] = {}
    for record in records:
        labels = _labels(record)
        digest = record.get("code_hash", "") if record.get("hash_alg", _PLAIN) == _PLAIN else ""
        if not labels or len(digest) != _SHA256_DIGITS or record.get("target") is None:
            continue
        draft = found.setdefault(digest, Draft(digest))
        draft.count += 1
        draft.targets.add(record["target"])
        draft.constructs |= labels
        if record.get("tool"):
            draft.tools.add(record["tool"])
    fitting = [
        each for each in found.values() if each.count >= least and not each.constructs & UNSWITCHABLE_LABELS
    ]
    return sorted(fitting, key=lambda each: (-each.count, each.sha256))


def _labels(record: Mapping[str, Any]) -> set[str]:
    if record.get("kind") != "decision":
        return set()
    labels = {record["construct"]} if record.get("construct") else set()
    if record.get("keyword"):
        labels.add(KEYWORD_PREFIX + record["keyword"])
    return labels | set(record.get("shadow", ()))
