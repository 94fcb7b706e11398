"""The record of a plain allow, formatted directly as text: the fast path for most decisions.

Fields that are equal for all of them, or for one target, shape and profile, are checked and formatted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.audit.chain import members
from evalward.audit.record import PATTERNS, AuditRecord
from evalward.audit.record_values import Kind, Outcome

if TYPE_CHECKING:
    from evalward.audit.fingerprint import Fingerprint
    from evalward.errors import Provenance
    from evalward.guard.verdict import Verdict

_FITS: Final = {name: pattern.fullmatch for name, pattern in PATTERNS.items()}


class AllowRecord(NamedTuple):
    """A record as the text of its ``members``; ``AllowForm`` alone makes one."""

    text: str


class AllowForm:
    """Fills in the records of the plain allows of one provenance."""

    def __init__(self, provenance: Provenance) -> None:
        self._end = _without_kind(
            AuditRecord(
                kind=Kind.START,
                policy_digest=provenance.policy_digest,
                ruleset=provenance.ruleset_digest,
                grammar=provenance.grammar_version,
                version=provenance.service_version,
            )
        )
        self._frames: dict[tuple[str | None, ...], str] = {}

    def record(  # noqa: PLR0913 - as decision_record
        self,
        verdict: Verdict,
        *,
        decision_id: str,
        fingerprint: Fingerprint,
        elapsed_us: int,
        trace_id: str | None,
        principal: str | None,
        session: str | None,
        request_id: str | None,
    ) -> AllowRecord | None:
        """Return the text of ``decision_record`` for ``verdict``, None unless the verdict is a plain allow.

        Raise ValueError as ``AuditRecord`` does.
        """
        if (
            verdict.code is not None
            or verdict.shadow
            or verdict.withheld is not None
            or verdict.exception_id is not None
            or verdict.construct is not None
            or verdict.keyword is not None
        ):
            return None
        alg, code_hash, fnv1a32 = fingerprint
        parts = ['"kind":"decision"', _member("decision_id", decision_id)]
        if trace_id is not None:
            parts.append(_member("trace_id", trace_id))
        if principal is not None:
            parts.append(_member("principal", principal))
        if session is not None:
            parts.append(_member("session", session))
        if request_id is not None:
            parts.append(_member("request_id", request_id))
        parts.append(self._frame(verdict))
        parts.append(_member("hash_alg", alg))
        parts.append(_member("code_hash", code_hash))
        if fnv1a32 is not None:
            parts.append(_member("fnv1a32", fnv1a32))
        parts.append(_count("code_length", verdict.code_length))
        if verdict.hardened is not None:
            parts.append(_member("hardened_hash", verdict.hardened.sha256))
        parts.append(self._end)
        parts.append(_count("elapsed_us", elapsed_us))
        return AllowRecord("".join(parts))

    def _frame(self, verdict: Verdict) -> str:
        key = (verdict.target, verdict.shape, verdict.sink, verdict.profile, verdict.enforcement)
        text = self._frames.get(key)
        if text is None:
            text = self._frames[key] = _without_kind(
                AuditRecord(
                    kind=Kind.DECISION,
                    target=verdict.target,
                    shape=verdict.shape,
                    sink=verdict.sink,
                    profile=verdict.profile,
                    enforcement=verdict.enforcement,
                    outcome=Outcome.ALLOW,
                )
            )
        return text


def _without_kind(record: AuditRecord) -> str:
    return members(record).removeprefix(f'"kind":"{record.kind}"')


def _member(name: str, value: str) -> str:
    if not (isinstance(value, str) and _FITS[name](value)):
        raise ValueError(f"{name} does not match {PATTERNS[name].pattern}")
    return f',"{name}":"{value}"'


def _count(name: str, value: int) -> str:
    if not (type(value) is int and value >= 0):
        raise ValueError(f"{name} is not a count")
    return f',"{name}":{value}'
