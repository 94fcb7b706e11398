"""The interface of a sink, the destination of an audit log, and its failure."""

from __future__ import annotations

import errno
from typing import Final, NamedTuple, Protocol

from evalward.audit.record_values import Reason
from evalward.errors import Code, CodedError

_REASONS: Final = {
    errno.ENOSPC: Reason.FULL,
    errno.EDQUOT: Reason.FULL,
    errno.EFBIG: Reason.FULL,
    errno.ENOENT: Reason.DELETED,
    errno.ENOTDIR: Reason.DELETED,
    errno.EROFS: Reason.READ_ONLY,
    errno.EACCES: Reason.READ_ONLY,
    errno.EPERM: Reason.READ_ONLY,
    errno.EAGAIN: Reason.STUCK,
}


class AuditUnavailable(CodedError):  # noqa: N818 - named for its code
    """A record was not written, so its payload must not be allowed (AUDIT_UNAVAILABLE)."""

    def __init__(self, text: str, reason: Reason = Reason.FAILED) -> None:
        super().__init__(Code.AUDIT_UNAVAILABLE, f"The audit log cannot be written: {text}.")
        self.reason = reason


class Tail(NamedTuple):
    """The end of a file: its last complete line without the newline (empty: none), and the bytes after it."""

    line: bytes
    unfinished: bytes


class Sink(Protocol):
    """An append-only destination of bytes. Every method raises AuditUnavailable."""

    path: str | None
    size: int
    """Bytes that the sink holds."""
    born: float
    """When it was created, in seconds since the epoch."""

    def tail(self) -> Tail:
        """Return the end of the sink; empty if it cannot be read."""
        ...

    def write(self, data: bytes) -> int:
        """Write as much of ``data`` as the sink takes at once; return how many bytes that was."""
        ...

    def sync(self) -> None:
        """Return once all written data would survive a loss of power."""
        ...

    def is_in_place(self) -> bool:
        """Whether the log's path still leads to this sink, with an unchanged length; never raises."""
        ...

    def changed(self) -> Reason | None:
        """Return the change that another process made to the sink, as its length shows it; never raises."""
        ...

    def close(self) -> None:
        """Release the sink; never raises."""
        ...


def failure_of(error: OSError) -> AuditUnavailable:
    """Return the AuditUnavailable for ``error``."""
    reason = _REASONS.get(error.errno or 0, Reason.FAILED)
    return AuditUnavailable((error.strerror or type(error).__name__).lower(), reason)
