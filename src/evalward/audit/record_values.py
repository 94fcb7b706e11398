"""The closed sets of values in an audit record: its kind, outcome, reason, durability and integrity."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a record is about."""

    DECISION = "decision"
    EVALUATION = "evaluation"  # what became of a payload that a decision with the same id allowed
    REFUSED = "refused"  # how often a code refused requests that get no record each, within one second
    START = "start"
    STOP = "stop"
    POLICY_LOAD = "policy_load"
    POLICY_REJECT = "policy_reject"
    TOKEN_LOAD = "token_load"  # noqa: S105 - the token file was taken anew
    TOKEN_REJECT = "token_reject"  # noqa: S105 - it was not; the tokens before it stay
    TLS_LOAD = "tls_load"  # new certificates are in force
    TLS_REJECT = "tls_reject"  # they did not work; those before them stay
    ROTATE = "rotate"  # the first record of a file that goes on with the chain of another
    TORN = "torn"  # the log ended inside a line, which was closed
    GAP = "gap"  # the sink failed for a while; blocks were answered without a record


class Outcome(StrEnum):
    """What the caller was told: allow, deny or error of a payload, completed, failed or error of its run."""

    ALLOW = "allow"
    DENY = "deny"
    COMPLETED = "completed"
    FAILED = "failed"
    ERROR = "error"


class Integrity(StrEnum):
    """What the chain proves: without a key, whoever edits a record can recompute every digest after it."""

    KEYED = "tamper-evident"
    PLAIN = "integrity only, not tamper-evident"


class Durability(StrEnum):
    """What a record that was taken survives: the death of the process, or the loss of power."""

    PROCESS = "process"
    DISK = "disk"


class Reason(StrEnum):
    """Why there is a GAP or a ROTATE record, or why a START record begins a new chain beside an old one."""

    FULL = "full"
    DELETED = "deleted"
    REPLACED = "replaced"
    TRUNCATED = "truncated"  # cut short in its place
    ALTERED = "altered"  # something else wrote to it
    READ_ONLY = "read-only"
    STUCK = "stuck"
    FAILED = "failed"  # any other error of the sink
    SIZE = "size"
    AGE = "age"
    REOPENED = "reopened"
    OTHER_KEY = "other-key"  # the old log is of another key, of none, or of another schema
    UNVERIFIED = "unverified"  # the old log's last line is not what this service wrote
