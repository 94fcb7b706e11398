"""What is too large to be sent, or was too large to be read: a denial that names the limit, and no fault of the guard.

A message above its limit gRPC's core refuses on the server's side before the service sees it, so that there is no
envelope. Its status says how large the message was and how large it may be.
"""

from __future__ import annotations

import re
from typing import Any, Final

from evalward.client.guard_reply import Decision, denial
from evalward.client.request_fields import Unsendable, payload
from evalward.errors import Code, Repair

MOST_PAYLOAD_BYTES: Final = 8 * 1024 * 1024
"""The most that any policy can allow of a payload: what is larger, every server would refuse."""
ARGUMENTS_FACTOR: Final = 4
"""The arguments of a tool call may have this many times the bytes of a payload: JSON escapes make them longer."""
# Of the server alone: of a reply that is too large for the client, the core says the same in other words.
_REFUSAL: Final = re.compile(r"SERVER: Received message larger than max \(([0-9]{1,15}) vs\. ([0-9]{1,15})\)")


class TooLarge(Unsendable):
    """An argument of ``actual`` bytes, above the ``limit_value`` of every server's ``limit``."""

    def __init__(self, field: str, limit: str, limit_value: int, actual: int) -> None:
        why = f"has {actual} bytes, and no server takes more than {limit_value}"
        super().__init__(field, why, code=Code.EVAL_PAYLOAD_TOO_LARGE)
        self.repair = Repair.passed(limit, limit_value, field=self.pointer, actual=actual)


def sendable_payload(field: str, value: Any) -> bytes:
    """Return ``value``; raise Unsendable unless it is bytes that some policy could allow."""
    return _within(field, "payload_bytes", MOST_PAYLOAD_BYTES, value)


def sendable_arguments(field: str, value: Any) -> bytes:
    """Return the arguments ``value`` of a tool call; raise Unsendable as ``sendable_payload`` does."""
    return _within(field, "arguments_bytes", ARGUMENTS_FACTOR * MOST_PAYLOAD_BYTES, value)


def _within(field: str, limit: str, most: int, value: Any) -> bytes:
    sent = payload(field, value)
    if len(sent) > most:
        raise TooLarge(field, limit, most, len(sent))
    return sent


def refused_message(details: str | None) -> Decision | None:
    """Return the denial that ``details``, the text of a status RESOURCE_EXHAUSTED, stand for; None for other texts."""
    told = _REFUSAL.fullmatch(details or "")
    if told is None:
        return None
    actual, most = map(int, told.groups())
    return denial(
        Code.EVAL_PAYLOAD_TOO_LARGE,
        f"The request has {actual} bytes, and the guard takes messages of {most}.",
        repair=Repair.passed("message_bytes", most, actual=actual),
        grpc_status="RESOURCE_EXHAUSTED",
    )
