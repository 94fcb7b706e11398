"""Decode and check a ValidateCallRequest; an invalid one raises CodedError."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.server.requests.proto_enums import PROFILES
from evalward.server.requests.validate_request import (
    CALLER_TEXT,
    Received,
    RequestReader,
    hardening_of,
    key_of,
    member,
)
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.rules import Hardening
    from evalward.guard.target import Profile


class ToolCallRequest(NamedTuple):
    """One tool call as the caller sent it; the texts match CALLER_TEXT."""

    tool: str
    arguments_json: bytes
    profile: Profile | None
    limits: Mapping[str, int]
    session_id: str
    request_id: str
    include_context: bool
    judged_fields_only: bool = False
    harden: Hardening | None = None
    prepared: str = ""


class CallReader(RequestReader):
    """A ValidateCallRequest during reading; ``tool`` is empty until the name is checked.

    The manifest determines the target; ``payload_field`` is the source field that is being judged. A caller that does
    not take programs is offered none, and denied where one is required.
    """

    __slots__ = ("payload_field", "takes_programs", "tool")
    target_field = None

    def __init__(self, wire: bytes, *, takes_programs: bool = True) -> None:
        super().__init__(wire)
        self.takes_programs = takes_programs
        self.payload_field: str | None = None
        self.tool = ""

    def call(self) -> ToolCallRequest:
        """Read the whole request; raise CodedError for the first error."""
        message = self.message(pb.ValidateCallRequest)
        self.receive(
            Received(arguments=message.arguments_json),
            session_id=message.session_id,
            request_id=message.request_id,
        )
        if not message.tool:
            raise CodedError(
                Code.MISSING_FIELD,
                "The request names no tool.",
                repair=Repair.missing("/tool"),
            )
        if CALLER_TEXT.fullmatch(message.tool) is None:
            raise CodedError(
                Code.INVALID_INPUT,
                "The request's tool is not a valid tool name.",
                repair=Repair(field="/tool", pattern=CALLER_TEXT.pattern),
            )
        self.tool = message.tool
        return ToolCallRequest(
            tool=message.tool,
            arguments_json=message.arguments_json,
            profile=member("profile", message.profile, PROFILES) if message.HasField("profile") else None,
            limits={field.name: number for field, number in message.limits.ListFields()},
            session_id=message.session_id,
            request_id=message.request_id,
            include_context=message.include_context,
            judged_fields_only=message.judged_fields_only,
            harden=hardening_of(message.harden),
            prepared=key_of(message.prepared),
        )
