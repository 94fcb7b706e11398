"""Checks that a verdict is bound to the request: a reply that differs from it is never an ALLOW (contract.md §3)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from evalward.client.guard_reply import Decision, Unproven, read_envelope
from evalward.client.hardened import bound_program
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGEST = re.compile(r"[0-9a-f]{64}")
# The profiles that a policy may choose for the caller; seed is weaker than callers expect, so they must request it.
UNASKED_PROFILES = frozenset({pb.PROFILE_BALANCED, pb.PROFILE_STRICT})

Asked: TypeAlias = pb.ValidateRequest | pb.EvaluateRequest | pb.ValidateCallRequest


def decision_from(
    request: pb.ValidateRequest,
    response: pb.ValidateResponse,
    *,
    policy_digest: str | None,
) -> Decision:
    """Return the decision in ``response``; raise Unproven when it does not hold for ``request``.

    ``policy_digest`` is the policy that the caller requires, None for any.
    """
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    allowed = outcome == "allowed"
    envelope = read_envelope(response.envelope, ok=allowed)
    check_validated(request, response.binding, envelope, policy_digest=policy_digest)
    program = None
    if allowed:
        hardened = response.allowed.hardened if response.allowed.HasField("hardened") else None
        program = bound_program(request, response.binding, hardened, envelope)
    else:
        check_error(response.error, envelope)
    return Decision(
        allowed=allowed,
        code=None if allowed else str(envelope["code"]),
        envelope=envelope,
        code_hash=response.binding.code_hash,
        decision_id=response.binding.decision_id,
        hardened=program,
    )


def check_validated(
    request: pb.ValidateRequest,
    binding: pb.VerdictBinding,
    envelope: dict[str, Any],
    *,
    policy_digest: str | None,
) -> None:
    """Raise Unproven when ``binding`` or ``envelope`` does not match ``request``."""
    is_allow = envelope["ok"] is True
    # A rejection of the sink itself is bound to no sink and may have no target.
    if binding.sink != request.sink and (is_allow or binding.sink):
        raise Unproven("the verdict is about another sink")
    target = request.target or (binding.target if request.sink else request.target)
    if request.sink and is_allow and target == pb.TARGET_UNSPECIFIED:
        raise Unproven("the verdict does not say for which target the sink was judged")
    check_binding(request, binding, envelope, target=target, policy_digest=policy_digest)
    if binding.HasField("shape") != request.HasField("shape"):
        raise Unproven("the verdict is about another shape")


def check_error(error: pb.Error, envelope: dict[str, Any]) -> None:
    """Raise Unproven when the typed ``error`` and its envelope differ."""
    stated = {name: envelope.get(name) for name in ("number", "domain", "category", "cause", "http")}
    typed = {name: getattr(error, name) for name in stated}
    if error.code != envelope["code"] or error.retryable is not bool(envelope.get("retryable")):
        raise Unproven("the envelope contradicts the outcome")
    # A service that is one version older may omit newer fields.
    if any(typed[name] and typed[name] != value for name, value in stated.items()):
        raise Unproven("the envelope contradicts the outcome")


def check_binding(
    request: Asked,
    binding: pb.VerdictBinding,
    envelope: dict[str, Any],
    *,
    target: pb.Target.ValueType,
    policy_digest: str | None,
) -> None:
    """Raise Unproven when ``binding`` differs from ``request`` in a field that the request sets."""
    mismatches = _mismatches(request, binding, envelope, target, policy_digest)
    for mismatch in (*mismatches, *_contradictions(binding, envelope)):
        raise Unproven(f"the verdict is about another {mismatch}")


def _mismatches(
    request: Asked,
    binding: pb.VerdictBinding,
    envelope: dict[str, Any],
    target: pb.Target.ValueType,
    policy_digest: str | None,
) -> Iterator[str]:
    """Yield the name of each field in which the verdict differs from the request."""
    # A tool call declares no target, and a request that names a sink may omit it.
    has_none = isinstance(request, pb.ValidateCallRequest) or (
        isinstance(request, pb.ValidateRequest) and bool(request.sink)
    )
    sent = request.arguments_json if isinstance(request, pb.ValidateCallRequest) else request.code
    if binding.code_hash != hashlib.sha256(sent).hexdigest():
        yield "payload"
    if binding.target != target or (target == pb.TARGET_UNSPECIFIED and not has_none):
        yield "target"
    if not isinstance(request, pb.ValidateCallRequest) and not _has_shape(request, binding):
        yield "shape"
    if not _has_profile(request, binding, is_allow=envelope["ok"] is True):
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


def _has_profile(request: Asked, binding: pb.VerdictBinding, *, is_allow: bool) -> bool:
    """Return whether the profile is the requested one, or without a request one that is not weak."""
    if binding.profile == pb.PROFILE_UNSPECIFIED:
        # A rejection before the profile is chosen names none, and neither does a verdict without evaluation.
        is_command = isinstance(request, pb.ValidateCallRequest) and binding.target == pb.TARGET_UNSPECIFIED
        return is_command or not is_allow
    if request.HasField("profile"):
        return binding.profile == request.profile
    return not is_allow or binding.profile in UNASKED_PROFILES


def _contradictions(binding: pb.VerdictBinding, envelope: dict[str, Any]) -> Iterator[str]:
    """Yield the fields in which the envelope of an ALLOW contradicts its binding; it may omit them."""
    if envelope["ok"] is not True:
        return
    if "code" in envelope or "error" in envelope:
        yield "outcome"
    stated = {"target": (pb.Target, binding.target), "shape": (pb.Shape, binding.shape)}
    for field, (kind, number) in (stated | {"profile": (pb.Profile, binding.profile)}).items():
        text = envelope.get(field)
        if text is not None and dict(kind.items()).get(f"{field}_{text}".upper()) != number:
            yield field
    if envelope.get("code_hash", binding.code_hash) != binding.code_hash:
        yield "payload"
