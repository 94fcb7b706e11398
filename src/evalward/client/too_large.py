"""Requests that are too large for any server, or for the message limit of this one: denials that name the limit.

gRPC's core on the server's side rejects a message above its limit before the service sees it, so there is no envelope.
The status says how large the message was and how large it may be.
"""

from __future__ import annotations

import re
from typing import Any, Final

from evalward.client.guard_reply import Decision, denial
from evalward.client.request_fields import Unsendable, payload
from evalward.errors import Code, Repair

MOST_PAYLOAD_BYTES: Final = 8 * 1024 * 1024
"""The maximum of any policy; every server rejects a larger payload."""
ARGUMENTS_FACTOR: Final = 4
"""The arguments of a tool call may be this many times as long as a payload, since JSON escapes lengthen them."""
# Only the server's message: for a reply that is too large for the client, the core uses another one.
_REFUSAL: Final = re.compile(r"SERVER: Received message larger than max \(([0-9]{1,15}) vs\. ([0-9]{1,15})\)")


class TooLarge(Unsendable):
    """An argument of ``actual`` bytes, above the ``limit_value`` of every server's ``limit``."""

    def __init__(self, field: str, limit: str, limit_value: int, actual: int) -> None:
        why = f"has {actual} bytes, and no server takes more than {limit_value}"
        super().__init__(field, why, code=Code.EVAL_PAYLOAD_TOO_LARGE)
        self.repair = Repair.passed(limit, limit_value, field=self.pointer, actual=actual)


def sendable_payload(field: str, value: Any) -> bytes:
    """Return ``value``; raise Unsendable unless it is bytes within the maximum of any policy."""
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
    """Return the denial for ``details``, the text of a RESOURCE_EXHAUSTED status; None for other texts."""
    sizes = _REFUSAL.fullmatch(details or "")
    if sizes is None:
        return None
    actual, most = map(int, sizes.groups())
    return denial(
        Code.EVAL_PAYLOAD_TOO_LARGE,
        f"The request has {actual} bytes, and the guard accepts messages of at most {most}.",
        repair=Repair.passed("message_bytes", most, actual=actual),
        grpc_status="RESOURCE_EXHAUSTED",
    )
