"""From the wire to the request model: bytes become a ``Question``, or a CodedError that says why not.

The bytes are decoded here and not by gRPC, so that a message which does not parse (text that is not UTF-8 in
a string field, say) still gets an envelope and an audit record (contract.md §6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError

from evalward.errors import Code, CodedError, Repair
from evalward.guard.target import Profile, Shape, Target
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

E = TypeVar("E", bound="StrEnum")

TARGETS = {getattr(pb, f"TARGET_{target.name}"): target for target in Target}
SHAPES = {getattr(pb, f"SHAPE_{shape.name}"): shape for shape in Shape}
PROFILES = {getattr(pb, f"PROFILE_{profile.name}"): profile for profile in Profile}
# What the audit log takes from a caller (``evalward.audit.record``); anything else is refused, never cut.
CALLER_TEXT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:@/-]{0,127})?")


@dataclass(frozen=True, slots=True)
class Question:
    """One payload to judge, as the caller declared it; ``limits`` holds only what the caller asks for."""

    code: bytes
    target: Target
    shape: Shape | None
    profile: Profile | None
    bindings: Mapping[str, str]
    limits: Mapping[str, int]
    session_id: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Received:
    """What is known of a request even when it is refused: enough for its audit record and its binding."""

    code: bytes = b""
    target: Target | None = None
    shape: Shape | None = None
    session_id: str = ""
    request_id: str = ""


@dataclass(slots=True)
class Reading:
    """A request while it is being read; ``received`` grows as far as the reading gets."""

    wire: bytes
    received: Received = field(default_factory=Received)

    def question(self) -> Question:
        """Read the whole request; raise CodedError for the first thing that is wrong with it."""
        message = self._message()
        known = Received(
            code=message.code,
            target=TARGETS.get(message.target),
            shape=SHAPES.get(message.shape),
            session_id=message.session_id if CALLER_TEXT.fullmatch(message.session_id) else "",
            request_id=message.request_id if CALLER_TEXT.fullmatch(message.request_id) else "",
        )
        self.received = known
        _check_caller_text("session_id", message.session_id)
        _check_caller_text("request_id", message.request_id)
        if message.target == pb.TARGET_UNSPECIFIED:
            raise CodedError(
                Code.MISSING_FIELD,
                "The request does not say which target would evaluate the payload.",
                repair=Repair(field="target", required="target", allowed=[*Target]),
            )
        if message.include_context:
            raise CodedError(
                Code.UNSUPPORTED_OPTION,
                "This version does not return source context.",
                repair=Repair(field="include_context", allowed=["false"]),
            )
        return Question(
            code=message.code,
            target=_member("target", message.target, TARGETS),
            shape=_member("shape", message.shape, SHAPES) if message.HasField("shape") else None,
            profile=_member("profile", message.profile, PROFILES) if message.HasField("profile") else None,
            bindings=dict(message.bindings),
            limits={descriptor.name: number for descriptor, number in message.limits.ListFields()},
            session_id=message.session_id,
            request_id=message.request_id,
        )

    def _message(self) -> pb.ValidateRequest:
        try:
            return pb.ValidateRequest.FromString(self.wire)
        except DecodeError:
            # The decoder's own text is not repeated, since it may quote the field that it could not read.
            raise CodedError(
                Code.INVALID_INPUT,
                "The request is not an evalward.v1.ValidateRequest; text fields must be valid UTF-8.",
            ) from None


def _member(name: str, number: int, members: Mapping[int, E]) -> E:
    if number not in members:
        raise CodedError(
            Code.INVALID_INPUT,
            f"The request's {name} has the number {number}, which names nothing.",
            repair=Repair(field=name, allowed=[*members.values()]),
        )
    return members[number]


def _check_caller_text(name: str, text: str) -> None:
    if CALLER_TEXT.fullmatch(text) is None:
        raise CodedError(
            Code.INVALID_INPUT,
            f"The request's {name} has characters or a length that the audit log does not take.",
            repair=Repair(field=name, allowed=[CALLER_TEXT.pattern]),
        )
