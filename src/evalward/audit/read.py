"""Read an audit log: all records, a filtered selection, or a summary."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from evalward.audit.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_AGE: Final = re.compile(r"([1-9][0-9]{0,8})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


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
    counts = Counts()
    for record in found:
        counts.add(record)
    return counts.as_object()


def _has(record: Mapping[str, Any], name: str, value: str) -> bool:
    found = record.get(name)
    return value in found if isinstance(found, list) else str(found) == value


def _is_at_or_after(record: Mapping[str, Any], begin: datetime) -> bool:
    try:
        return datetime.fromisoformat(record["ts"]) >= begin
    except (KeyError, TypeError, ValueError):
        return False
