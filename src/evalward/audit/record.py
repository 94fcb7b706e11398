"""One audit record: payload-free by construction (service.md, Audit log).

No field can hold payload text: enums, catalogue labels, digests, counts, and the few strings that a caller
supplies, which must match a strict pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from evalward.audit.record_values import Durability, Integrity, Kind, Outcome, Reason
from evalward.errors import Code
from evalward.guard.constructs.labels import catalogue_label
from evalward.guard.rules import SEED_KEYWORDS, Enforcement
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import KEYWORD_PREFIX, MAX_FINDINGS
from evalward.identifiers import CALLER_ID, KEYWORD_ID, SHA256_HEX

if TYPE_CHECKING:
    from enum import StrEnum

SCHEMA_VERSION = 2

PATTERNS = {
    name: re.compile(pattern)
    for pattern, names in {
        CALLER_ID: ("session", "request_id", "tool", "decision_id"),
        r"[a-z][a-z-]{0,31}\.[a-z][a-z-]{0,31}": ("sink",),
        r"[0-9a-f]{32}": ("trace_id",),
        f"(cert|token):{CALLER_ID}": ("principal",),
        r"[A-Za-z0-9_$/.*\[\]-]{1,128}": ("field_path",),
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}": ("exception_id",),
        SHA256_HEX: (
            "code_hash",
            "policy_digest",
            "previous_policy_digest",
            "manifest_digest",
            "certificate",
            "torn_hash",
            "hardened_hash",
        ),
        r"sha256|hmac-sha256:[0-9a-f]{16}": ("hash_alg",),
        r"[0-9a-f]{8}": ("fnv1a32",),
        r"[0-9a-f]{16}": ("key_id",),
        r"[0-9a-f]{12,64}": ("ruleset",),
        r"[a-z][a-z-]{0,63} [0-9]+(\.[0-9]+){1,3}": ("grammar",),
        r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}": ("version",),
    }.items()
    for name in names
}
_KEYWORD = re.compile(KEYWORD_ID)
WEAKENED = re.compile(r"[a-z][a-z0-9-]{0,63}(=[A-Za-z0-9._() -]{1,128})?")
COUNTS = (
    "code_length",
    "elapsed_us",
    "argument_bytes",
    "result_bytes",
    "console_bytes",
    "fuel",
    "memory_bytes",
    "torn_bytes",
    "unrecorded",
    "unacknowledged",
    "gap_us",
    "count",
)


_OUTCOMES = {
    Kind.DECISION: frozenset({Outcome.ALLOW, Outcome.DENY, Outcome.ERROR}),
    Kind.EVALUATION: frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.ERROR}),
    Kind.RUN_TIME_DENIAL: frozenset({Outcome.DENY}),
}


ENUMS: dict[str, type[StrEnum]] = {
    "kind": Kind,
    "target": Target,
    "shape": Shape,
    "profile": Profile,
    "enforcement": Enforcement,
    "outcome": Outcome,
    "code": Code,
    "integrity": Integrity,
    "durability": Durability,
    "reason": Reason,
}

# One attrgetter call per kind of field: this runs for each request.
_enums_of = attrgetter(*ENUMS)
_texts_of = attrgetter(*PATTERNS)
_counts_of = attrgetter(*COUNTS)
_ENUM_TYPES = tuple(ENUMS.values())
_FITS = tuple(pattern.fullmatch for pattern in PATTERNS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """The content of one line; None means that the field does not apply and is left out.

    ``code_hash`` is the payload's digest under ``hash_alg``; ``field_path`` is where in a call's arguments the payload
    stood, with ``*`` for every name that the manifest does not know. ``findings`` names every construct and
    ``keyword:<id>`` of a denial that has more than one, at most ``MAX_FINDINGS``. ``hardened_hash`` is the SHA-256 of
    the program that runs instead of the payload; its random prefix keeps it from confirming a guess at the payload.
    ``argument_bytes`` to ``memory_bytes`` are the sizes of an evaluation, ``fuel`` its instructions. ``weakened``
    names the weakened controls of a START record. ``torn_bytes`` and ``torn_hash`` (SHA-256) are of the unfinished
    line that a TORN record closes. Of a GAP, ``unrecorded`` counts the records that were lost, ``unacknowledged``
    those that are in the log although their caller got an error, ``gap_us`` is the duration. A POLICY_LOAD names the
    new policy, the one before it, and the weakened controls; a POLICY_REJECT the policy that stays in force, and the
    first invalid field. ``certificate`` is the SHA-256 of the server's own that a TLS_LOAD brings into force.
    ``count`` is of the requests of a REFUSED record, the tokens of a TOKEN_LOAD, the faults of a POLICY_REJECT, the
    items of a batch that was refused as a whole. Any value outside of its field's pattern or catalogue raises
    ValueError, and the message names the field, never the value.
    """

    kind: Kind
    decision_id: str | None = None
    trace_id: str | None = None
    principal: str | None = None
    session: str | None = None
    request_id: str | None = None
    tool: str | None = None
    field_path: str | None = None
    target: Target | None = None
    shape: Shape | None = None
    sink: str | None = None
    profile: Profile | None = None
    enforcement: Enforcement | None = None
    outcome: Outcome | None = None
    code: Code | None = None
    construct: str | None = None
    keyword: str | None = None
    shadow: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    exception_id: str | None = None
    hash_alg: str | None = None
    code_hash: str | None = None
    fnv1a32: str | None = None
    code_length: int | None = None
    hardened_hash: str | None = None
    policy_digest: str | None = None
    previous_policy_digest: str | None = None
    manifest_digest: str | None = None
    certificate: str | None = None
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
    integrity: Integrity | None = None
    key_id: str | None = None
    durability: Durability | None = None
    reason: Reason | None = None
    torn_bytes: int | None = None
    torn_hash: str | None = None
    unrecorded: int | None = None
    unacknowledged: int | None = None
    gap_us: int | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        _check_shapes(self)
        if self.keyword is not None and not _is_keyword_id(self.keyword):
            raise ValueError("keyword is not the id of a keyword")
        _check_findings(self.findings)
        labels = self.shadow if self.construct is None else (self.construct, *self.shadow)
        if labels and any(catalogue_label(label) != label for label in labels):
            raise ValueError("construct is not a label of the catalogue")
        if self.weakened and not all(WEAKENED.fullmatch(name) for name in self.weakened):
            raise ValueError(f"weakened does not match {WEAKENED.pattern}")
        if self.outcome not in _OUTCOMES.get(self.kind, {None}):
            raise ValueError(f"outcome is not one of those of a {self.kind} record")


def _check_findings(findings: tuple[str, ...]) -> None:
    if len(findings) > MAX_FINDINGS:
        raise ValueError(f"findings has more than {MAX_FINDINGS} names")
    for name in findings:
        keyword = name.removeprefix(KEYWORD_PREFIX)
        if not (_is_keyword_id(keyword) if name != keyword else catalogue_label(name) == name):
            raise ValueError("findings holds what is neither a label of the catalogue nor a keyword's id")


def _check_shapes(record: AuditRecord) -> None:
    for value, name, enum in zip(_enums_of(record), ENUMS, _ENUM_TYPES):  # noqa: B905 - equal by construction
        if value is not None and not isinstance(value, enum):
            raise ValueError(f"{name} is not one of {enum.__name__}")
    for value, name, fits in zip(_texts_of(record), PATTERNS, _FITS):  # noqa: B905 - the same
        if value is not None and not (isinstance(value, str) and fits(value)):
            raise ValueError(f"{name} does not match {PATTERNS[name].pattern}")
    for value, name in zip(_counts_of(record), COUNTS):  # noqa: B905 - the same
        if value is not None and not (type(value) is int and value >= 0):
            raise ValueError(f"{name} is not a count")


def _is_keyword_id(text: str) -> bool:
    return text in SEED_KEYWORDS or _KEYWORD.fullmatch(text) is not None
