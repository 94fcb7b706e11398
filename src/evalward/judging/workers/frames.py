"""The wire format between the server process and a worker: requests in batches, one response to each.

A request contains the raw payload and refers to rules by slot and edition; the pickled rules are included only when the
worker does not have that edition. Pickle is used in this direction only. Responses are JSON: a worker whose parser was
corrupted by a payload must not be able to run code in the server process.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.guard.sinks import sink_ids
from evalward.guard.target import Shape, Target
from evalward.judging.executor import Job

if TYPE_CHECKING:
    from typing import BinaryIO

    from evalward.guard.rules import Rules

READY: Final = 1
VERDICT: Final = 2
FAILED: Final = 3
SENT_BACK: Final = 4

SLOTS: Final = 64
"""The number of rules that a worker keeps."""

# job, slot, edition, target, shape and sink (0: none), shape_from_text, harden, is_last, bytes of rules and of payload
_REQUEST_HEAD: Final = Struct("!QHQBBB???II")
# job, SHA-256 of the payload, kind, bytes of the body
RESPONSE_HEAD: Final = Struct("!Q32sBI")
SUBJECT: Final = Struct("!Q32s")
"""The first fields of a response: number and payload digest."""
MAX_BODY: Final = 16 * 1024 * 1024
"""The maximum bytes of a response body: a verdict with thousands of findings, or the largest program, is smaller."""

_TARGETS: Final = tuple(Target)
_SHAPES: Final = (None, *Shape)
_SINKS: Final = (None, *sink_ids())


class SlottedRules(NamedTuple):
    """Rules as workers know them: ``edition`` is never reused, ``wire`` is the pickle."""

    slot: int
    edition: int
    rules: Rules
    wire: bytes


class JudgeRequest(NamedTuple):
    """A request to a worker: ``job`` under the number that its response must carry.

    ``is_last``: no more requests follow in this batch, so the server process sleeps until the response arrives.
    """

    number: int
    job: Job
    is_last: bool


def slotted(slot: int, edition: int, rules: Rules) -> SlottedRules:
    """Return ``rules`` with their slot and edition."""
    # A mappingproxy cannot be pickled.
    plain = replace(rules, actions=dict(rules.actions), bindings=dict(rules.bindings))
    return SlottedRules(slot, edition, rules, pickle.dumps(plain, pickle.HIGHEST_PROTOCOL))


def request_frame(number: int, job: Job, known: SlottedRules, *, with_rules: bool, is_last: bool) -> bytes:
    """Return the frame that requests a verdict on ``job``, whose rules are ``known``."""
    rules = known.wire if with_rules else b""
    head = _REQUEST_HEAD.pack(
        number,
        known.slot,
        known.edition,
        _TARGETS.index(job.target),
        _SHAPES.index(job.shape),
        _SINKS.index(job.sink),
        job.shape_from_text,
        job.harden,
        is_last,
        len(rules),
        len(job.payload),
    )
    return b"".join((head, rules, job.payload))


class JudgeRequestReader:
    """Reads requests in the worker, and keeps the rules that they refer to."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rules: dict[int, tuple[int, Rules]] = {}

    def read(self) -> JudgeRequest | None:
        """Return the next request, or None when the server process has closed the socket.

        Raises LookupError for rules that were never sent.
        """
        head = self._stream.read(_REQUEST_HEAD.size)
        if len(head) < _REQUEST_HEAD.size:
            return None
        number, slot, edition, target, shape, sink, from_text, harden, is_last, rules_bytes, payload_bytes = (
            _REQUEST_HEAD.unpack(head)
        )
        if rules_bytes:
            self._rules[slot] = (edition, pickle.loads(self._stream.read(rules_bytes)))  # noqa: S301 - from the server process
        known, rules = self._rules[slot]
        if known != edition:
            raise LookupError("the request refers to a replaced edition of rules")
        payload = self._stream.read(payload_bytes)
        if len(payload) < payload_bytes:
            return None
        job = Job(payload, _TARGETS[target], _SHAPES[shape], rules, from_text, _SINKS[sink], harden=harden)
        return JudgeRequest(number, job, is_last)


def response_frame(number: int, digest: bytes, kind: int, body: bytes) -> bytes:
    """Return the response to request ``number``; ``digest`` is the SHA-256 of its payload."""
    return RESPONSE_HEAD.pack(number, digest, kind, len(body)) + body
