"""The audit log: who was told what about which payload, without any of the payload."""

from evalward.audit.log import STDOUT, AuditLog, AuditSink, AuditUnavailable, NullAuditLog
from evalward.audit.record import SCHEMA_VERSION, AuditRecord, Kind, Outcome, decision_record

__all__ = [
    "SCHEMA_VERSION",
    "STDOUT",
    "AuditLog",
    "AuditRecord",
    "AuditSink",
    "AuditUnavailable",
    "Kind",
    "NullAuditLog",
    "Outcome",
    "decision_record",
]
