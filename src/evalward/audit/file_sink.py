"""An audit log in a private file, checked before each write for being replaced, truncated or altered."""

from __future__ import annotations

import os
import re
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evalward import file_calls
from evalward.audit.record_values import Reason
from evalward.audit.sink import AuditUnavailable, Tail, failure_of

FILE_MODE: Final = 0o600
_OPEN_FLAGS: Final = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | file_calls.CLOSE_ON_EXEC
    | file_calls.NO_FOLLOW
    | file_calls.NO_WAIT
    | file_calls.BINARY
)
_ENDS_OF_TWO_LINES: Final = 2  # of the last whole line, and of the one before it
_TAIL_BLOCK: Final = 64 * 1024
_FIRST_TIME: Final = re.compile(rb'"ts":"([^"]{20,32})"')
_LONGEST_LINE: Final = 64 * 1024
_BEGINNING_BYTES: Final = 64
_DIGITS: Final = re.compile(rb"[0-9]+")
_BEGINNING: Final = b'{"v":,"seq":,'  # without its digits


class FileSink:
    """One regular file, mode 0600, locked against a second writer."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path: str | None = path
        self._path = path
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        self._identity = (status.st_dev, status.st_ino)
        self.size = status.st_size
        self.born = _first_time(descriptor) or time.time()

    @classmethod
    def open(cls, path: str, *, any_contents: bool = False) -> FileSink:
        """Open or create the file at the absolute ``path``.

        Raise AuditUnavailable, and change nothing, for a link of either kind, for anything but a regular file of this
        user, for a file with other contents than a log, for one that another process writes, and for one that cannot
        be opened or made private. ``any_contents`` also accepts a file that is no log: the caller sets it aside.
        """
        try:
            descriptor = os.open(path, _OPEN_FLAGS, FILE_MODE)
        except OSError as error:
            raise failure_of(error) from None
        try:
            _refuse_foreign(descriptor, any_contents=any_contents)
            _lock(descriptor)
            _make_private(descriptor)
            return cls(path, descriptor)
        except OSError as error:
            os.close(descriptor)
            raise failure_of(error) from None
        except AuditUnavailable:
            os.close(descriptor)
            raise

    def tail(self) -> Tail:
        """Read the end of the file."""
        try:
            return _tail(self._descriptor, self.size)
        except OSError as error:
            raise failure_of(error) from None

    def write(self, data: bytes) -> int:
        """Append with one ``write``, after a check that the path still names this file and its length is unchanged."""
        try:
            status = os.lstat(self._path)
            if (status.st_dev, status.st_ino) != self._identity:
                raise AuditUnavailable("the file was replaced by another", Reason.REPLACED)
            if status.st_size < self.size:
                raise AuditUnavailable("the file was cut short", Reason.TRUNCATED)
            if status.st_size > self.size:
                raise AuditUnavailable("something else wrote to the file", Reason.ALTERED)
            if not status.st_mode & stat.S_IWUSR:
                raise AuditUnavailable("the file was made read-only", Reason.READ_ONLY)
            written = os.write(self._descriptor, data)
        except OSError as error:
            raise failure_of(error) from None
        self.size += written
        return written

    def sync(self) -> None:
        """Flush the file's data to the disk."""
        try:
            file_calls.flush_data(self._descriptor)
        except OSError as error:
            raise failure_of(error) from None

    def is_in_place(self) -> bool:
        """Whether the path still names this file, and it is as long as what was written to it."""
        try:
            status = os.lstat(self._path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity and status.st_size == self.size

    def changed(self) -> Reason | None:
        """Return the change that another process made to the file, as its length shows it; None: no such change."""
        try:
            status = os.lstat(self._path)
        except OSError:
            return None
        if (status.st_dev, status.st_ino) != self._identity or status.st_size == self.size:
            return None
        return Reason.TRUNCATED if status.st_size < self.size else Reason.ALTERED

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def set_aside(path: str, *, nanoseconds: int) -> str:
    """Rename the file at ``path`` to a name with a timestamp, which sorts by age; return that name.

    Raise AuditUnavailable.
    """
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    aside = f"{path}.{datetime.fromtimestamp(seconds, UTC):%Y%m%dT%H%M%S}.{rest:09d}Z"
    try:
        if os.path.lexists(aside):
            raise AuditUnavailable("there is a file with the name of the one to set aside")
        Path(path).rename(aside)
    except OSError as error:
        raise failure_of(error) from None
    return aside


def sync_directory(path: str) -> None:
    """Flush the directory entry of the file at ``path`` to the disk; raise AuditUnavailable."""
    try:
        file_calls.flush_directory(Path(path).parent)
    except OSError as error:
        raise failure_of(error) from None


def _refuse_foreign(descriptor: int, *, any_contents: bool) -> None:
    """Reject a file that was named by mistake or by a planted link, before anything of it changes."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise AuditUnavailable("it is not a regular file")
    if not file_calls.is_own(status):
        raise AuditUnavailable("it belongs to another user")
    if status.st_nlink > 1:
        raise AuditUnavailable("the file has a second name (a hard link)")
    beginning = file_calls.read_at(descriptor, _BEGINNING_BYTES, 0)
    if beginning and not any_contents and not _is_beginning_of_log(beginning):
        raise AuditUnavailable("it is no audit log: give another name, or move the file away")


def _is_beginning_of_log(data: bytes) -> bool:
    """Whether a log of any schema begins with ``data``; a loss of power can cut even the first line."""
    shape = _DIGITS.sub(b"", data)
    return shape.startswith(_BEGINNING) or _BEGINNING.startswith(shape)


def _make_private(descriptor: int) -> None:
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
        file_calls.make_private(descriptor, FILE_MODE)


def _lock(descriptor: int) -> None:
    """Reject a file that another process writes: two chains in one file cannot be verified."""
    try:
        file_calls.lock(descriptor)
    except BlockingIOError:
        raise AuditUnavailable("another process writes it") from None


def _first_time(descriptor: int) -> float | None:
    """Return the time of the file's first record in seconds since the epoch, None without one."""
    found = _FIRST_TIME.search(file_calls.read_at(descriptor, 256, 0))
    if found is None:
        return None
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp()
    except ValueError:
        return None


def _tail(descriptor: int, size: int) -> Tail:
    """Return the last complete line of at most ``_LONGEST_LINE`` bytes, and the bytes after the last newline."""
    data = b""
    position = size
    while position > 0 and data.count(b"\n") < _ENDS_OF_TWO_LINES and len(data) < _LONGEST_LINE + _TAIL_BLOCK:
        start = max(0, position - _TAIL_BLOCK)
        data = file_calls.read_at(descriptor, position - start, start) + data
        position = start
    whole, newline, unfinished = data.rpartition(b"\n")
    return Tail(whole.rpartition(b"\n")[2] if newline else b"", unfinished)
