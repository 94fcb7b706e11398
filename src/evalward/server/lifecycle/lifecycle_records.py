"""The audit records of the server's own start and stop (service.md, Audit log)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.audit import AuditRecord, Kind
from evalward.server.lifecycle.weakened_controls import weakened_controls

if TYPE_CHECKING:
    from evalward.audit import AuditSink
    from evalward.server.decide.active_policy import ActivePolicy
    from evalward.server.settings import Settings


def lifecycle_record(
    kind: Kind,
    *,
    active_policy: ActivePolicy,
    audit_log: AuditSink,
    settings: Settings,
    manifest_digest: str | None,
) -> AuditRecord:
    """Return the START or STOP record; only START names the terms of the log and the weakened controls."""
    terms = audit_log.terms if kind is Kind.START else None
    policy, provenance = active_policy.policy, active_policy.provenance
    return AuditRecord(
        kind=kind,
        integrity=None if terms is None else terms.integrity,
        key_id=None if terms is None else terms.key_id,
        durability=None if terms is None else terms.durability,
        reason=None if terms is None else terms.reset,
        policy_digest=provenance.policy_digest,
        manifest_digest=manifest_digest,
        ruleset=provenance.ruleset_digest,
        grammar=provenance.grammar_version,
        version=provenance.service_version,
        weakened=weakened_controls(policy, settings) if kind is Kind.START else (),
    )
