"""The deciders of one policy, replaced as a whole when the policy changes: no request sees two policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from evalward.errors import canonical_json
from evalward.server.decide.audit_trail import AuditTrail
from evalward.server.decide.batch_decider import BatchDecider, BatchLimits
from evalward.server.decide.call_decider import CallDecider
from evalward.server.decide.decider import Decider
from evalward.server.decide.denial_reporter import DenialReporter
from evalward.server.decide.lazy_sandbox import LazyEvaluator, LazySandbox
from evalward.server.decide.preparer import Preparer
from evalward.server.decide.reportable import ReportableDecisions
from evalward.server.decide.server_calls import ServerCalls
from evalward.server.requests.proto_enums import TARGET_NUMBERS
from evalward.server.settings import Settings
from evalward.tools.servers import Servers
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.audit import AuditSink
    from evalward.errors import Provenance
    from evalward.judging.executor import Executor
    from evalward.policy import Policy
    from evalward.tools import Manifest


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """The active policy and its deciders; ``reply`` is the response of GetPolicy."""

    policy: Policy
    provenance: Provenance
    decider: Decider
    evaluator: LazyEvaluator
    calls: CallDecider
    server_calls: ServerCalls
    batches: BatchDecider
    reports: DenialReporter
    preparer: Preparer
    reply: pb.GetPolicyResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class DeciderParts:
    """The parts that stay when the policy changes. ``validates_commands`` is as in ``CallDecider``."""

    audit_log: AuditSink
    executor: Executor
    sandbox: LazySandbox
    manifest: Manifest | None
    batch_items: int
    batch_bytes: int
    verbose: int
    validates_commands: bool = True
    servers: Servers = field(default_factory=Servers)
    decisions: ReportableDecisions = field(default_factory=ReportableDecisions)

    @classmethod
    def without_sockets(
        cls,
        audit_log: AuditSink,
        executor: Executor,
        *,
        servers: Servers | None = None,
        validates_commands: bool = True,
    ) -> Self:
        """Return the parts of a service in its caller's process, under the settings that a server has by default."""
        settings = Settings()
        return cls(
            audit_log=audit_log,
            executor=executor,
            sandbox=LazySandbox(deadline_ms=settings.evaluation_deadline_ms, queue=settings.evaluation_queue),
            manifest=None,
            batch_items=settings.batch_items,
            batch_bytes=settings.batch_bytes,
            verbose=settings.errors_verbose,
            validates_commands=validates_commands,
            servers=servers or Servers(),
        )

    def under(self, policy: Policy, provenance: Provenance) -> ActivePolicy:
        """Return the deciders for ``policy``; raise ManifestError when the manifest does not fit it."""
        digest = self.manifest.digest if self.manifest else None
        audit_trail = AuditTrail(self.audit_log, provenance, decisions=self.decisions, manifest_digest=digest)
        decider = Decider(
            policy=policy,
            audit_trail=audit_trail,
            executor=self.executor,
            provenance=provenance,
            verbose=self.verbose,
        )

        def calls(manifest: Manifest | None, kind: type[CallDecider]) -> CallDecider:
            trail = AuditTrail(
                self.audit_log,
                provenance,
                decisions=self.decisions,
                manifest_digest=manifest.digest if manifest else None,
            )
            return kind(
                decider,
                trail,
                policy=policy,
                provenance=provenance,
                manifest=manifest,
                validates_commands=self.validates_commands,
            )

        return ActivePolicy(
            policy=policy,
            provenance=provenance,
            decider=decider,
            evaluator=LazyEvaluator(decider, audit_trail, provenance, self.sandbox),
            calls=calls(self.manifest, CallDecider),
            server_calls=ServerCalls(self.servers, decider, policy, calls),
            batches=BatchDecider(decider, provenance, BatchLimits(self.batch_items, self.batch_bytes)),
            reports=DenialReporter(decider, audit_trail, provenance, self.decisions),
            preparer=Preparer(decider, provenance),
            reply=_reply(policy, provenance),
        )


def _reply(policy: Policy, provenance: Provenance) -> pb.GetPolicyResponse:
    return pb.GetPolicyResponse(
        digest=policy.digest,
        policy_json=canonical_json(policy.effective()),
        allowed_targets=[TARGET_NUMBERS[target] for target in policy.allowed_targets],
        ruleset=provenance.ruleset_digest,
        grammar=provenance.grammar_version,
        service_version=provenance.service_version,
    )
