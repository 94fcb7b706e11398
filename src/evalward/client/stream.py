"""A stream of payloads without its I/O: each is asked about, and proven, by itself and in order (contract.md §5).

The clients send one payload and take its answer before they send the next. Whatever goes wrong ends the stream: that
payload is denied, and so is each one behind it, without being sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.challenge import STREAM, Transcript
from evalward.client import arguments
from evalward.client.batch import STATUSES, ItemDecision, item_request
from evalward.client.decision import Decision, Unproven, denial
from evalward.client.exchange import parsed, path_of
from evalward.client.failure import FORGED, failed, is_unavailable, unbuilt, unproven_peer
from evalward.client.proof import decision_from
from evalward.errors import Code
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.client.address import Address
    from evalward.client.batch import Payload
    from evalward.client.question import Questions

METHOD = "ValidateStream"
PATH = path_of(METHOD)


class Conversation:
    """One stream: ``asked`` gives the bytes to send for a payload, ``answered`` the decision in the next reply.

    ``over`` is the denial of everything from here on, None while the stream goes on. Raise Unsendable for an
    argument that no request can carry.
    """

    def __init__(self, questions: Questions, where: Address, *, stop_on_first: bool, session_id: str) -> None:
        self._questions = questions
        self._stop_on_first = arguments.flag("stop_on_first", stop_on_first)
        self._session_id = arguments.text("session_id", session_id)
        self.metadata, self._challenge = where.authorised(PATH, STREAM)
        self._transcript = None if self._challenge is None else Transcript(self._challenge)
        self._request = pb.ValidateRequest()
        self._index = -1
        self._first_failure: Decision | None = None
        self.over: Decision | None = None
        self.seconds = questions.seconds

    def asked(self, item: Payload) -> bytes | ItemDecision:
        """Return what to send about ``item``, or its denial when it cannot be sent."""
        self._index += 1
        if self.over is not None:
            return self._denied(self.over)
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

    def answered(self, response: bytes | None) -> ItemDecision:
        """Return the decision in ``response`` about the payload that was asked about last; None: there is none."""
        if response is None:
            return self.ended(_lacking())
        if self._transcript is not None:
            proven = self._transcript.checked(response)
            if proven is None:
                return self.ended(unproven_peer(FORGED))
            response = proven
        try:
            return self._decision(parsed(METHOD, response))
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return self.ended(failed(error))

    def failure(self, error: Exception) -> Decision:
        """Return the denial for ``error``."""
        return failed(error, self._challenge)

    def is_lost(self, error: Exception) -> bool:
        """Return whether ``error`` is a connection's, of which gRPC does not say what is wrong with it."""
        return is_unavailable(error, self._challenge)

    def ended(self, why: Decision) -> ItemDecision:
        """Deny the present payload and all behind it, for what ``why`` says."""
        self.over = why
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
                raise Unproven("an item is skipped behind none that failed")
            return ItemDecision.of(self._first_failure, self._index, status)
        if outcome != ("allowed" if status == "allowed" else "error"):
            raise Unproven("the reply has no outcome")
        decision = decision_from(self._request, response, policy_digest=self._questions.policy_digest)
        if not decision.allowed and self._first_failure is None:
            self._first_failure = decision
        return ItemDecision.of(decision, self._index, status)


def _lacking() -> Decision:
    return failed(Unproven("the stream ended without it"))


def late() -> Decision:
    """Return the denial of a payload that was not answered in time."""
    return denial(
        Code.DEADLINE_EXCEEDED, "The guard did not answer in time.", grpc_status="DEADLINE_EXCEEDED"
    )
