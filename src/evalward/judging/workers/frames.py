"""The bytes between the front process and a worker: questions in hand-overs of one or more, one answer to each.

A question carries the payload raw and refers to rules by a slot and an edition; the rules themselves, pickled, go
along only when the worker does not have that edition. Pickle goes in this direction alone: what a worker says is
read as JSON, since a worker whose parser was corrupted by a payload must not be able to run code in the front.
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
"""How many rules a worker keeps."""

# job, slot, edition, target, shape and sink (0: none), shape_from_text, is_last, bytes of the rules and of the payload
_REQUEST_HEAD: Final = Struct("!QHQBBB??II")
# job, SHA-256 of the payload, kind, bytes of the body
RESPONSE_HEAD: Final = Struct("!Q32sBI")
SUBJECT: Final = Struct("!Q32s")
"""How an answer begins: what it is about."""
MAX_BODY: Final = 16 * 1024 * 1024
"""The most bytes that an answer's body may have: a verdict with thousands of findings has less."""

_TARGETS: Final = tuple(Target)
_SHAPES: Final = (None, *Shape)
_SINKS: Final = (None, *sink_ids())


class SlottedRules(NamedTuple):
    """Rules as workers know them: ``edition`` is never given twice, ``wire`` is the pickle."""

    slot: int
    edition: int
    rules: Rules
    wire: bytes


class JudgeRequest(NamedTuple):
    """What a worker is asked: ``job`` under the number that its answer must bear.

    ``is_last``: nothing follows in this hand-over, so that the front sleeps until the answer is there.
    """

    number: int
    job: Job
    is_last: bool


def slotted(slot: int, edition: int, rules: Rules) -> SlottedRules:
    """Return ``rules`` with their number."""
    # A mappingproxy cannot be pickled.
    plain = replace(rules, actions=dict(rules.actions), bindings=dict(rules.bindings))
    return SlottedRules(slot, edition, rules, pickle.dumps(plain, pickle.HIGHEST_PROTOCOL))


def question(number: int, job: Job, known: SlottedRules, *, with_rules: bool, is_last: bool) -> bytes:
    """Return the question about ``job``, whose rules are ``known``."""
    rules = known.wire if with_rules else b""
    head = _REQUEST_HEAD.pack(
        number,
        known.slot,
        known.edition,
        _TARGETS.index(job.target),
        _SHAPES.index(job.shape),
        _SINKS.index(job.sink),
        job.shape_from_text,
        is_last,
        len(rules),
        len(job.payload),
    )
    return b"".join((head, rules, job.payload))


class JudgeRequestReader:
    """Reads questions at the worker's end, and keeps the rules that they refer to."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rules: dict[int, tuple[int, Rules]] = {}

    def read(self) -> JudgeRequest | None:
        """Return the next question, or None when the front has gone.

        Raises LookupError for rules that were never sent.
        """
        head = self._stream.read(_REQUEST_HEAD.size)
        if len(head) < _REQUEST_HEAD.size:
            return None
        number, slot, edition, target, shape, sink, from_text, is_last, rules_bytes, payload_bytes = (
            _REQUEST_HEAD.unpack(head)
        )
        if rules_bytes:
            self._rules[slot] = (edition, pickle.loads(self._stream.read(rules_bytes)))  # noqa: S301 - from the front
        known, rules = self._rules[slot]
        if known != edition:
            raise LookupError("the question refers to rules that another edition has replaced")
        payload = self._stream.read(payload_bytes)
        if len(payload) < payload_bytes:
            return None
        job = Job(payload, _TARGETS[target], _SHAPES[shape], rules, from_text, _SINKS[sink])
        return JudgeRequest(number, job, is_last)


def answer(number: int, digest: bytes, kind: int, body: bytes) -> bytes:
    """Return an answer to question ``number``; ``digest`` is SHA-256 of the payload that it is about."""
    return RESPONSE_HEAD.pack(number, digest, kind, len(body)) + body
