"""Draft exceptions from the denials in an audit log (service.md, Policy)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evalward.guard.constructs.labels import UNSWITCHABLE_LABELS
from evalward.guard.verdict import KEYWORD_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TO_FILL_IN = "CHANGE ME"
"""The placeholder in a draft for the reason and the owner, which a person fills in."""

_PLAIN = "sha256"
_SHA256_DIGITS = 64


@dataclass(slots=True)
class Draft:
    """One payload that was denied, or would have been: how often, where, and why."""

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


class Suggestion(NamedTuple):
    """The drafts, and the payloads that the log knows only by a keyed hash that ``known`` does not explain.

    ``unnamed`` holds those hashes by the algorithm that a record names, such as ``hmac-sha256:<key id>``.
    """

    drafts: list[Draft]
    unnamed: dict[str, set[str]]


def suggestion(
    records: Iterable[Mapping[str, Any]], *, least: int = 1, known: Mapping[str, str] | None = None
) -> Suggestion:
    """Draft an exception for each payload denied at least ``least`` times for constructs or keywords, commonest first.

    Denials that no exception can permit (other codes, constructs that hide code) are left out. ``known`` are the
    SHA-256 of payloads by their keyed hashes: an exception names its payload by the SHA-256 only.
    """
    found: dict[str, Draft] = {}
    unnamed: dict[str, set[str]] = {}
    for record in records:
        labels = _labels(record)
        named, algorithm = record.get("code_hash", ""), record.get("hash_alg", _PLAIN)
        if not labels or len(named) != _SHA256_DIGITS or record.get("target") is None:
            continue
        digest = named if algorithm == _PLAIN else (known or {}).get(named)
        if digest is None:
            unnamed.setdefault(algorithm, set()).add(named)
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
    return Suggestion(sorted(fitting, key=lambda each: (-each.count, each.sha256)), unnamed)


def _labels(record: Mapping[str, Any]) -> set[str]:
    if record.get("kind") != "decision":
        return set()
    labels = {record["construct"]} if record.get("construct") else set()
    if record.get("keyword"):
        labels.add(KEYWORD_PREFIX + record["keyword"])
    return labels | set(record.get("shadow", ())) | set(record.get("findings", ()))
