"""The decisions whose programs may still report a denial: in memory, bounded, and only for their own callers.

A report is about one decision, and only the caller that got it can make it. The service keeps no session, so a
decision that was forgotten (too old, too many since, another replica, a restart) can no longer be reported. The
run-time has denied the construct in any case.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from cachetools import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.audit import AuditRecord

MOST_DECISIONS: Final = 4_096
LIFETIME_SECONDS: Final = 900.0
BURST: Final = 20
"""The reports that a caller may make at once; after them one each second."""
_KNOWN_CALLERS: Final = 1_024


class _Decision(NamedTuple):
    caller: str
    record: AuditRecord
    until: float


class ReportableDecisions:
    """Remembers at most ``MOST_DECISIONS`` decisions for ``LIFETIME_SECONDS``, and how often each caller reports."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._decisions: OrderedDict[str, _Decision] = OrderedDict()
        self._reported: LRUCache[str, str] = LRUCache(MOST_DECISIONS)
        self._due: LRUCache[str, float] = LRUCache(_KNOWN_CALLERS)

    def add(self, caller: str, record: AuditRecord) -> None:
        """Remember a decision of ``caller``; ``record`` is that of a report about it, without a construct."""
        if record.decision_id is None:
            raise ValueError("a report is about a decision")
        now = self._clock()
        with self._lock:
            self._decisions[record.decision_id] = _Decision(caller, record, now + LIFETIME_SECONDS)
            while len(self._decisions) > MOST_DECISIONS:
                self._decisions.popitem(last=False)

    def find(self, caller: str, decision_id: str) -> AuditRecord | None:
        """Return the record of a report by ``caller``; None for a decision that is unknown or another caller's."""
        with self._lock:
            found = self._decisions.get(decision_id)
        if found is None or found.caller != caller or found.until < self._clock():
            return None
        return found.record

    def is_reported(self, decision_id: str) -> bool:
        """Whether a report about the decision is in the audit log."""
        with self._lock:
            return decision_id in self._reported

    def reported(self, decision_id: str, construct: str) -> None:
        """Note that a report is in the audit log."""
        with self._lock:
            self._reported[decision_id] = construct

    def has_room(self, caller: str) -> bool:
        """Count a report of ``caller``, valid or not; false when there are too many."""
        now = self._clock()
        with self._lock:
            # The generic cell rate algorithm: the time at which the caller has paid for all of its reports.
            due = max(now, self._due.get(caller, now))
            if due - now > BURST - 1:
                return False
            self._due[caller] = due + 1.0
            return True
