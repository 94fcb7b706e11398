"""The record of a file that was taken, or refused, while the server serves."""

from __future__ import annotations

import errno
import logging
import os
from ssl import SSLError
from typing import TYPE_CHECKING, Final

from evalward.audit import AuditUnavailable

if TYPE_CHECKING:
    from evalward.audit import AuditRecord, AuditSink

LOG = logging.getLogger("evalward.server")


_PASSING: Final = frozenset(
    {
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN, errno.EINTR),
        *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
    }
)


class TransientFileError(Exception):
    """The file could not be read for want of something that will be there again: nothing is known of its text."""


def raise_if_transient(refusal: BaseException) -> None:
    """Raise NotNowError when ``refusal`` comes from a failure of the system that passes, and not from the file."""
    cause: BaseException | None = refusal
    while cause is not None:
        # The number of an SSLError is one of OpenSSL's, not of the system.
        if isinstance(cause, OSError) and not isinstance(cause, SSLError) and cause.errno in _PASSING:
            raise TransientFileError(os.strerror(cause.errno)) from None
        cause = cause.__cause__ or cause.__context__


def recorded(audit_log: AuditSink, record: AuditRecord) -> bool:
    """Append ``record``; False when ``audit_log`` does not take it, so that the file has to wait."""
    try:
        audit_log.append(record)
    except AuditUnavailable as failure:
        LOG.error("no %s record: %s", record.kind, failure)  # noqa: TRY400 - the cause is in the text
        return False
    return True
