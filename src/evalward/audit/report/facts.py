"""The facts of a report: tables and series as plain data, which the pages only lay out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.counts import number
from evalward.audit.record_values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.audit.activity import Activity, Denied, Used
    from evalward.audit.report.proof import Proof
    from evalward.policy.enforcement import PolicyException

MOST_ROWS: Final = 10
MOST_SERIES: Final = 6
"""How many reasons a chart shows as series of their own; the others are one more."""
OTHERS: Final = "other reasons"
_SOON: Final = timedelta(days=30)
_MOST_HOURS: Final = 72
_MOST_DAYS: Final = 120
_MOST_WEEKS: Final = 200
_EPOCH: Final = 1970


@dataclass(frozen=True, slots=True)
class Series:
    """Denials over time: ``unit`` is hour, day or week; ``begins`` has the first moment of each step (UTC).

    ``denied`` maps a reason to its denials in each step, the most frequent first; ``decisions`` counts all answers.
    """

    unit: str
    begins: tuple[str, ...]
    decisions: tuple[int, ...]
    denied: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ExceptionRow:
    """An exception of the policy, of the log, or of both."""

    id: str
    state: str
    owner: str
    reason: str
    expires: str
    used: int
    last: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a report shows. Times are RFC 3339 in UTC, latencies milliseconds, texts as in the log."""

    made: str
    asked_since: str | None
    begins: str | None
    ends: str | None
    files: tuple[str, ...]
    counts: Mapping[str, Any]
    proof: Proof
    series: Series
    reasons: tuple[tuple[str, int], ...]
    tools: tuple[tuple[str, int, int], ...]
    principals: tuple[tuple[str, int, int], ...]
    candidates: tuple[tuple[str, Denied], ...]
    candidates_total: int
    exceptions: tuple[ExceptionRow, ...]
    weakened: tuple[str, ...]
    weakened_before: tuple[str, ...]
    gaps: tuple[Mapping[str, Any], ...]
    latency_ms: Mapping[str, float]
    versions: tuple[tuple[str, str, str, int], ...]

    @property
    def decisions(self) -> int:
        """The number of answers of any outcome."""
        return sum(self.counts["decisions"].values())


def facts_of(  # noqa: PLR0913 - what a report is made from
    activity: Activity,
    proof: Proof,
    *,
    files: Sequence[str],
    now: datetime,
    begin: datetime | None = None,
    exceptions: Sequence[PolicyException] | None = None,
) -> Facts:
    """Return the facts of ``activity``; ``exceptions`` are those of the policy, None if none was named."""
    reasons: Counter[str] = Counter()
    for counts in activity.reasons.values():
        reasons.update(counts)
    candidates = [(digest, each) for digest, each in activity.denied.items() if each.allowed_at is not None]
    candidates.sort(key=lambda pair: (-pair[1].count, pair[0]))
    return Facts(
        made=_moment(now),
        asked_since=None if begin is None else _moment(begin.astimezone(UTC)),
        begins=activity.first,
        ends=activity.last,
        files=tuple(files),
        counts=activity.counts.as_object(),
        proof=proof,
        series=series_of(activity, reasons),
        reasons=tuple(reasons.most_common()),
        tools=_with_totals(activity.tools, activity.counts.tools),
        principals=_with_totals(activity.principals, activity.callers),
        candidates=tuple(candidates[:MOST_ROWS]),
        candidates_total=len(candidates),
        exceptions=tuple(_exception_rows(activity.exceptions, exceptions, now.date())),
        weakened=activity.weakened,
        weakened_before=tuple(sorted({*activity.weakened_before} - {*activity.weakened})),
        gaps=tuple(each for each in activity.events if each.get("kind") == Kind.GAP),
        latency_ms=latency_of(activity.elapsed_us),
        versions=tuple((*key, count) for key, count in activity.versions.most_common(MOST_ROWS)),
    )


def _with_totals(denied: Counter[str], calls: Counter[str]) -> tuple[tuple[str, int, int], ...]:
    return tuple((name, count, calls[name]) for name, count in denied.most_common(MOST_ROWS))


