"""The decision on a request: the envelope of a verdict or a refusal, and its binding (contract.md §3)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from evalward.errors import AllowEnvelope, Code, Meta, verdict_envelope, would_block_names
from evalward.errors.canonical import canonical_text
from evalward.server.decide.verdict_binding import binding_message

if TYPE_CHECKING:
    from evalward.errors import CodedError, Provenance
    from evalward.guard.verdict import HardenedProgram, Verdict
    from evalward.policy import Policy
    from evalward.sandbox import Evaluation
    from evalward.server.decide.request_context import RequestContext
    from evalward.v1 import evalward_pb2 as pb


class Decision(NamedTuple):
    """A decision: ``code`` is None if and only if the payload may run, or ran to completion.

    ``body`` is the envelope, as JSON data or as canonical text. ``evaluation`` is the outcome of a run and ``run_us``
    its wall time in microseconds, if there was a run. ``program`` is the hardened program of an allow, ``denied``
    the construct of a report that is in the audit log.
    """

    code: Code | None
    body: dict[str, Any] | str
    binding: pb.VerdictBinding
    would_block: tuple[str, ...] = ()
    evaluation: Evaluation | None = None
    run_us: int = 0
    program: HardenedProgram | None = None
    denied: str | None = None

    @property
    def envelope(self) -> dict[str, Any]:
        """The envelope as JSON data."""
        body = self.body
        return cast("dict[str, Any]", json.loads(body)) if isinstance(body, str) else body

    @property
    def canonical(self) -> bytes:
        """The envelope as canonical JSON."""
        body = self.body
        return (body if isinstance(body, str) else canonical_text(body)).encode()

    @property
    def details(self) -> dict[str, Any]:
        """The details of a denial's envelope; empty for an allow."""
        return {} if self.code is None else self.envelope.get("details") or {}


class DecisionBuilder:
    """Builds decisions under one policy."""

    def __init__(self, policy: Policy, provenance: Provenance) -> None:
        self._digest = policy.digest
        self._allowed_targets = [*policy.allowed_targets]
        self._env_names = policy.env_names
        self._provenance = provenance
        self._allow = AllowEnvelope(provenance)

    def of_verdict(
        self, request: RequestContext, verdict: Verdict, *, audited: bool, context: bytes | None = None
    ) -> Decision:
        """Return the decision for ``verdict``, whose record was attempted; ``context`` is the payload to quote from."""
        session_id = request.reader.received.session_id or None
        plain = self._allow.text(
            verdict,
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            audited=audited,
            session_id=session_id,
            item_index=request.reader.item_index,
        )
        if plain is not None:
            return Decision(None, plain, self.binding(request, verdict), program=verdict.hardened)
        envelope = verdict_envelope(
            verdict,
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=session_id,
            allowed_targets=self._allowed_targets,
            env_names=self._env_names,
            context=context,
            target_field=request.reader.target_field,
            payload_field=request.reader.payload_field,
            item_index=request.reader.item_index,
        )
        names = would_block_names(verdict)
        return Decision(
            verdict.code, envelope, self.binding(request, verdict), names, program=verdict.hardened
        )

    def brief(self, request: RequestContext, verdict: Verdict) -> Decision:
        """Return an allow without an envelope."""
        names = would_block_names(verdict)
        return Decision(None, {}, self.binding(request, verdict), names, program=verdict.hardened)

    def of_refusal(
        self,
        request: RequestContext,
        refusal: CodedError,
        *,
        audited: bool,
        binding: pb.VerdictBinding | None = None,
    ) -> Decision:
        """Return the decision for ``refusal``, whose record was attempted."""
        meta = Meta(
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=request.reader.received.session_id or None,
        )
        index = request.reader.item_index
        more = {} if index is None else {"item_index": index}
        return Decision(
            Code(refusal.code), refusal.envelope(meta, **more), binding or self.request_binding(request)
        )

    def binding(self, request: RequestContext, verdict: Verdict) -> pb.VerdictBinding:
        """Return the binding of ``verdict``: what it applies to."""
        return binding_message(
            code_hash=verdict.code_hash,
            target=verdict.target,
            shape=verdict.shape,
            profile=verdict.profile,
            policy_digest=self._digest,
            decision_id=request.decision_id,
            request_id=request.reader.received.request_id,
            sink=verdict.sink,
            hardened_hash=None if verdict.hardened is None else verdict.hardened.sha256,
        )

    def request_binding(self, request: RequestContext) -> pb.VerdictBinding:
        """Return the binding of a decision without a verdict."""
        received = request.reader.received
        subject = received.code if received.arguments is None else received.arguments
        return binding_message(
            code_hash=hashlib.sha256(subject).hexdigest(),
            target=received.target,
            shape=received.shape,
            profile=None,
            policy_digest=self._digest,
            decision_id=request.decision_id,
            request_id=received.request_id,
            sink=received.sink,
        )
