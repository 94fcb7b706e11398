"""The audit log's interface for the service: append a record durably, or raise AUDIT_UNAVAILABLE."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol, Self

from evalward.audit.file_sink import FileSink
from evalward.audit.fingerprint import SHA256, Fingerprint, fingerprint
from evalward.audit.journal import Journal, Rotation
from evalward.audit.pending import Entry
from evalward.audit.record_values import Durability, Integrity
from evalward.audit.sink import failure_of
from evalward.audit.stream_sink import StreamSink
from evalward.audit.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from evalward.audit.allow import AllowRecord
    from evalward.audit.chain import Head
    from evalward.audit.key import AuditKey
    from evalward.audit.record import AuditRecord
    from evalward.audit.record_values import Reason
    from evalward.audit.sink import AuditUnavailable, Sink
    from evalward.errors import Code

STDOUT: Final = "-"
PATIENCE_SECONDS: Final = 1.0


class Terms(NamedTuple):
    """The properties of a log for its START record; ``reset`` says why it does not continue an older chain."""

    integrity: Integrity
    key_id: str | None
    durability: Durability
    reset: Reason | None


class AuditState(NamedTuple):
    """The state of a log: its head, its current failure (None: it works), and counts since the process began.

    ``recorded`` counts the records written for a caller, ``unrecorded`` those that were lost, ``gaps`` the failures
    of the sink.
    """

    head: Head | None
    failure: str | None
    recorded: int
    unrecorded: int
    gaps: int


class AuditSink(Protocol):
    """Where decisions are recorded. ``audits`` says whether accepted records are kept."""

    audits: ClassVar[bool]
    keeps_chain: bool
    """Whether the next process continues the chain."""

    @property
    def terms(self) -> Terms | None:
        """The properties of the log for the START record; None: there is no log."""
        ...

    def append(self, *records: AuditRecord | AllowRecord, patience: float | None = None) -> None:
        """Append the records in this order and return once all have reached the sink; raise AuditUnavailable.

        ``patience`` is how many seconds the caller can wait, if that is less than the sink's own limit.
        """
        ...

    def tally(self, code: Code) -> None:
        """Count a rejected request that gets no record of its own."""
        ...

    def fingerprint(self, sha256: str, payload: bytes) -> Fingerprint:
        """Return how records name ``payload``, whose SHA-256 is ``sha256`` in hexadecimal."""
        ...

    def state(self) -> AuditState:
        """Return the state of the log."""
        ...

    def watch(self, on_health: Callable[[bool], object]) -> None:
        """Call ``on_health`` with False when the sink fails and True when it is back, from any thread."""
        ...

    def reopen(self) -> None:
        """Continue in the file that has the log's name now, after the old one was renamed."""
        ...

    def close(self) -> None:
        """Release the sink; a second call does nothing."""
        ...


class NullAuditLog:
    """No log, by explicit choice; every envelope then says ``audited: false``."""

    audits: ClassVar[bool] = False
    keeps_chain: bool = False
    terms: Terms | None = None

    def append(self, *records: AuditRecord | AllowRecord, patience: float | None = None) -> None:
        """Discard the records."""

    def tally(self, code: Code) -> None:
        """Count nothing."""

    def fingerprint(self, sha256: str, payload: bytes) -> Fingerprint:  # noqa: ARG002 - as any sink's
        """Return the plain digest."""
        return Fingerprint(SHA256, sha256)

    def state(self) -> AuditState:
        """Return the state of a missing log: nothing can be allowed."""
        return AuditState(None, "no log is kept", 0, 0, 0)

    def watch(self, on_health: Callable[[bool], object]) -> None:
        """Do nothing: there is no sink that could fail."""

    def reopen(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class AuditLog:
    """A chained, append-only log; safe to share between threads.

    When ``append`` returns, the record survives the event that ``durability`` names. A failed record releases its
    sequence number.
    """

    audits: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913 - one parameter per setting
        self,
        sink: Sink,
        *,
        key: AuditKey | None = None,
        durability: Durability = Durability.PROCESS,
        rotation: Rotation | None = None,
        fnv1a32: bool = False,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """Continue the chain at the end of ``sink``, or begin one; raise AuditUnavailable.

        ``patience`` is how many seconds a record may take before it counts as lost.
        """
        self._key = key
        self._fnv1a32 = fnv1a32
        self._patience = patience
        self.keeps_chain = sink.path is not None
        self._journal = Journal(
            sink, key=key, durability=durability, rotation=rotation or Rotation(), clock=clock
        )
        self._writer = Writer(self._journal)
        self.terms: Terms | None = Terms(
            Integrity.PLAIN if key is None else Integrity.KEYED,
            None if key is None else key.id,
            durability,
            self._journal.reset,
        )

    @classmethod
    def open(  # noqa: PLR0913 - one parameter per setting
        cls,
        path: str | os.PathLike[str],
        *,
        key: AuditKey | None = None,
        durability: Durability = Durability.PROCESS,
        rotation: Rotation | None = None,
        fnv1a32: bool = False,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], int] = time.time_ns,
    ) -> AuditLog:
        """Open the log at ``path`` (``-``: stdout), create it with mode 0600 if it does not exist.

        An unfinished last line is closed and recorded; a file that this chain cannot continue is set aside. Raise
        AuditUnavailable for a file that ``FileSink.open`` refuses, and for one that cannot be written.
        """
        sink = _sink_at(os.fspath(path))
        try:
            return cls(
                sink,
                key=key,
                durability=durability,
                rotation=rotation,
                fnv1a32=fnv1a32,
                patience=patience,
                clock=clock,
            )
        except BaseException:
            sink.close()
            raise

    @property
    def boot_id(self) -> str:
        """The id of this process in its records."""
        return self._journal.boot_id

    @property
    def head(self) -> Head:
        """The last record of the chain."""
        return self._journal.head

    @property
    def failure(self) -> AuditUnavailable | None:
        """The current failure of the sink; None: it works."""
        return self._writer.failure

    def append(self, *records: AuditRecord | AllowRecord, patience: float | None = None) -> None:
        """Write each record as one line, all in one write; raise AuditUnavailable unless all are written in time.

        Some records of a failed call may be in the log; the next GAP record counts them (``unacknowledged``).
        """
        if not records:
            return
        limit = self._patience if patience is None else max(0.0, min(patience, self._patience))
        self._writer.submit(Entry(records), limit)

    def tally(self, code: Code) -> None:
        """Count a request rejected with ``code``; the counts of a second are written as one record per code."""
        self._writer.tally(code)

    def fingerprint(self, sha256: str, payload: bytes) -> Fingerprint:
        """Return how records name ``payload``: keyed where the log has a key."""
        return fingerprint(sha256, payload, key=self._key, fnv1a32=self._fnv1a32)

    def state(self) -> AuditState:
        """Return the state of the log; a failure is given by its ``Reason``, without a path."""
        failure = self.failure
        counts = self._writer.counts()
        return AuditState(self.head, None if failure is None else failure.reason.value, *counts)

    def watch(self, on_health: Callable[[bool], object]) -> None:
        """Register ``on_health``."""
        self._writer.on_health = on_health

    def reopen(self) -> None:
        """Reopen the log by its name before the next record is written."""
        self._writer.reopen()

    def close(self) -> None:
        """Write the pending records and close the sink; later records raise AuditUnavailable."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sink_at(path: str) -> Sink:
    if path == STDOUT:
        return StreamSink(_private_stdout())
    return FileSink.open(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow a symbolic link


def _private_stdout() -> int:
    try:
        return os.dup(1)
    except OSError as error:
        raise failure_of(error) from None