def latency_of(elapsed_us: Sequence[int]) -> dict[str, float]:
    """Return the percentiles of the times in milliseconds (nearest rank); empty without any."""
    ordered = sorted(elapsed_us)
    if not ordered:
        return {}
    ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: ordered[ceil(rank * len(ordered)) - 1] / 1000 for name, rank in ranks.items()}


def series_of(activity: Activity, reasons: Counter[str]) -> Series:
    """Return the denials over time in at most some hundred steps; times that are no times are left out."""
    hours = {moment: hour for hour in activity.hours if (moment := _hour(hour)) is not None}
    if not hours:
        return Series("hour", (), (), {})
    first, last = min(hours), max(hours)
    unit, step = _step(first, last)
    begin = _floor(first, unit)
    steps = (last - begin) // step + 1
    most = MOST_SERIES if len(reasons) > MOST_SERIES + 1 else MOST_SERIES + 1
    top = [name for name, _ in reasons.most_common(most)]
    shown = [*top, OTHERS] if len(reasons) > len(top) else top
    decisions = [0] * steps
    denied = {name: [0] * steps for name in shown}
    for moment, hour in hours.items():
        index = (moment - begin) // step
        decisions[index] += activity.hours[hour][0]
        for reason, count in activity.reasons.get(hour, {}).items():
            denied[reason if reason in denied else OTHERS][index] += count
    return Series(
        unit,
        tuple(_label(begin + index * step, unit) for index in range(steps)),
        tuple(decisions),
        {name: tuple(counts) for name, counts in denied.items()},
    )


def _step(first: datetime, last: datetime) -> tuple[str, timedelta]:
    if last - first < timedelta(hours=_MOST_HOURS):
        return "hour", timedelta(hours=1)
    if last - first < timedelta(days=_MOST_DAYS):
        return "day", timedelta(days=1)
    weeks = ceil((last - first) / timedelta(weeks=_MOST_WEEKS))
    return ("week" if weeks == 1 else f"{weeks} weeks"), timedelta(weeks=weeks)


def _floor(moment: datetime, unit: str) -> datetime:
    if unit == "hour":
        return moment
    day = moment.replace(hour=0)
    return day if unit == "day" else day - timedelta(days=day.weekday())


def _label(moment: datetime, unit: str) -> str:
    return f"{moment:%Y-%m-%d %H:00}" if unit == "hour" else f"{moment:%Y-%m-%d}"


def _hour(text: str) -> datetime | None:
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment if moment.year >= _EPOCH else None


def _exception_rows(
    used: Mapping[str, Used], known: Sequence[PolicyException] | None, today: date
) -> list[ExceptionRow]:
    rows = []
    by_id = {each.id: each for each in known or ()}
    for name in dict.fromkeys([*by_id, *used]):
        exception, use = by_id.get(name), used.get(name)
        count, last = (use.count, use.last) if use else (0, "")
        if exception is None:
            state = "not in the policy" if known is not None else "in the log"
            rows.append(ExceptionRow(name, state, "", "", "", count, last))
            continue
        state = _state(exception.expires, today)
        if state == "in force" and not count:
            state = "unused in this period"
        rows.append(
            ExceptionRow(
                name, state, exception.owner, exception.reason, exception.expires.isoformat(), count, last
            )
        )
    return sorted(rows, key=lambda row: (row.expires or "9999", row.id))


def _state(expires: date, today: date) -> str:
    if expires < today:
        return "expired"
    return "ends within 30 days" if expires - today <= _SOON else "in force"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def lost(gap: Mapping[str, Any]) -> tuple[str, str, int, int, float]:
    """Return what a gap's record says: time, reason, lost records, unacknowledged ones, seconds."""
    return (
        str(gap.get("ts", "")),
        str(gap.get("reason", "")),
        number(gap, "unrecorded"),
        number(gap, "unacknowledged"),
        number(gap, "gap_us") / 1e6,
    )
