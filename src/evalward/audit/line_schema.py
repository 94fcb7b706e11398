"""The JSON Schema of one audit line, derived from the checks of ``AuditRecord``."""

from __future__ import annotations

from typing import Any, Final

from evalward.audit.record import COUNTS, ENUMS, PATTERNS, SCHEMA_VERSION, WEAKENED
from evalward.audit.record_values import Kind, Outcome
from evalward.guard.constructs.labels import CONSTRUCT_LABELS
from evalward.guard.constructs.process_member import DOCUMENTED_MEMBERS
from evalward.guard.rules import SEED_KEYWORDS
from evalward.guard.verdict import KEYWORD_PREFIX, MAX_FINDINGS
from evalward.identifiers import KEYWORD_ID

_HEX: Final = "^[0-9a-f]{%d}$"
_ALWAYS: Final = ("v", "seq", "ts", "chain", "boot_id", "kind", "prev", "mac")
_REQUIRED: Final = {
    Kind.DECISION: ("decision_id", "outcome", "hash_alg", "code_hash", "code_length"),
    Kind.EVALUATION: ("decision_id", "outcome", "hash_alg", "code_hash", "code_length"),
    Kind.RUN_TIME_DENIAL: ("decision_id", "outcome", "code", "construct", "code_hash", "hardened_hash"),
    Kind.REFUSED: ("code", "count"),
    Kind.START: ("integrity", "durability", "version"),
    Kind.STOP: ("head", "version"),
    Kind.POLICY_LOAD: ("policy_digest", "previous_policy_digest"),
    Kind.POLICY_REJECT: ("code", "policy_digest"),
    Kind.TOKEN_LOAD: ("count",),
    Kind.TOKEN_REJECT: ("code",),
    Kind.TLS_LOAD: ("certificate",),
    Kind.TLS_REJECT: ("code",),
    Kind.ROTATE: ("reason",),
    Kind.TORN: ("torn_bytes", "torn_hash"),
    Kind.GAP: ("reason", "unrecorded", "unacknowledged", "gap_us"),
}
_OUTCOMES: Final = {
    Kind.DECISION: [Outcome.ALLOW, Outcome.DENY, Outcome.ERROR],
    Kind.EVALUATION: [Outcome.COMPLETED, Outcome.FAILED, Outcome.ERROR],
    Kind.RUN_TIME_DENIAL: [Outcome.DENY],
}


def audit_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); it is closed: unknown members are invalid."""
    label = {"enum": [*sorted(CONSTRUCT_LABELS), "process", *(f"process.{each}" for each in _members())]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Evalward audit record",
        "description": "One line of an audit log. No member can hold text of a payload.",
        "type": "object",
        "properties": {
            "v": {"const": SCHEMA_VERSION},
            "seq": {"type": "integer", "minimum": 1},
            "ts": {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z$"},
            "chain": {"type": "string", "pattern": _HEX % 32},
            "boot_id": {"type": "string", "pattern": _HEX % 32},
            **{name: {"enum": [str(each) for each in enum]} for name, enum in ENUMS.items()},
            **{
                name: {"type": "string", "pattern": f"^({pattern.pattern})$"}
                for name, pattern in PATTERNS.items()
            },
            "construct": label,
            "keyword": {"anyOf": [{"enum": [*SEED_KEYWORDS]}, _text(KEYWORD_ID)]},
            "shadow": {"type": "array", "items": label, "minItems": 1},
            "findings": {
                "type": "array",
                "items": {
                    "anyOf": [
                        label,
                        {"enum": [f"{KEYWORD_PREFIX}{word}" for word in SEED_KEYWORDS]},
                        _text(f"{KEYWORD_PREFIX}{KEYWORD_ID}"),
                    ]
                },
                "minItems": 2,
                "maxItems": MAX_FINDINGS,
            },
            "weakened": {"type": "array", "items": _text(WEAKENED.pattern), "minItems": 1},
            **{name: {"type": "integer", "minimum": 0} for name in COUNTS},
            "head": _text("[0-9a-f]{32}:[0-9]+:[0-9a-f]{64}"),
            "prev": {"type": "string", "pattern": _HEX % 64},
            "mac": {"type": "string", "pattern": _HEX % 64},
        },
        "required": [*_ALWAYS],
        "additionalProperties": False,
        "allOf": [_of_kind(kind) for kind in Kind],
    }


def _of_kind(kind: Kind) -> dict[str, Any]:
    outcome: Any = {"enum": [str(each) for each in _OUTCOMES[kind]]} if kind in _OUTCOMES else False
    return {
        "if": {"properties": {"kind": {"const": str(kind)}}},
        "then": {"required": [*_REQUIRED[kind]], "properties": {"outcome": outcome}},
    }


def _members() -> list[str]:
    return sorted(name for name in DOCUMENTED_MEMBERS if f"process.{name}" not in CONSTRUCT_LABELS)


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^({pattern})$"}
