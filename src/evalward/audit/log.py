"""The audit log: JSON Lines, appended with one write a record (service.md, Audit log)."""

from __future__ import annotations

import os
import stat
import threading
import time
import uuid
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from evalward.audit.record import AuditRecord, Kind, encode
from evalward.errors import Code, CodedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

STDOUT = "-"
_FILE_MODE = 0o600
_OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TAIL_BLOCK = 64 * 1024


class AuditUnavailable(CodedError):  # noqa: N818 - named for its code
    """A record did not reach the log, so no ALLOW may be given on it (AUDIT_UNAVAILABLE)."""

    def __init__(self, reason: str) -> None:
        super().__init__(Code.AUDIT_UNAVAILABLE, f"The audit log cannot be written: {reason}.")


class AuditSink(Protocol):
    """Where decisions are recorded. ``audits`` says whether a record that was taken is really kept."""

    audits: ClassVar[bool]

    def append(self, record: AuditRecord) -> None:
        """Take one record; when this returns the record has reached the sink. Raise AuditUnavailable."""

    def close(self) -> None:
        """Release the sink; a second call does nothing."""


class NullAuditLog:
    """The explicit choice to keep no log; every envelope then says ``audited: false``."""

    audits: ClassVar[bool] = False

    def append(self, record: AuditRecord) -> None:
        """Take a record and keep nothing of it."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class AuditLog:
    """An append-only log on one descriptor; safe to share between threads.

    The record has survived the death of the process when ``append`` returns (durability ``process``).
    ``seq`` counts from 1 within ``boot_id`` and has no gaps: a record that failed gives its number back.
    """

    audits: ClassVar[bool] = True

    def __init__(self, descriptor: int, *, path: str | None, clock: Callable[[], int] = time.time_ns) -> None:
        """Take over ``descriptor``; ``path`` is where it must stay reachable, None for a stream."""
        self.boot_id = uuid.uuid4().hex
        self._descriptor: int | None = descriptor
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._seq = 0
        self._torn_bytes = 0
        status = os.fstat(descriptor)
        self._identity = (status.st_dev, status.st_ino)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, clock: Callable[[], int] = time.time_ns) -> AuditLog:
        """Open the log at ``path`` (``-``: stdout), create it with mode 0600 if it does not exist.

        An unfinished last line is closed and recorded. Raise AuditUnavailable for a symbolic link, for
        anything but a regular file, and for a file that cannot be opened, made private or written.
        """
        if os.fspath(path) == STDOUT:
            return cls(_private_stdout(), path=None, clock=clock)
        full = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow the symbolic link
        try:
            descriptor = os.open(full, _OPEN_FLAGS, _FILE_MODE)
        except OSError as error:
            raise AuditUnavailable(_reason(error)) from None
        try:
            _make_private(descriptor)
            log = cls(descriptor, path=full, clock=clock)
            log._recover(_unfinished_bytes(descriptor))
        except OSError as error:
            os.close(descriptor)
            raise AuditUnavailable(_reason(error)) from None
        except AuditUnavailable:
            os.close(descriptor)
            raise
        return log

    def append(self, record: AuditRecord) -> None:
        """Write ``record`` as one line with one ``write``; raise AuditUnavailable unless all is there."""
        with self._lock:
            self._recover(self._torn_bytes)
            self._write(record)

    def close(self) -> None:
        """Close the descriptor; later records raise AuditUnavailable."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _recover(self, torn_bytes: int) -> None:
        """Close an unfinished line, so that the next record is not lost in it."""
        if torn_bytes:
            self._torn_bytes = torn_bytes
            self._write(AuditRecord(kind=Kind.TORN, torn_bytes=torn_bytes), before=b"\n")

    def _write(self, record: AuditRecord, before: bytes = b"") -> None:
        if self._descriptor is None:
            raise AuditUnavailable("it is closed")
        line = before + encode(record, seq=self._seq + 1, boot_id=self.boot_id, nanoseconds=self._clock())
        try:
            self._check_identity()
            written = os.write(self._descriptor, line)
        except OSError as error:
            raise AuditUnavailable(_reason(error)) from None
        if written < len(line):
            if written >= len(before):
                self._torn_bytes = written - len(before)
            raise AuditUnavailable(f"only {written} of {len(line)} bytes were written")
        self._torn_bytes = 0
        self._seq += 1

    def _check_identity(self) -> None:
        """Refuse a log that was deleted or replaced: nobody could read the records that it takes."""
        if self._path is None:
            return
        status = os.lstat(self._path)
        if (status.st_dev, status.st_ino) != self._identity:
            raise AuditUnavailable("the file was replaced by another")


def _private_stdout() -> int:
    try:
        return os.dup(1)
    except OSError as error:
        raise AuditUnavailable(_reason(error)) from None


def _make_private(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise AuditUnavailable("it is not a regular file")
    if stat.S_IMODE(status.st_mode) != _FILE_MODE:
        os.fchmod(descriptor, _FILE_MODE)


def _unfinished_bytes(descriptor: int) -> int:
    """Return how many bytes follow the last newline of the file."""
    end = os.fstat(descriptor).st_size
    position = end
    while position > 0:
        start = max(0, position - _TAIL_BLOCK)
        newline = os.pread(descriptor, position - start, start).rfind(b"\n")
        if newline >= 0:
            return end - (start + newline + 1)
        position = start
    return end


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
