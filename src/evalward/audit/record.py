"""One audit record: payload-free by construction (service.md, Audit log).

No field can hold payload text: enums, catalogue labels, digests, counts, and the few strings that a caller
supplies, which must match a strict pattern.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from evalward.errors import Code
from evalward.guard.labels import catalogue_label
from evalward.guard.rules import SEED_KEYWORDS
from evalward.guard.target import Profile, Shape, Target

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.guard.verdict import Finding, Verdict

SCHEMA_VERSION = 1

_PATTERNS = {
    name: re.compile(pattern)
    for pattern, names in {
        r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}": ("session", "request_id", "tool", "decision_id"),
        r"[A-Za-z0-9_$/.*\[\]-]{1,128}": ("field_path",),
        r"[0-9a-f]{64}": ("code_hash", "policy_digest", "manifest_digest"),
        r"[0-9a-f]{12,64}": ("ruleset",),
        r"[a-z][a-z-]{0,63} [0-9]+(\.[0-9]+){1,3}": ("grammar",),
        r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}": ("version",),
    }.items()
    for name in names
}
_KEYWORD_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WEAKENED = re.compile(r"[a-z][a-z0-9-]{0,63}(=[a-z0-9-]{1,63})?")
_COUNTS = (
    "code_length",
    "elapsed_us",
    "torn_bytes",
    "argument_bytes",
    "result_bytes",
    "console_bytes",
    "fuel",
    "memory_bytes",
)


class Kind(StrEnum):
    """What a record is about."""

    DECISION = "decision"
    EVALUATION = "evaluation"  # what became of a payload that a decision with the same id allowed
    START = "start"
    STOP = "stop"
    TORN = "torn"  # the log ended inside a line, which was closed


class Outcome(StrEnum):
    """What the caller was told: allow, deny or error of a payload, completed, failed or error of its run."""

    ALLOW = "allow"
    DENY = "deny"
    COMPLETED = "completed"
    FAILED = "failed"
    ERROR = "error"


_OUTCOMES = {
    Kind.DECISION: frozenset({Outcome.ALLOW, Outcome.DENY, Outcome.ERROR}),
    Kind.EVALUATION: frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.ERROR}),
}


_ENUMS = {
    "kind": Kind,
    "target": Target,
    "shape": Shape,
    "profile": Profile,
    "outcome": Outcome,
    "code": Code,
}


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
# One call for all fields of a kind: a service pays for this with each request.
_enums_of = attrgetter(*_ENUMS)
_texts_of = attrgetter(*_PATTERNS)
_counts_of = attrgetter(*_COUNTS)
_ENUM_TYPES = tuple(_ENUMS.values())
_FITS = tuple(pattern.fullmatch for pattern in _PATTERNS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """What one line says; None means that the field does not apply and is left out of the line.

    ``weakened`` names the weakened controls of a start record; ``torn_bytes`` is the length of the
    unfinished line that a TORN record closes. ``field_path`` is where in a call's arguments the payload stood, with
    ``*`` for every name that the manifest does not know. ``argument_bytes`` to ``memory_bytes`` are the sizes of an
    evaluation, ``fuel`` its instructions. Any value outside of its field's pattern or catalogue raises
    ValueError, and the message names the field, never the value.
    """

    kind: Kind
    decision_id: str | None = None
    session: str | None = None
    request_id: str | None = None
    tool: str | None = None
    field_path: str | None = None
    target: Target | None = None
    shape: Shape | None = None
    profile: Profile | None = None
    outcome: Outcome | None = None
    code: Code | None = None
    construct: str | None = None
    keyword: str | None = None
    shadow: tuple[str, ...] = ()
    code_hash: str | None = None
    code_length: int | None = None
    policy_digest: str | None = None
    manifest_digest: str | None = None
    ruleset: str | None = None
    grammar: str | None = None
    version: str | None = None
    elapsed_us: int | None = None
    argument_bytes: int | None = None
    result_bytes: int | None = None
    console_bytes: int | None = None
    fuel: int | None = None
    memory_bytes: int | None = None
    weakened: tuple[str, ...] = ()
    torn_bytes: int | None = None

    def __post_init__(self) -> None:
        _check_shapes(self)
        if self.keyword is not None and not _is_keyword_id(self.keyword):
            raise ValueError("keyword is not the id of a keyword")
        labels = self.shadow if self.construct is None else (self.construct, *self.shadow)
        if labels and any(catalogue_label(label) != label for label in labels):
            raise ValueError("construct is not a label of the catalogue")
        if self.weakened and not all(_WEAKENED.fullmatch(name) for name in self.weakened):
            raise ValueError(f"weakened does not match {_WEAKENED.pattern}")
        if self.outcome not in _OUTCOMES.get(self.kind, {None}):
            raise ValueError(f"outcome is not one of those of a {self.kind} record")


def _check_shapes(record: AuditRecord) -> None:
    for value, name, enum in zip(_enums_of(record), _ENUMS, _ENUM_TYPES):  # noqa: B905 - equal by construction
        if value is not None and not isinstance(value, enum):
            raise ValueError(f"{name} is not one of {enum.__name__}")
    for value, name, fits in zip(_texts_of(record), _PATTERNS, _FITS):  # noqa: B905 - the same
        if value is not None and not (isinstance(value, str) and fits(value)):
            raise ValueError(f"{name} does not match {_PATTERNS[name].pattern}")
    for value, name in zip(_counts_of(record), _COUNTS):  # noqa: B905 - the same
        if value is not None and not (type(value) is int and value >= 0):
            raise ValueError(f"{name} is not a count")


def decision_record(  # noqa: PLR0913 - the verdict, and what the transport knows about the call
    verdict: Verdict,
    *,
    decision_id: str,
    provenance: Provenance,
    elapsed_us: int,
    session: str | None = None,
    request_id: str | None = None,
    tool: str | None = None,
    field_path: str | None = None,
    manifest_digest: str | None = None,
) -> AuditRecord:
    """Return the record of ``verdict``; raise ValueError for a caller-supplied string that is refused."""
    return AuditRecord(
        kind=Kind.DECISION,
        decision_id=decision_id,
        session=session,
        request_id=request_id,
        tool=tool,
        field_path=field_path,
        target=verdict.target,
        shape=verdict.shape,
        profile=verdict.profile,
        outcome=Outcome.ALLOW if verdict.allowed else Outcome.DENY,
        code=verdict.code,
        construct=None if verdict.construct is None else catalogue_label(verdict.construct),
        keyword=verdict.keyword,
        shadow=_labels(verdict.shadow),
        code_hash=verdict.code_hash,
        code_length=verdict.code_length,
        policy_digest=provenance.policy_digest,
        manifest_digest=manifest_digest,
        ruleset=provenance.ruleset_digest,
        grammar=provenance.grammar_version,
        version=provenance.service_version,
        elapsed_us=elapsed_us,
    )


def encode(record: AuditRecord, *, seq: int, boot_id: str, nanoseconds: int) -> bytes:
    """Return the record as one JSON line, newline included.

    ``seq`` counts the records of one ``boot_id`` from 1; ``nanoseconds`` since the epoch become ``ts`` in
    UTC (RFC 3339, microseconds).
    """
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    fields = zip(AuditRecord.__slots__, _fields_of(record))  # noqa: B905 - equal by construction
    line: dict[str, Any] = {
        "v": SCHEMA_VERSION,
        "seq": seq,
        "ts": f"{_date_and_time(seconds)}.{rest // 1_000:06d}Z",
        "boot_id": boot_id,
        **{name: value for name, value in fields if value is not None and value != ()},
    }
    return _ENCODER.encode(line).encode("ascii") + b"\n"


_fields_of = attrgetter(*AuditRecord.__slots__)


@lru_cache(maxsize=2)
def _date_and_time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _labels(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    return tuple(sorted({catalogue_label(finding.construct) for finding in findings})) if findings else ()


def _is_keyword_id(text: str) -> bool:
    return text in SEED_KEYWORDS or _KEYWORD_ID.fullmatch(text) is not None
