"""One call to the guard before it is sent: what is asked, how long it may take, and how its reply is read.

Both clients send these; neither knows what is in them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from evalward.client import arguments
from evalward.client.arguments import Unsendable
from evalward.client.call import CallDecision, call_decision_from
from evalward.client.evaluation import EvaluationReply, reply_from, seconds_for
from evalward.client.proof import decision_from
from evalward.client.too_large import sendable_arguments, sendable_payload
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from google.protobuf.message import Message

    from evalward.client.decision import Decision

Reply = TypeVar("Reply")

VALIDATE_SECONDS: Final = 0.25
FULL_BUDGET_BYTES: Final = 128 * 1024  # a payload above the default size limit gets proportionally more time


@dataclass(frozen=True, slots=True)
class Question(Generic[Reply]):
    """A request for ``method``; ``read`` turns its response into a reply, or raises Unproven."""

    method: str
    request: Message
    seconds: float
    read: Callable[[Any], Reply]


@dataclass(frozen=True, slots=True)
class Questions:
    """Builds questions; each method raises Unsendable for what no request can carry.

    ``seconds`` is the time for a call on a ready channel. With ``policy_digest`` only verdicts under that
    policy count.
    """

    seconds: float = VALIDATE_SECONDS
    policy_digest: str | None = None

    def validate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        target: str | None = None,
        shape: str | None = None,
        sink: str | None = None,
        bindings: Mapping[str, str] | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        session_id: str = "",
        include_context: bool = False,
    ) -> Question[Decision]:
        """Return the question whether ``sink``, or ``target``, may run ``code``."""
        if sink is None and target is None:
            raise Unsendable("target", "or a sink is needed")
        request = pb.ValidateRequest(
            code=sendable_payload("code", code),
            target=pb.TARGET_UNSPECIFIED if target is None else arguments.target(target),
            sink="" if sink is None else arguments.name("sink", sink),
            bindings=arguments.bindings("bindings", bindings),
            include_context=arguments.flag("include_context", include_context),
        )
        if shape is not None:
            request.shape = arguments.shape(shape)
        _add_common(request, profile, limits, session_id)
        read = partial(decision_from, request, policy_digest=self.policy_digest)
        return Question("Validate", request, self.budget(len(code)), read)

    def validate_call(  # noqa: PLR0913 - one parameter per field of the request, and what the caller will run
        self,
        tool: str,
        arguments_json: bytes,
        *,
        runs: Collection[str] = (),
        target: str | None = None,
        shape: str | None = None,
        sink: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        session_id: str = "",
        include_context: bool = False,
        judged_fields_only: bool = False,
    ) -> Question[CallDecision]:
        """Return the question whether ``tool`` may be called with ``arguments_json``."""
        request = pb.ValidateCallRequest(
            tool=arguments.text("tool", tool),
            arguments_json=sendable_arguments("arguments_json", arguments_json),
            include_context=arguments.flag("include_context", include_context),
            judged_fields_only=arguments.flag("judged_fields_only", judged_fields_only),
        )
        _add_common(request, profile, limits, session_id)
        read = partial(
            call_decision_from,
            request,
            runs=arguments.pointers("runs", runs),
            target=None if target is None else arguments.target(target),
            shape=None if shape is None else arguments.shape(shape),
            sink=None if sink is None else arguments.name("sink", sink),
            policy_digest=self.policy_digest,
        )
        return Question("ValidateCall", request, self.budget(len(arguments_json)), read)

    def evaluate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        arg_json: bytes | None = None,
        shape: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        guard_limits: Mapping[str, int] | None = None,
        seed: int | None = None,
        session_id: str = "",
    ) -> Question[EvaluationReply]:
        """Return the question what ``code`` gives in the sandbox."""
        request = pb.EvaluateRequest(
            code=sendable_payload("code", code),
            argument_json=b"" if arg_json is None else arguments.payload("arg_json", arg_json),
            seed=None if seed is None else arguments.number("seed", seed),
        )
        if shape is not None:
            request.shape = arguments.shape(shape)
        if limits is not None:
            given = arguments.limits("limits", limits, pb.EvaluateLimits.DESCRIPTOR)
            request.limits.CopyFrom(pb.EvaluateLimits(**given))
        if guard_limits is not None:
            given = arguments.limits("guard_limits", guard_limits, pb.Limits.DESCRIPTOR)
            request.guard_limits.CopyFrom(pb.Limits(**given))
        _add_common(request, profile, None, session_id)
        read = partial(reply_from, request, policy_digest=self.policy_digest)
        return Question("Evaluate", request, self.budget(len(code)) + seconds_for(request), read)

    def budget(self, size: int) -> float:
        """Return the seconds that a verdict on ``size`` bytes may take."""
        return self.seconds * max(1.0, size / FULL_BUDGET_BYTES)


def _add_common(
    request: pb.ValidateRequest | pb.ValidateCallRequest | pb.EvaluateRequest,
    profile: str | None,
    limits: Mapping[str, int] | None,
    session_id: str,
) -> None:
    """Add what every request may say, and a number of its own."""
    if profile is not None:
        request.profile = arguments.profile(profile)
    if limits is not None and not isinstance(request, pb.EvaluateRequest):
        request.limits.CopyFrom(pb.Limits(**arguments.limits("limits", limits, pb.Limits.DESCRIPTOR)))
    request.session_id = arguments.text("session_id", session_id)
    request.request_id = secrets.token_hex(8)
