"""What answers under one policy, replaced as a whole when the policy is: no request sees two policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.errors import canonical_json
from evalward.server.batch import BatchDecider, BatchLimits
from evalward.server.call import CallDecider
from evalward.server.decision import Decider
from evalward.server.late import LateEvaluator
from evalward.server.ledger import Ledger
from evalward.server.wire import TARGET_NUMBERS
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.audit import AuditSink
    from evalward.errors import Provenance
    from evalward.policy import Policy
    from evalward.server.executor import Executor
    from evalward.server.late import LateSandbox
    from evalward.tools import Manifest


@dataclass(frozen=True, slots=True)
class InForce:
    """A policy and what answers under it; ``reply`` is the answer of GetPolicy."""

    policy: Policy
    provenance: Provenance
    decider: Decider
    evaluator: LateEvaluator
    calls: CallDecider
    batches: BatchDecider
    reply: pb.GetPolicyResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What stays when the policy changes."""

    audit_log: AuditSink
    executor: Executor
    sandbox: LateSandbox
    manifest: Manifest | None
    batch_items: int
    batch_bytes: int
    verbose: int

    def under(self, policy: Policy, provenance: Provenance) -> InForce:
        """Return what answers under ``policy``; raise ManifestError when the manifest does not fit to it."""
        digest = self.manifest.digest if self.manifest else None
        ledger = Ledger(self.audit_log, provenance, manifest_digest=digest)
        decider = Decider(
            policy=policy,
            ledger=ledger,
            executor=self.executor,
            provenance=provenance,
            verbose=self.verbose,
        )
        return InForce(
            policy=policy,
            provenance=provenance,
            decider=decider,
            evaluator=LateEvaluator(decider, ledger, provenance, self.sandbox),
            calls=CallDecider(decider, ledger, policy=policy, provenance=provenance, manifest=self.manifest),
            batches=BatchDecider(decider, provenance, BatchLimits(self.batch_items, self.batch_bytes)),
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
