"""The thread that writes an audit log for all callers, so that a stuck sink cannot block a caller.

All pending records are written with one ``write`` and, at durability ``disk``, flushed with one ``fdatasync`` (group
commit). A failed sink is retried with each record, and a few times a second without one; the first record after the
failure is a GAP record (service.md, Audit log).
"""

from __future__ import annotations

import logging
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.audit.chain import members
from evalward.audit.pending import Entry, count_written
from evalward.audit.record import AuditRecord
from evalward.audit.record_values import Kind, Reason
from evalward.audit.sink import AuditUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.audit.journal import Journal
    from evalward.errors import Code

LOG = logging.getLogger("evalward.audit")

PROBE_SECONDS: Final = 0.25
TALLY_SECONDS: Final = 1.0
BUSY_SECONDS: Final = 0.1  # a sink that keeps one write for longer, until a caller gives up, is stuck
MAX_BATCH: Final = 256
JOIN_SECONDS: Final = 5.0


class Counts(NamedTuple):
    """Records that were written, records that were not, and how often the sink failed."""

    recorded: int
    unrecorded: int
    gaps: int


class Writer:
    """Owns the thread, the pending records, and the state of the sink."""

    def __init__(self, journal: Journal) -> None:
        self.on_health: Callable[[bool], object] = lambda _healthy: None
        self._journal = journal
        self._waiting: SimpleQueue[Entry | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._tallies: dict[Code, int] = {}
        self._tally_due = 0.0
        self._busy_since: float | None = None
        self._failure: AuditUnavailable | None = None
        self._failed_at = 0.0
        self._unrecorded = 0
        self._unacknowledged = 0
        self._recorded = 0
        self._reported = 0
        self._gaps = 0
        self._must_reopen = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> AuditUnavailable | None:
        """The current failure of the sink; None: it works."""
        return self._failure

    def counts(self) -> Counts:
        """Return what happened since the start."""
        with self._lock:
            return Counts(self._recorded, self._reported + self._unrecorded, self._gaps)

    def submit(self, entry: Entry, patience: float) -> None:
        """Return when all of ``entry`` is in the log; raise AuditUnavailable, after ``patience`` seconds at most."""
        if self._is_closed:
            raise AuditUnavailable("it is closed")
        if self._failure is not None and self._is_busy_for_long():
            with self._lock:
                self._unrecorded += len(entry.texts)
            raise AuditUnavailable("the sink is stuck", Reason.STUCK)
        self._waiting.put(entry)
        if not entry.done.acquire(timeout=patience):
            self._give_up(entry)
        if entry.failure is not None:
            raise entry.failure

    def tally(self, code: Code) -> None:
        """Count one request rejected with ``code``; the counts of a second are written as one record per code."""
        with self._lock:
            is_first = not self._tallies
            self._tallies[code] = self._tallies.get(code, 0) + 1
            if is_first:
                self._tally_due = time.monotonic() + TALLY_SECONDS
        if is_first:
            self._waiting.put(None)

    def reopen(self) -> None:
        """Continue in the file that has the log's name now; returns at once."""
        self._must_reopen = True
        self._waiting.put(None)

    def close(self) -> None:
        """Write the pending records and end the thread; a stuck thread is abandoned. A second call does nothing."""
        self._is_closed = True
        self._waiting.put(None)
        self._thread.join(JOIN_SECONDS)

    def _is_busy_for_long(self) -> bool:
        since = self._busy_since
        return since is not None and time.monotonic() - since > BUSY_SECONDS

    def _give_up(self, entry: Entry) -> None:
        with self._lock:
            if entry.done.acquire(blocking=False):
                return
            entry.abandoned = True
        late = AuditUnavailable("the sink does not take the record in time", Reason.STUCK)
        if self._is_busy_for_long():
            self._fail(late)
        raise late

    def _fail(self, failure: AuditUnavailable) -> None:
        with self._lock:
            if self._failure is None:
                self._failed_at = time.monotonic()
                self._gaps += 1
                LOG.error(
                    "no ALLOW until it is back: %s", failure, extra={"fields": {"reason": failure.reason}}
                )
                self._tell(is_healthy=False)
            self._failure = failure

    def _tell(self, *, is_healthy: bool) -> None:
        """Report the state of the sink; an exception in the listener does not end the thread."""
        try:
            self.on_health(is_healthy)
        except Exception as error:  # noqa: BLE001 - a listener may raise anything
            LOG.error("the listener for the audit log's state failed: %s", type(error).__name__)  # noqa: TRY400

    def _run(self) -> None:
        while True:
            batch = self._take()
            self._busy_since = time.monotonic()
            try:
                self._commit(batch)
            except AuditUnavailable as failure:
                self._refuse(batch, failure)
            except Exception as error:  # noqa: BLE001 - after any exception nothing may count as written
                self._refuse(batch, AuditUnavailable(type(error).__name__.lower()))
            finally:
                self._busy_since = None
            if self._is_closed and self._waiting.empty():
                self._journal.close()
                return

    def _take(self) -> list[Entry]:
        """Wait for entries, for the next tally record, or for the next retry of a failed sink."""
        batch: list[Entry] = []
        try:
            entry = self._waiting.get(timeout=self._pause())
        except Empty:
            return batch
        size = 0
        while True:
            if entry is not None:
                batch.append(entry)
                size += len(entry.texts)
            if size >= MAX_BATCH or self._waiting.empty():
                break
            entry = self._waiting.get_nowait()
        if not any([entry.abandoned for entry in batch]):  # noqa: C419 - a generator costs more than the list
            return batch
        with self._lock:
            live = [entry for entry in batch if not entry.abandoned]
            self._unrecorded += size - sum(len(entry.texts) for entry in live)
        return live

    def _pause(self) -> float | None:
        if self._failure is not None:
            return PROBE_SECONDS
        if self._tallies:
            return max(0.0, self._tally_due - time.monotonic())
        return None

    def _commit(self, batch: list[Entry]) -> None:
        """Write ``batch`` and due tallies; raise AuditUnavailable for the entries that remain in ``batch``."""
        journal = self._journal
        if self._failure is not None or self._unrecorded or self._unacknowledged:
            self._recover()
        if self._must_reopen:
            self._must_reopen = False
            journal.reopen()
        tallies = self._due_tallies()
        texts = [text for entry in batch for text in entry.texts]
        if tallies:
            refused = (AuditRecord(kind=Kind.REFUSED, code=code, count=tallies[code]) for code in tallies)
            texts[:0] = [(record.kind, members(record)) for record in refused]
        if not texts:
            return
        try:
            whole = journal.write(texts)
        except AuditUnavailable:
            self._put_back(tallies)
            raise
        if whole < len(tallies):
            self._put_back(dict([*tallies.items()][whole:]))
        written = count_written(batch, max(0, whole - len(tallies)))
        try:
            journal.sync()
        except AuditUnavailable as failure:
            self._release(batch[:written], failure)
            del batch[:written]
            raise
        self._release(batch[:written], None)
        if whole < len(texts):
            del batch[:written]
            raise AuditUnavailable("the record was cut short", Reason.FULL)

    def _recover(self) -> None:
        """Write the GAP record; raise AuditUnavailable when the sink still fails."""
        with self._lock:
            failure, failed_at = self._failure, self._failed_at
            unrecorded, unacknowledged = self._unrecorded, self._unacknowledged
        gap = AuditRecord(
            kind=Kind.GAP,
            # Without a failure a caller stopped waiting before its record was written.
            reason=Reason.STUCK if failure is None else failure.reason,
            unrecorded=unrecorded,
            unacknowledged=unacknowledged,
            gap_us=0 if failure is None else int((time.monotonic() - failed_at) * 1e6),
        )
        self._journal.recover(gap)
        with self._lock:
            self._unrecorded -= unrecorded
            self._reported += unrecorded
            self._unacknowledged -= unacknowledged
            if self._failure is not None:
                self._failure = None
                LOG.warning(
                    "the audit log is back; %d records were lost",
                    unrecorded,
                    extra={"fields": {"unrecorded": unrecorded}},
                )
                self._tell(is_healthy=True)

    def _refuse(self, batch: list[Entry], failure: AuditUnavailable) -> None:
        self._fail(failure)
        self._release(batch, failure)

    def _release(self, entries: list[Entry], failure: AuditUnavailable | None) -> None:
        with self._lock:
            for entry in entries:
                self._recorded += entry.recorded
                self._unrecorded += len(entry.texts) - entry.recorded
                if entry.abandoned or failure is not None:
                    self._unacknowledged += entry.recorded
                entry.failure = failure
                entry.done.release()

    def _due_tallies(self) -> dict[Code, int]:
        if not self._tallies:
            return {}
        with self._lock:
            if not (self._is_closed or time.monotonic() >= self._tally_due):
                return {}
            due, self._tallies = self._tallies, {}
            return due

    def _put_back(self, tallies: dict[Code, int]) -> None:
        with self._lock:
            for code, count in tallies.items():
                self._tallies[code] = self._tallies.get(code, 0) + count
