"""The audit log: a tamper-evident record of each decision, without payload text."""

from evalward.audit.allow import AllowForm, AllowRecord
from evalward.audit.decision_record import decision_record
from evalward.audit.fingerprint import Fingerprint
from evalward.audit.journal import Rotation
from evalward.audit.key import AuditKey, load_key
from evalward.audit.log import STDOUT, AuditLog, AuditSink, AuditState, NullAuditLog
from evalward.audit.record import SCHEMA_VERSION, AuditRecord
from evalward.audit.record_values import Durability, Kind, Outcome
from evalward.audit.sink import AuditUnavailable

__all__ = [
    "SCHEMA_VERSION",
    "STDOUT",
    "AllowForm",
    "AllowRecord",
    "AuditKey",
    "AuditLog",
    "AuditRecord",
    "AuditSink",
    "AuditState",
    "AuditUnavailable",
    "Durability",
    "Fingerprint",
    "Kind",
    "NullAuditLog",
    "Outcome",
    "Rotation",
    "decision_record",
    "load_key",
]
