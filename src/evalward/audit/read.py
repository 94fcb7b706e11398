"""Read an audit log: all records, a filtered selection, or a summary."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.record_values import Kind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_AGE: Final = re.compile(r"([1-9][0-9]{0,8})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ENDS: Final[Mapping[str, str]] = {Outcome.ALLOW: "allowed", Outcome.DENY: "denied", Outcome.ERROR: "errors"}


def records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the records in ``lines``; torn lines are skipped."""
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and "kind" in record:
            yield record


def since(text: str, *, now: datetime) -> datetime:
    """Return the time that ``text`` means: an age such as ``24h``, or RFC 3339; raise ValueError for neither."""
    age = _AGE.fullmatch(text)
    if age is not None:
        return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def matching(
    found: Iterable[dict[str, Any]], wanted: Mapping[str, str], *, begin: datetime | None
) -> Iterator[dict[str, Any]]:
    """Yield the records whose fields equal those of ``wanted``, at or after ``begin``.

    ``shadow`` is wanted by one of its labels, every other field by its whole text.
    """
    for record in found:
        if begin is not None and not _is_at_or_after(record, begin):
            continue
        if all(_has(record, name, value) for name, value in wanted.items()):
            yield record


def summary(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return counts of the decisions, what denied them, and what happened to the service."""
    outcomes: Counter[str] = Counter()
    by: dict[str, Counter[str]] = {name: Counter() for name in ("code", "construct", "keyword", "target")}
    shadow: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    lifecycle: Counter[str] = Counter()
    unrecorded = refused = 0
    for record in found:
        kind = record["kind"]
        if kind == Kind.DECISION:
            outcomes[_ENDS.get(str(record.get("outcome")), "other")] += 1
            shadow.update(record.get("shadow", ()))
            tools.update([record["tool"]] if "tool" in record else ())
            if record.get("outcome") != Outcome.ALLOW:
                for name, counts in by.items():
                    counts.update([record[name]] if name in record else ())
        elif kind == Kind.REFUSED:
            refused += record.get("count", 0)
        elif kind != Kind.EVALUATION:
            lifecycle[kind] += 1
            unrecorded += record.get("unrecorded", 0)
    return {
        "decisions": {name: outcomes[name] for name in _ENDS.values()},
        **{f"denied_by_{name}": dict(counts.most_common()) for name, counts in by.items()},
        "would_block": dict(shadow.most_common()),
        "tools": dict(tools.most_common()),
        "refused_without_record": refused,
        "unrecorded": unrecorded,
        "lifecycle": dict(lifecycle.most_common()),
    }


def _has(record: Mapping[str, Any], name: str, value: str) -> bool:
    found = record.get(name)
    return value in found if isinstance(found, list) else str(found) == value


def _is_at_or_after(record: Mapping[str, Any], begin: datetime) -> bool:
    try:
        return datetime.fromisoformat(record["ts"]) >= begin
    except (KeyError, TypeError, ValueError):
        return False
