"""The reply to an evaluation: it has a result only if its verdict is proven (contract.md §3, sandbox.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from evalward.client.guard_reply import Decision, Unproven, read_envelope
from evalward.client.hardened import refuse_without, stated_hash
from evalward.client.proof import check_binding, check_error
from evalward.v1 import evalward_pb2 as pb

# The server's default wall time, for a request without a deadline.
DEADLINE_SECONDS: Final = 1.0
RUNNABLE: Final = frozenset({pb.SHAPE_SCRIPT, pb.SHAPE_EXPRESSION, pb.SHAPE_FUNCTION, pb.SHAPE_ASYNC_BODY})


@dataclass(frozen=True, slots=True)
class EvaluationReply:
    """How an evaluation ended. There is a result if and only if ``ok`` is true.

    ``result_json`` is the completion value as JSON text, None for ``undefined``; ``console`` are the
    lines of the console, also when the run failed. ``code`` is None exactly when ``ok`` is true; ``envelope`` is
    the answer as JSON data (contract.md §2). ``code_hash`` and ``decision_id`` are those of ``Decision``;
    ``hardened_hash`` is that of the program that ran, empty when the payload itself ran.
    """

    ok: bool
    code: str | None
    envelope: dict[str, Any]
    result_json: bytes | None = None
    console: tuple[str, ...] = ()
    code_hash: str = ""
    decision_id: str = ""
    hardened_hash: str = ""

    @classmethod
    def denied(cls, denial: Decision) -> EvaluationReply:
        """Return ``denial`` as a reply without a result."""
        return cls(
            ok=False,
            code=denial.code,
            envelope=denial.envelope,
            code_hash=denial.code_hash,
            decision_id=denial.decision_id,
        )


def seconds_for(request: pb.EvaluateRequest) -> float:
    """Return the wall time that the run of ``request`` may take."""
    limits = request.limits
    return limits.deadline_ms / 1000 if limits.HasField("deadline_ms") else DEADLINE_SECONDS


def reply_from(
    request: pb.EvaluateRequest, response: pb.EvaluateResponse, *, policy_digest: str | None
) -> EvaluationReply:
    """Return the outcome in ``response``; raise Unproven when it does not hold for ``request``."""
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    ok = outcome == "allowed"
    envelope = read_envelope(response.envelope, ok=ok)
    binding = response.binding
    check_binding(request, binding, envelope, target=pb.TARGET_SANDBOX, policy_digest=policy_digest)
    code = None if ok else str(envelope["code"])
    result = response.allowed.result_json or None
    if ok and not binding.hardened_hash:
        refuse_without(request.harden)
    if binding.hardened_hash != stated_hash(envelope if ok else envelope.get("details") or {}):
        raise Unproven("the envelope contradicts the program")
    if binding.hardened_hash and request.harden == pb.HARDEN_OFF:
        raise Unproven("another program ran than was asked for")
    if ok:
        if binding.shape not in RUNNABLE:
            raise Unproven("the verdict does not say in which shape the payload ran")
        stated = envelope.get("result_json")
        if stated != (None if result is None else result.decode()):
            raise Unproven("the envelope contradicts the result")
    else:
        check_error(response.error, envelope)
    return EvaluationReply(
        ok=ok,
        code=code,
        envelope=envelope,
        result_json=result,
        console=_console(envelope),
        code_hash=binding.code_hash,
        decision_id=binding.decision_id,
        hardened_hash=binding.hardened_hash,
    )


def _console(envelope: dict[str, Any]) -> tuple[str, ...]:
    """Return the lines of the console, which an error envelope has in its details."""
    lines = envelope.get("console") or envelope.get("details", {}).get("console") or ()
    return tuple(str(line["text"]) for line in lines)
