"""The audit record of one verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.audit.record import AuditRecord
from evalward.audit.record_values import Kind, Outcome
from evalward.guard.constructs.labels import catalogue_label

if TYPE_CHECKING:
    from evalward.audit.fingerprint import Fingerprint
    from evalward.errors import Provenance
    from evalward.guard.verdict import Finding, Verdict


def decision_record(  # noqa: PLR0913 - the verdict, and what the transport knows about the call
    verdict: Verdict,
    *,
    decision_id: str,
    provenance: Provenance,
    elapsed_us: int,
    trace_id: str | None = None,
    principal: str | None = None,
    session: str | None = None,
    request_id: str | None = None,
    tool: str | None = None,
    field_path: str | None = None,
    manifest_digest: str | None = None,
    fingerprint: Fingerprint | None = None,
) -> AuditRecord:
    """Return the record of ``verdict``; raise ValueError for a caller-supplied string that is refused.

    Without a ``fingerprint`` the payload's SHA-256 is recorded.
    """
    return AuditRecord(
        kind=Kind.DECISION,
        decision_id=decision_id,
        trace_id=trace_id,
        principal=principal,
        session=session,
        request_id=request_id,
        tool=tool,
        field_path=field_path,
        target=verdict.target,
        shape=verdict.shape,
        sink=verdict.sink,
        profile=verdict.profile,
        enforcement=verdict.enforcement,
        exception_id=verdict.exception_id,
        outcome=Outcome.ALLOW if verdict.allowed else Outcome.DENY,
        code=verdict.code,
        construct=None if verdict.construct is None else catalogue_label(verdict.construct),
        keyword=verdict.keyword if verdict.withheld is None else verdict.withheld.keyword,
        shadow=_labels(verdict.shadow),
        findings=_names(verdict if verdict.withheld is None else verdict.withheld),
        hash_alg="sha256" if fingerprint is None else fingerprint.hash_alg,
        code_hash=verdict.code_hash if fingerprint is None else fingerprint.code_hash,
        fnv1a32=None if fingerprint is None else fingerprint.fnv1a32,
        code_length=verdict.code_length,
        hardened_hash=None if verdict.hardened is None else verdict.hardened.sha256,
        policy_digest=provenance.policy_digest,
        manifest_digest=manifest_digest,
        ruleset=provenance.ruleset_digest,
        grammar=provenance.grammar_version,
        version=provenance.service_version,
        elapsed_us=elapsed_us,
    )


def _labels(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    return tuple(sorted({catalogue_label(finding.construct) for finding in findings})) if findings else ()


def _names(verdict: Verdict) -> tuple[str, ...]:
    """Name everything that denies a payload, once there is more than the construct or keyword of the verdict."""
    if not verdict.findings:
        return ()
    names = {
        catalogue_label(each.construct) if each.keyword is None else each.name for each in verdict.findings
    }
    return tuple(sorted(names)) if len(names) > 1 else ()
