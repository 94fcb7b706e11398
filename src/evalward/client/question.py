"""The requests of the unary operations: for each its message, its timeout and how its reply is read.

The methods of ``Questions`` carry the public signatures and docstrings of both clients' methods (``call_flow``).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from evalward.client import request_fields
from evalward.client.call_decision import CallDecision, call_decision_from
from evalward.client.denied_run import DenialReport, report_from
from evalward.client.evaluation_reply import EvaluationReply, reply_from, seconds_for
from evalward.client.preparation import Preparation, preparation_from
from evalward.client.proof import decision_from
from evalward.client.request_fields import Unsendable
from evalward.client.too_large import sendable_arguments, sendable_payload
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from google.protobuf.message import Message

    from evalward.client.guard_reply import Decision

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
    """Builds the requests of a client; each method raises Unsendable for a value that no request can carry.

    ``seconds`` is the timeout of a call on a connected channel. With ``policy_digest`` only verdicts under that
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
        harden: bool | None = None,
        prepared: str = "",
    ) -> Question[Decision]:
        """Ask whether ``sink``, or ``target`` in ``shape``, may run ``code``; every failure is a denial.

        ``limits`` are those of Limits, and may only be smaller than the policy's. With ``include_context`` a denial
        contains the source lines around each finding. ``harden``: True requires a hardened program, False declines
        it, and None takes what the policy offers; run ``Decision.hardened`` instead of ``code`` if it is there.
        ``prepared`` is the key of the page that runs it (``prepare_runtime``).
        """
        if sink is None and target is None:
            raise Unsendable("target", "or a sink is needed")
        request = pb.ValidateRequest(
            code=sendable_payload("code", code),
            target=pb.TARGET_UNSPECIFIED if target is None else request_fields.target(target),
            sink="" if sink is None else request_fields.name("sink", sink),
            bindings=request_fields.bindings("bindings", bindings),
            include_context=request_fields.flag("include_context", include_context),
            harden=request_fields.harden(harden),
            prepared=request_fields.text("prepared", prepared),
        )
        if shape is not None:
            request.shape = request_fields.shape(shape)
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
        harden: bool | None = None,
        prepared: str = "",
    ) -> Question[CallDecision]:
        """Ask whether ``tool`` may be called with ``arguments_json``; every failure is a denial.

        ``runs`` are the JSON Pointers of the fields that the caller will evaluate; ``target``, ``shape`` and ``sink``
        say where and how. A verdict that does not cover one of these fields, or is about another target, shape or
        sink, is a denial. ``judged_fields_only`` declares that ``arguments_json`` omits the fields that are not
        judged, which may include required ones. ``harden`` and ``prepared`` are as in ``validate``; each judged field
        has its own program.
        """
        request = pb.ValidateCallRequest(
            tool=request_fields.text("tool", tool),
            arguments_json=sendable_arguments("arguments_json", arguments_json),
            include_context=request_fields.flag("include_context", include_context),
            judged_fields_only=request_fields.flag("judged_fields_only", judged_fields_only),
            harden=request_fields.harden(harden),
            prepared=request_fields.text("prepared", prepared),
        )
        _add_common(request, profile, limits, session_id)
        read = partial(
            call_decision_from,
            request,
            runs=request_fields.pointers("runs", runs),
            target=None if target is None else request_fields.target(target),
            shape=None if shape is None else request_fields.shape(shape),
            sink=None if sink is None else request_fields.name("sink", sink),
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
        harden: bool | None = None,
    ) -> Question[EvaluationReply]:
        """Judge ``code`` for the sandbox and run it there; every failure is a reply without a result.

        ``arg_json`` is the argument as JSON text; ``limits`` are those of EvaluateLimits, and may only be
        smaller than the server's; ``guard_limits`` are those of Limits. ``harden`` is as in ``validate``: whether the
        hardened program runs instead of ``code``.
        """
        request = pb.EvaluateRequest(
            code=sendable_payload("code", code),
            argument_json=b"" if arg_json is None else request_fields.payload("arg_json", arg_json),
            seed=None if seed is None else request_fields.number("seed", seed),
            harden=request_fields.harden(harden),
        )
        if shape is not None:
            request.shape = request_fields.shape(shape)
        if limits is not None:
            given = request_fields.limits("limits", limits, pb.EvaluateLimits.DESCRIPTOR)
            request.limits.CopyFrom(pb.EvaluateLimits(**given))
        if guard_limits is not None:
            given = request_fields.limits("guard_limits", guard_limits, pb.Limits.DESCRIPTOR)
            request.guard_limits.CopyFrom(pb.Limits(**given))
        _add_common(request, profile, None, session_id)
        read = partial(reply_from, request, policy_digest=self.policy_digest)
        return Question("Evaluate", request, self.budget(len(code)) + seconds_for(request), read)

    def report_denial(self, decision_id: str, construct: str) -> Question[DenialReport]:
        """Report that the program of the ALLOW ``decision_id`` was denied ``construct`` while it ran.

        The report goes into the guard's audit log, once for each decision. A failure is a reply that is not recorded,
        and changes nothing else.
        """
        request = pb.ReportDenialRequest(
            decision_id=request_fields.name("decision_id", decision_id),
            construct=request_fields.name("construct", construct),
        )
        return Question("ReportDenial", request, self.seconds, partial(report_from, decision_id))

    def prepare_runtime(self, target: str = "renderer") -> Question[Preparation]:
        """Ask for the script that puts the run-time of hardened programs into a page, and for the key to it.

        ``prepare`` does it for a page of Playwright. A failure is a reply with a ``code`` and without a script.
        """
        request = pb.PrepareRuntimeRequest(target=request_fields.target(target))
        return Question("PrepareRuntime", request, self.seconds, preparation_from)

    def budget(self, size: int) -> float:
        """Return the timeout in seconds of a verdict on ``size`` bytes."""
        return self.seconds * max(1.0, size / FULL_BUDGET_BYTES)


def _add_common(
    request: pb.ValidateRequest | pb.ValidateCallRequest | pb.EvaluateRequest,
    profile: str | None,
    limits: Mapping[str, int] | None,
    session_id: str,
) -> None:
    """Add the fields that all requests share, and a random request id."""
    if profile is not None:
        request.profile = request_fields.profile(profile)
    if limits is not None and not isinstance(request, pb.EvaluateRequest):
        request.limits.CopyFrom(pb.Limits(**request_fields.limits("limits", limits, pb.Limits.DESCRIPTOR)))
    request.session_id = request_fields.text("session_id", session_id)
    request.request_id = secrets.token_hex(8)
