"""The record of a file that was taken, or refused, while the server serves."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from evalward.audit import AuditUnavailable

if TYPE_CHECKING:
    from evalward.audit import AuditRecord, AuditSink

LOG = logging.getLogger("evalward.server")


def recorded(audit_log: AuditSink, record: AuditRecord) -> bool:
    """Append ``record``; False when ``audit_log`` does not take it, so that the file has to wait."""
    try:
        audit_log.append(record)
    except AuditUnavailable as failure:
        LOG.error("no %s record: %s", record.kind, failure)  # noqa: TRY400 - the cause is in the text
        return False
    return True
