"""Decode and check a ValidateRequest; an invalid one raises CodedError.

The bytes are decoded here and not by gRPC, so that a message that does not parse (invalid UTF-8 in a string field, for
example) still gets an envelope and an audit record (contract.md §6).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from google.protobuf.message import DecodeError

from evalward.errors import Code, CodedError, Repair, pointer
from evalward.guard.target import Shape, Target
from evalward.identifiers import CALLER_ID
from evalward.judging.preparing import KEY
from evalward.policy.named_sink import asked_sink
from evalward.server.requests.proto_enums import HARDENING, PROFILES, SHAPES, TARGETS
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

    from google.protobuf.message import Message

    from evalward.guard.rules import Hardening
    from evalward.guard.sinks import Sink
    from evalward.guard.target import Profile

E = TypeVar("E", bound="StrEnum")
M = TypeVar("M", bound="Message")

# The caller text that the audit log accepts (``evalward.audit.record``); other text is rejected, never truncated.
CALLER_TEXT = re.compile(f"({CALLER_ID})?")


class ValidationRequest(NamedTuple):
    """One payload to judge, as the caller declared it; ``limits`` contains only what the caller sets."""

    code: bytes
    target: Target
    shape: Shape | None
    profile: Profile | None
    bindings: Mapping[str, str]
    limits: Mapping[str, int]
    session_id: str
    request_id: str
    include_context: bool = False
    sink: str | None = None
    harden: Hardening | None = None
    prepared: str = ""


class Received(NamedTuple):
    """The known parts of a request, also of a rejected one: enough for its audit record and its binding.

    ``arguments`` are those of a tool call: the binding covers them, but no record contains them. They are empty for a
    request without a single payload. ``items`` is the number of items of a batch.
    """

    code: bytes = b""
    target: Target | None = None
    shape: Shape | None = None
    session_id: str = ""
    request_id: str = ""
    arguments: bytes | None = None
    items: int | None = None
    sink: str | None = None


class RequestReader:
    """A request during reading; ``received`` fills up as reading proceeds.

    ``target_field`` and ``payload_field`` are the JSON Pointers of the target and the payload in the request.
    """

    __slots__ = ("received", "wire")
    target_field: str | None = "/target"
    payload_field: str | None = "/code"

    item_index: int | None = None
    """The index, from 0, of an item; None for a single request."""

    takes_offers: bool = True
    """Whether the response has room for a hardened program that the policy only offers."""

    def __init__(self, wire: bytes) -> None:
        self.wire = wire
        self.received = _NOTHING

    def validation_request(self) -> ValidationRequest:
        """Read a whole ValidateRequest; raise CodedError for the first error."""
        message = self.message(pb.ValidateRequest)
        self.receive(
            Received(message.code, TARGETS.get(message.target), SHAPES.get(message.shape)),
            session_id=message.session_id,
            request_id=message.request_id,
        )
        sink = self._sink(message) if message.sink else None
        if sink is None and message.target == pb.TARGET_UNSPECIFIED:
            raise CodedError(
                Code.MISSING_FIELD,
                "The request does not name the target that would evaluate the payload.",
                repair=Repair.missing("/target", allowed=[*Target]),
            )
        limits = message.HasField("limits") and message.limits.ListFields()
        return ValidationRequest(
            code=self.received.code,
            target=sink.target if sink else member("target", message.target, TARGETS),
            shape=member("shape", message.shape, SHAPES) if message.HasField("shape") else None,
            profile=member("profile", message.profile, PROFILES) if message.HasField("profile") else None,
            bindings=dict(message.bindings) if message.bindings else _NO_BINDINGS,
            limits={each.name: number for each, number in limits} if limits else _NO_LIMITS,
            session_id=self.received.session_id,
            request_id=self.received.request_id,
            include_context=message.include_context,
            sink=sink.id if sink else None,
            harden=hardening_of(message.harden),
            prepared=key_of(message.prepared),
        )

    def _sink(self, message: pb.ValidateRequest) -> Sink:
        """Return the sink that a request names; raise CodedError (INVALID_INPUT) for a contradiction."""
        sink = asked_sink(
            message.sink,
            target=member("target", message.target, TARGETS) if message.target else None,
            shape=member("shape", message.shape, SHAPES) if message.HasField("shape") else None,
            bindings=message.bindings,
        )
        self.received = self.received._replace(target=sink.target, sink=sink.id)
        return sink

    def message(self, kind: type[M]) -> M:
        """Return the request as a ``kind``; raise CodedError (INVALID_INPUT) when it does not decode."""
        try:
            return kind.FromString(self.wire)
        except DecodeError:
            # The decoder's message may quote the field that it could not read.
            raise CodedError(
                Code.INVALID_INPUT,
                f"The request is not an {kind.DESCRIPTOR.full_name}; text fields must be valid UTF-8.",
                repair=Repair(field=pointer()),
            ) from None

    def receive(self, known: Received, *, session_id: str, request_id: str) -> None:
        """Store ``known`` and the caller's own text, if the audit log accepts it."""
        if not (session_id or request_id):
            self.received = known
            return
        self.received = known._replace(
            session_id=session_id if CALLER_TEXT.fullmatch(session_id) else "",
            request_id=request_id if CALLER_TEXT.fullmatch(request_id) else "",
        )
        _check_caller_text("session_id", session_id)
        _check_caller_text("request_id", request_id)


_NOTHING = Received()
_NO_BINDINGS: Mapping[str, str] = MappingProxyType({})
_NO_LIMITS: Mapping[str, int] = MappingProxyType({})


def member(name: str, number: int, members: Mapping[int, E]) -> E:
    """Return the member with ``number``; raise CodedError (INVALID_INPUT) for an unknown number."""
    if number not in members:
        raise CodedError(
            Code.INVALID_INPUT,
            f"The request's {name} has the unknown number {number}.",
            repair=Repair(field=pointer(name), allowed=[*members.values()]),
        )
    return members[number]


def hardening_of(number: int) -> Hardening | None:
    """Return what a request's ``harden`` asks for, None for what the policy decides; raise CodedError as ``member``."""
    return None if number == pb.HARDEN_UNSPECIFIED else member("harden", number, HARDENING)


def key_of(prepared: str) -> str:
    """Return the key of a prepared page, "" for none; raise CodedError (INVALID_INPUT), without its text."""
    if prepared and KEY.fullmatch(prepared) is None:
        raise CodedError(
            Code.INVALID_INPUT,
            "The request's prepared is no key of PrepareRuntime.",
            repair=Repair(field="/prepared", pattern=KEY.pattern),
        )
    return prepared


def _check_caller_text(name: str, text: str) -> None:
    if CALLER_TEXT.fullmatch(text) is None:
        raise CodedError(
            Code.INVALID_INPUT,
            f"The request's {name} has characters or a length that the audit log does not accept.",
            repair=Repair(field=pointer(name), pattern=CALLER_TEXT.pattern),
        )
