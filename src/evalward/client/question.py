"""One call to the guard before it is sent: what is asked, how long it may take, and how its reply is read.

Both clients send these; neither knows what is in them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from evalward.client.call import CallDecision, call_decision_from
from evalward.client.evaluation import EvaluationReply, evaluate_request, reply_from, seconds_for
from evalward.client.proof import decision_from
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from google.protobuf.message import Message

    from evalward.client.decision import Decision

Reply = TypeVar("Reply")
N = TypeVar("N", bound=int)

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
    """Builds questions; each method raises TypeError or ValueError for what no request can carry.

    ``seconds`` is the time for a call on a ready channel. With ``policy_digest`` only verdicts under that
    policy count.
    """

    seconds: float = VALIDATE_SECONDS
    policy_digest: str | None = None

    def validate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        target: str,
        shape: str | None,
        bindings: Mapping[str, str] | None,
        profile: str | None,
        session_id: str,
    ) -> Question[Decision]:
        """Return the question whether ``target`` may run ``code``."""
        _check_payload(code)
        request = pb.ValidateRequest(
            code=code,
            target=target_number(target),
            bindings=bindings or {},
            session_id=session_id,
            request_id=secrets.token_hex(8),
        )
        if shape is not None:
            request.shape = shape_number(shape)
        if profile is not None:
            request.profile = profile_number(profile)
        read = partial(decision_from, request, policy_digest=self.policy_digest)
        return Question("Validate", request, self._budget(code), read)

    def validate_call(  # noqa: PLR0913 - one parameter per field of the request, and what the caller will run
        self,
        tool: str,
        arguments_json: bytes,
        *,
        runs: Collection[str],
        target: str | None,
        shape: str | None,
        profile: str | None,
        session_id: str,
    ) -> Question[CallDecision]:
        """Return the question whether ``tool`` may be called with ``arguments_json``."""
        _check_payload(arguments_json)
        request = pb.ValidateCallRequest(
            tool=tool,
            arguments_json=arguments_json,
            session_id=session_id,
            request_id=secrets.token_hex(8),
        )
        if profile is not None:
            request.profile = profile_number(profile)
        read = partial(
            call_decision_from,
            request,
            runs=frozenset(runs),
            target=None if target is None else target_number(target),
            shape=None if shape is None else shape_number(shape),
            policy_digest=self.policy_digest,
        )
        return Question("ValidateCall", request, self._budget(arguments_json), read)

    def evaluate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        arg_json: bytes | None,
        shape: str | None,
        profile: str | None,
        limits: Mapping[str, int] | None,
        seed: int | None,
        session_id: str,
    ) -> Question[EvaluationReply]:
        """Return the question what ``code`` gives in the sandbox."""
        _check_payload(code)
        request = evaluate_request(code, arg_json=arg_json, limits=limits, seed=seed)
        if shape is not None:
            request.shape = shape_number(shape)
        if profile is not None:
            request.profile = profile_number(profile)
        request.session_id = session_id
        request.request_id = secrets.token_hex(8)
        read = partial(reply_from, request, policy_digest=self.policy_digest)
        return Question("Evaluate", request, self._budget(code) + seconds_for(request), read)

    def _budget(self, code: bytes) -> float:
        return self.seconds * max(1.0, len(code) / FULL_BUDGET_BYTES)


def target_number(name: str) -> pb.Target.ValueType:
    """Return the number of the target called ``name``, an alias included; raise ValueError."""
    number = pb.Target.Value("TARGET_RENDERER" if name == "page" else f"TARGET_{name!s}".upper())
    return _named(number)


def shape_number(name: str) -> pb.Shape.ValueType:
    """Return the number of the shape called ``name``; raise ValueError."""
    return _named(pb.Shape.Value(f"SHAPE_{name!s}".upper()))


def profile_number(name: str) -> pb.Profile.ValueType:
    """Return the number of the profile called ``name``; raise ValueError."""
    return _named(pb.Profile.Value(f"PROFILE_{name!s}".upper()))


def _named(number: N) -> N:
    # The zero values name nothing.
    if number == 0:
        raise ValueError("unspecified is no choice")
    return number


def _check_payload(code: bytes) -> None:
    # Another type could change between the question and the run: a bytearray, or a class with its own methods.
    if type(code) is not bytes:
        raise TypeError("a payload is bytes: what is judged is what runs")
