"""What a log says of a period, gathered in one pass over its records: counts, times, tools, exceptions, events."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.counts import Counts, names, number
from evalward.audit.record_values import Kind, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_EVENTS: Final = 1000
"""How many events of the service are kept, the latest; the counts have all of them."""
_HOUR: Final = len("2026-11-22T01")
_EVENTS: Final = frozenset(
    {Kind.GAP, Kind.TORN, Kind.START, Kind.STOP, Kind.POLICY_LOAD, Kind.POLICY_REJECT}
    | {Kind.TOKEN_LOAD, Kind.TOKEN_REJECT, Kind.TLS_LOAD, Kind.TLS_REJECT}
)


@dataclass(slots=True)
class Denied:
    """A payload that was denied, by its digest: how often, when (RFC 3339), and for what."""

    first: str
    last: str
    count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    allowed_by: str | None = None
    allowed_at: str | None = None


@dataclass(slots=True)
class Used:
    """An exception as the log shows it: how many payloads it permitted, and when."""

    first: str
    last: str
    count: int = 0


class Activity:
    """Gathers records; ``counts`` has the figures of ``evalward audit summary``.

    ``hours`` maps an hour (``2026-11-22T01``, UTC) to its decisions and denials, ``reasons`` an hour to the denials by
    construct, ``keyword:<id>`` or code. ``denied`` has the denied payloads by digest, ``exceptions`` the used ones by
    id, ``events`` what happened to the service, ``elapsed_us`` the time of each decision in microseconds.
    """

    def __init__(self) -> None:
        self.counts = Counts()
        self.first: str | None = None
        self.last: str | None = None
        self.hours: dict[str, list[int]] = {}
        self.reasons: dict[str, Counter[str]] = {}
        self.tools: Counter[str] = Counter()
        self.principals: Counter[str] = Counter()
        self.callers: Counter[str] = Counter()
        self.denied: dict[str, Denied] = {}
        self.exceptions: dict[str, Used] = {}
        self.events: list[Mapping[str, Any]] = []
        self.weakened: tuple[str, ...] = ()
        self.weakened_before: Counter[str] = Counter()
        self.elapsed_us: array[int] = array("Q")
        self.versions: Counter[tuple[str, str, str]] = Counter()

    def add(self, record: Mapping[str, Any]) -> None:
        """Take ``record`` into account."""
        self.counts.add(record)
        moment = str(record.get("ts", ""))
        if moment:
            self.first = moment if self.first is None else min(self.first, moment)
            self.last = moment if self.last is None else max(self.last, moment)
        kind = str(record.get("kind"))
        if kind == Kind.DECISION:
            self._add_decision(record, moment)
        elif kind in _EVENTS:
            self._add_event(record)

    def _add_decision(self, record: Mapping[str, Any], moment: str) -> None:
        elapsed = number(record, "elapsed_us")
        if 0 < elapsed < 1 << 63:
            self.elapsed_us.append(elapsed)
        hour = self.hours.setdefault(moment[:_HOUR], [0, 0])
        hour[0] += 1
        principal = str(record.get("principal", ""))
        if principal:
            self.callers[principal] += 1
        self.versions[
            str(record.get("version", "")),
            str(record.get("ruleset", "")),
            str(record.get("policy_digest", "")),
        ] += 1
        digest = str(record.get("code_hash", ""))
        if record.get("outcome") == Outcome.ALLOW:
            self._add_allow(record, moment, digest)
            return
        hour[1] += 1
        reason = reason_of(record)
        self.reasons.setdefault(moment[:_HOUR], Counter())[reason] += 1
        if "tool" in record:
            self.tools[str(record["tool"])] += 1
        if principal:
            self.principals[principal] += 1
        if digest:
            known = self.denied.get(digest)
            if known is None:
                known = self.denied[digest] = Denied(moment, moment)
            known.count += 1
            known.last = max(known.last, moment)
            known.reasons[reason] += 1

    def _add_allow(self, record: Mapping[str, Any], moment: str, digest: str) -> None:
        exception = record.get("exception_id")
        if not exception:
            return
        used = self.exceptions.setdefault(str(exception), Used(moment, moment))
        used.count += 1
        used.last = max(used.last, moment)
        known = self.denied.get(digest)
        if known is not None and known.allowed_at is None:
            known.allowed_by, known.allowed_at = str(exception), moment

    def _add_event(self, record: Mapping[str, Any]) -> None:
        self.events.append(record)
        if len(self.events) > 2 * MOST_EVENTS:
            del self.events[:-MOST_EVENTS]
        if str(record.get("kind")) in {Kind.START, Kind.POLICY_LOAD}:
            self.weakened = tuple(names(record, "weakened"))
            self.weakened_before.update(self.weakened)


def reason_of(record: Mapping[str, Any]) -> str:
    """Return what denied a payload: the construct, ``keyword:<id>``, or the code."""
    if "construct" in record:
        return str(record["construct"])
    return f"keyword:{record['keyword']}" if "keyword" in record else str(record.get("code", ""))
