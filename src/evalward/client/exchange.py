"""One unary call without its I/O: what is sent, and what the answer means. Both clients only carry the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from google.protobuf.message import DecodeError

from evalward.challenge import PROOF, digest_of
from evalward.client.decision import Unproven
from evalward.client.failure import FORGED, failed, is_unavailable, unproven_peer
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from evalward.client.address import Address
    from evalward.client.decision import Decision
    from evalward.client.question import Question

T = TypeVar("T")

SERVICE: Final = pb.DESCRIPTOR.services_by_name["GuardService"]


def path_of(method: str) -> str:
    """Return what gRPC calls ``method``."""
    return f"/{SERVICE.full_name}/{method}"


def reply_type(method: str) -> type[Message]:
    """Return the message that ``method`` answers with."""
    kind: type[Message] = getattr(pb, SERVICE.methods_by_name[method].output_type.name)
    return kind


class Exchange(Generic[T]):
    """``question`` on its way to the guard at ``where``; the rest is what gRPC is given."""

    def __init__(self, question: Question[T], where: Address) -> None:
        self.method = question.method
        self.wire = question.request.SerializeToString()
        self.seconds = question.seconds
        self.metadata, self._challenge = where.authorised(path_of(question.method), digest_of(self.wire))
        self._question = question

    def reply(self, response: bytes, trailing: Any) -> T:
        """Return what ``response`` says; raise Unproven or Forged for what is no answer to the question."""
        if self._challenge is not None:
            proofs = [value for key, value in trailing or () if key == PROOF]
            if len(proofs) != 1 or not self._challenge.proves_reply(_text(proofs[0]), response):
                raise Forged
        return self._question.read(parsed(self.method, response))

    def denial(self, error: Exception) -> Decision:
        """Return the denial for ``error``, whatever it is."""
        if isinstance(error, Forged):
            return unproven_peer(FORGED)
        return failed(error, self._challenge)

    def is_lost(self, error: Exception) -> bool:
        """Return whether ``error`` is a connection's, of which gRPC does not say what is wrong with it."""
        return is_unavailable(error, self._challenge)


class Forged(Exception):  # noqa: N818 - no error of the caller's; it becomes a denial
    """A reply without the proof that whoever sent it knows the token."""


def parsed(method: str, response: bytes) -> Any:
    """Return the message in ``response``; raise Unproven when it is none."""
    try:
        return reply_type(method).FromString(response)
    except DecodeError:
        raise Unproven("it is no message of the protocol") from None


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
