"""An audit log on standard output: a descriptor that can be written and not read."""

from __future__ import annotations

import errno
import os
import stat
import time

from evalward import file_calls
from evalward.audit.record_values import Reason
from evalward.audit.sink import AuditUnavailable, Tail, failure_of


class StreamSink:
    """A write-only descriptor, such as a pipe to a log shipper."""

    path: str | None = None

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = 0
        self.born = time.time()
        self._least = self._length() or 0

    def tail(self) -> Tail:
        """Return an empty tail: earlier data cannot be read."""
        return Tail(b"", b"")

    def write(self, data: bytes) -> int:
        """Write with one ``write``, which blocks while the reader does not read.

        A stream that a shell redirected to a file is first checked for truncation.
        """
        try:
            length = self._length()
            if length is not None and length < self._least:
                self._least = length
                raise AuditUnavailable("the file was cut short", Reason.TRUNCATED)
            written = os.write(self._descriptor, data)
        except OSError as error:
            raise failure_of(error) from None
        self.size += written
        self._least += written
        return written

    def sync(self) -> None:
        """Flush the data to the disk if the stream is a file; a pipe needs no flush."""
        try:
            file_calls.flush_data(self._descriptor)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
                raise failure_of(error) from None

    def is_in_place(self) -> bool:
        """Return True: a stream has no other place."""
        return True

    def changed(self) -> Reason | None:
        """Return None: a stream has no length."""
        return None

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _length(self) -> int | None:
        """Return the length of the file that the stream is, None for a pipe or a terminal."""
        status = os.fstat(self._descriptor)
        return status.st_size if stat.S_ISREG(status.st_mode) else None
