"""What every file reload needs: detect temporary failures, and append the audit record first."""

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
    """The file cannot be read temporarily, so its content is unknown."""


def raise_if_transient(refusal: BaseException) -> None:
    """Raise TransientFileError when ``refusal`` is caused by a temporary system failure, not by the file."""
    cause: BaseException | None = refusal
    while cause is not None:
        # The errno of an SSLError is an OpenSSL code.
        if isinstance(cause, OSError) and not isinstance(cause, SSLError) and cause.errno in _PASSING:
            raise TransientFileError(os.strerror(cause.errno)) from None
        cause = cause.__cause__ or cause.__context__


def recorded(audit_log: AuditSink, record: AuditRecord) -> bool:
    """Append ``record``; return False when ``audit_log`` does not accept it, so that the reload has to wait."""
    try:
        audit_log.append(record)
    except AuditUnavailable as failure:
        LOG.error("no %s record: %s", record.kind, failure)  # noqa: TRY400 - the cause is in the text
        return False
    return True
