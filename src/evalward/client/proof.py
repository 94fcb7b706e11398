"""A reply is an ALLOW only if all of it is about what was asked (contract.md §3)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from evalward.client.decision import Decision, Unproven, read_envelope
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGEST = re.compile(r"[0-9a-f]{64}")

Asked: TypeAlias = pb.ValidateRequest | pb.EvaluateRequest | pb.ValidateCallRequest


def decision_from(
    request: pb.ValidateRequest,
    response: pb.ValidateResponse,
    *,
    policy_digest: str | None,
) -> Decision:
    """Return the decision in ``response``; raise Unproven when it does not hold for ``request``.

    ``policy_digest`` is the policy that the caller insists on, or None for whichever is in force.
    """
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    allowed = outcome == "allowed"
    envelope = read_envelope(response.envelope, ok=allowed)
    check_binding(request, response.binding, envelope, target=request.target, policy_digest=policy_digest)
    if response.binding.HasField("shape") != request.HasField("shape"):
        raise Unproven("the verdict is about another shape")
    code = None if allowed else str(envelope["code"])
    if not allowed and response.error.code != code:
        raise Unproven("the envelope contradicts the outcome")
    return Decision(
        allowed=allowed,
        code=code,
        envelope=envelope,
        code_hash=response.binding.code_hash,
        decision_id=response.binding.decision_id,
    )


def check_binding(
    request: Asked,
    binding: pb.VerdictBinding,
    envelope: dict[str, Any],
    *,
    target: pb.Target.ValueType,
    policy_digest: str | None,
) -> None:
    """Raise Unproven when ``binding`` differs from the question in anything that the question said."""
    for mismatch in _mismatches(request, binding, envelope, target, policy_digest):
        raise Unproven(f"the verdict is about another {mismatch}")


def _mismatches(
    request: Asked,
    binding: pb.VerdictBinding,
    envelope: dict[str, Any],
    target: pb.Target.ValueType,
    policy_digest: str | None,
) -> Iterator[str]:
    """Name every field in which a verdict differs from the question."""
    is_call = isinstance(request, pb.ValidateCallRequest)
    sent = request.arguments_json if isinstance(request, pb.ValidateCallRequest) else request.code
    if binding.code_hash != hashlib.sha256(sent).hexdigest():
        yield "payload"
    # A call declares neither target nor shape: the server's manifest does.
    if binding.target != target or (target == pb.TARGET_UNSPECIFIED and not is_call):
        yield "target"
    if not isinstance(request, pb.ValidateCallRequest) and not _has_shape(request, binding):
        yield "shape"
    if request.HasField("profile") and binding.profile != request.profile:
        yield "profile"
    if binding.request_id != request.request_id:
        yield "request"
    meta = envelope["_meta"]
    if not binding.decision_id or meta.get("decision_id") != binding.decision_id:
        yield "decision"
    if DIGEST.fullmatch(binding.policy_digest) is None:
        yield "policy"
    provenance = meta.get("provenance")
    if not isinstance(provenance, dict) or provenance.get("policy_digest") != binding.policy_digest:
        yield "policy"
    if policy_digest is not None and binding.policy_digest != policy_digest:
        yield "policy"


def _has_shape(request: pb.ValidateRequest | pb.EvaluateRequest, binding: pb.VerdictBinding) -> bool:
    if not request.HasField("shape"):
        return True
    return binding.HasField("shape") and binding.shape == request.shape
