"""The closed sets of values in an audit record: its kind, outcome, reason, durability and integrity."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kind of a record."""

    DECISION = "decision"
    EVALUATION = "evaluation"  # the result of running a payload that the decision with the same id allowed
    RUN_TIME_DENIAL = "run_time_denial"  # a caller reports that the program of its allow was denied something
    REFUSED = (
        "refused"  # how many requests without a record each were rejected with a code, within one second
    )
    START = "start"
    STOP = "stop"
    POLICY_LOAD = "policy_load"
    POLICY_REJECT = "policy_reject"
    TOKEN_LOAD = "token_load"  # noqa: S105 - the token file was reloaded
    TOKEN_REJECT = "token_reject"  # noqa: S105 - the file was invalid; the previous tokens stay in force
    TLS_LOAD = "tls_load"  # new certificates are in force
    TLS_REJECT = "tls_reject"  # they were invalid; the previous ones stay in force
    ROTATE = "rotate"  # the first record of a file that continues the chain of another
    TORN = "torn"  # the log ended inside a line, which was closed
    GAP = "gap"  # the sink failed for a while; blocks were answered without a record


class Outcome(StrEnum):
    """The answer to the caller: allow, deny or error for a payload; completed, failed or error for its run."""

    ALLOW = "allow"
    DENY = "deny"
    COMPLETED = "completed"
    FAILED = "failed"
    ERROR = "error"


class Integrity(StrEnum):
    """What the chain proves: without a key, an attacker who edits a record can recompute all later digests."""

    KEYED = "tamper-evident"
    PLAIN = "integrity only, not tamper-evident"


class Durability(StrEnum):
    """What an accepted record survives: the end of the process, or a loss of power."""

    PROCESS = "process"
    DISK = "disk"


class Reason(StrEnum):
    """The reason of a GAP or a ROTATE record, or of a START record that does not continue an existing chain."""

    FULL = "full"
    DELETED = "deleted"
    REPLACED = "replaced"
    TRUNCATED = "truncated"  # shortened in place
    ALTERED = "altered"  # another process wrote to it
    READ_ONLY = "read-only"
    STUCK = "stuck"
    FAILED = "failed"  # any other error of the sink
    SIZE = "size"
    AGE = "age"
    REOPENED = "reopened"
    OTHER_KEY = "other-key"  # the old log is of another key, of none, or of another schema
    UNVERIFIED = "unverified"  # the old log's last line is not what this service wrote
