"""One unary call without its I/O: the request that is sent, and the meaning of the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from google.protobuf.message import DecodeError

from evalward.challenge import PROOF, digest_of
from evalward.client.failure import FORGED, failed, is_unavailable, unproven_peer
from evalward.client.guard_reply import Unproven
from evalward.client.steps import Unary
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from evalward.client.address import Address
    from evalward.client.guard_reply import Decision
    from evalward.client.question import Question

T = TypeVar("T")

SERVICE: Final = pb.DESCRIPTOR.services_by_name["GuardService"]


def path_of(method: str) -> str:
    """Return the path of ``method`` in gRPC."""
    return f"/{SERVICE.full_name}/{method}"


def reply_type(method: str) -> type[Message]:
    """Return the response message of ``method``."""
    kind: type[Message] = getattr(pb, SERVICE.methods_by_name[method].output_type.name)
    return kind


class UnaryCall(Generic[T]):
    """The call that sends ``question`` to the guard at ``where``; ``step`` is its I/O."""

    def __init__(self, question: Question[T], where: Address) -> None:
        wire = question.request.SerializeToString()
        path = path_of(question.method)
        metadata, self._challenge = where.authorised(path, digest_of(wire))
        self.step = Unary(path, wire, question.seconds, metadata)
        self._question = question

    def reply(self, response: bytes, trailing: Any) -> T:
        """Return the meaning of ``response``; raise Unproven or Forged when it does not answer the question."""
        if self._challenge is not None:
            proofs = [value for key, value in trailing or () if key == PROOF]
            if len(proofs) != 1 or not self._challenge.proves_reply(_text(proofs[0]), response):
                raise Forged
        return self._question.read(parsed(self._question.method, response))

    def denial(self, error: Exception) -> Decision:
        """Return the denial for any ``error``."""
        if isinstance(error, Forged):
            return unproven_peer(FORGED)
        return failed(error, self._challenge)

    def is_lost(self, error: Exception) -> bool:
        """Return whether the connection failed and gRPC does not say why."""
        return is_unavailable(error, self._challenge)


class Forged(Exception):  # noqa: N818 - no error of the caller's; it becomes a denial
    """A reply without the proof that its sender knows the token."""


def parsed(method: str, response: bytes) -> Any:
    """Return the message in ``response``; raise Unproven when it is not one."""
    try:
        return reply_type(method).FromString(response)
    except DecodeError:
        raise Unproven("it is not a message of the protocol") from None


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
