"""Decode and check a PrepareRuntimeRequest; an invalid one raises CodedError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.errors import Code, CodedError, Repair
from evalward.judging.preparing import PREPARABLE
from evalward.server.requests.proto_enums import TARGETS
from evalward.server.requests.validate_request import Received, RequestReader, member
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.guard.target import Target


class PrepareReader(RequestReader):
    """A PrepareRuntimeRequest during reading: it has no payload."""

    __slots__ = ()
    payload_field = None

    def target(self) -> Target:
        """Read the whole request; raise CodedError for the first error."""
        message = self.message(pb.PrepareRuntimeRequest)
        self.received = Received(arguments=b"", target=TARGETS.get(message.target))
        if message.target == pb.TARGET_UNSPECIFIED:
            raise CodedError(
                Code.MISSING_FIELD,
                "The request does not name the target to prepare.",
                repair=Repair.missing("/target", allowed=[*PREPARABLE]),
            )
        target = member("target", message.target, TARGETS)
        if target not in PREPARABLE:
            raise CodedError(
                Code.INVALID_INPUT,
                f"A realm of the target {target} cannot be prepared.",
                repair=Repair(field="/target", allowed=[*PREPARABLE]),
            )
        return target
