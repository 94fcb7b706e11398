"""Records that wait for the writer of an audit log, and how many of them it wrote."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from evalward.audit.allow import AllowRecord
from evalward.audit.chain import members
from evalward.audit.record_values import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.audit.record import AuditRecord
    from evalward.audit.sink import AuditUnavailable


class Entry:
    """Records that are written together: ``done`` is released when all are written, or when ``failure`` is set.

    ``recorded`` is how many of them, from the first, are in the log.
    """

    __slots__ = ("abandoned", "done", "failure", "recorded", "texts")

    def __init__(self, records: Sequence[AuditRecord | AllowRecord]) -> None:
        self.texts = [
            (Kind.DECISION, record.text)
            if isinstance(record, AllowRecord)
            else (record.kind, members(record))
            for record in records
        ]
        self.recorded = 0
        self.done = threading.Lock()
        self.done.acquire()
        self.failure: AuditUnavailable | None = None
        self.abandoned = False


def count_written(batch: list[Entry], records: int) -> int:
    """Assign the ``records`` that were written to the entries; return how many entries are complete."""
    for place, entry in enumerate(batch):
        entry.recorded = min(len(entry.texts), records)
        records -= entry.recorded
        if entry.recorded < len(entry.texts):
            return place
    return len(batch)
