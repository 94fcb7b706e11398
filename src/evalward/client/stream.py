"""A stream of payloads without its I/O: each is judged, and its verdict proven, separately and in order.

Contract.md §5. A client sends one payload and reads its verdict before it sends the next. Any failure ends the stream:
that payload is denied, and each one after it is denied without being sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.challenge import STREAM, Transcript
from evalward.client import request_fields
from evalward.client.batch_decision import STATUSES, ItemDecision, item_request
from evalward.client.failure import FORGED, failed, is_unavailable, unbuilt, unproven_peer
from evalward.client.guard_reply import Decision, Unproven, denial
from evalward.client.proof import decision_from
from evalward.client.unary import parsed, path_of
from evalward.errors import Code
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.challenge import Challenge
    from evalward.client.address import Address, Metadata
    from evalward.client.batch_decision import Payload
    from evalward.client.question import Questions

METHOD = "ValidateStream"
PATH = path_of(METHOD)


class Conversation:
    """One stream: ``request`` gives the message for a payload, ``decision`` the verdict in the next reply.

    An argument that no request can carry ends the stream before its first payload.
    """

    def __init__(self, questions: Questions, where: Address, *, stop_on_first: bool, session_id: str) -> None:
        self._questions = questions
        self._index = -1
        self._request = pb.ValidateRequest()
        self._first_failure: Decision | None = None
        self._over: Decision | None = None  # the denial of every payload from here on
        self.is_open = False
        self.seconds = questions.seconds
        self.metadata: Metadata = ()
        self._challenge: Challenge | None = None
        self._transcript: Transcript | None = None
        try:
            self._stop_on_first = request_fields.flag("stop_on_first", stop_on_first)
            self._session_id = request_fields.text("session_id", session_id)
            self.metadata, self._challenge = where.authorised(PATH, STREAM)
            self._transcript = None if self._challenge is None else Transcript(self._challenge)
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            self._over = unbuilt(error)

    def request(self, item: Payload) -> bytes | ItemDecision:
        """Return the message to send for ``item``, or its denial when it cannot be sent."""
        self._index += 1
        if self._over is not None:
            return self._denied(self._over)
        try:
            self._request = item_request(self._questions, item, self._session_id)
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return self.ended(unbuilt(error))
        self.seconds = self._questions.budget(len(self._request.code))
        stops = self._stop_on_first and self._index == 0
        wire = pb.ValidateStreamRequest(item=self._request, stop_on_first=stops).SerializeToString()
        if self._transcript is not None:
            self._transcript.request(wire)
        return wire

    def decision(self, response: bytes | None) -> ItemDecision:
        """Return the decision in ``response`` about the latest payload; None means that the stream has ended."""
        if response is None:
            return self.ended(failed(Unproven("the stream ended without it")))
        if self._transcript is not None:
            proven = self._transcript.checked(response)
            if proven is None:
                return self.ended(unproven_peer(FORGED))
            response = proven
        try:
            return self._decision(parsed(METHOD, response))
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return self.ended(failed(error))

    def denial(self, error: Exception) -> Decision:
        """Return the denial for any ``error``."""
        return failed(error, self._challenge)

    def is_lost(self, error: Exception) -> bool:
        """Return whether the connection failed and gRPC does not say why."""
        return is_unavailable(error, self._challenge)

    def ended(self, why: Decision) -> ItemDecision:
        """Deny the present payload and all after it with ``why``."""
        self._over = why
        return self._denied(why)

    def _denied(self, why: Decision) -> ItemDecision:
        return ItemDecision.of(why, self._index, "failed")

    def _decision(self, response: Any) -> ItemDecision:
        status = STATUSES.get(response.status)
        outcome = response.WhichOneof("outcome")
        if response.item_index != self._index or status is None:
            raise Unproven("the verdict is about another item")
        if status == "skipped":
            if self._first_failure is None or outcome is not None or not self._stop_on_first:
                raise Unproven("an item is skipped although none before it failed")
            return ItemDecision.of(self._first_failure, self._index, status)
        if outcome != ("allowed" if status == "allowed" else "error"):
            raise Unproven("the reply has no outcome")
        decision = decision_from(self._request, response, policy_digest=self._questions.policy_digest)
        if not decision.allowed and self._first_failure is None:
            self._first_failure = decision
        return ItemDecision.of(decision, self._index, status)


def late() -> Decision:
    """Return the denial of a payload whose verdict did not arrive in time."""
    return denial(
        Code.DEADLINE_EXCEEDED, "The guard did not answer in time.", grpc_status="DEADLINE_EXCEEDED"
    )
