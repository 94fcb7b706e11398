"""The front's end of the sockets to a worker: questions are handed over together, and each has an answer.

To write to a socket on which another process sleeps wakes that process, which costs more than all else that an
answer needs. So there are two. The front sleeps on one, where the answer to the last question of a hand-over comes;
the others come on the side, where nobody sleeps, and all are there when the last one wakes the front. It looks there
by itself too, every few milliseconds: so it knows which question is in the worker, and for how long.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.judging.workers.frames import MAX_BODY, RESPONSE_HEAD, SUBJECT, question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.judging.executor import Job
    from evalward.judging.workers.frames import SlottedRules

_READ_BYTES: Final = 64 * 1024
_LOOK_SECONDS: Final = 0.02


class WorkerFault(Exception):  # noqa: N818 - what the front knows of it
    """The worker died, or answered what cannot be: it must be killed, and its request is denied."""


class WorkerDied(WorkerFault):
    """The process ended before it had answered."""


class NotTaken(WorkerFault):
    """The process did not take its questions: nothing of them was judged."""


class StillJudging(Exception):  # noqa: N818 - a state
    """The time is up and the worker has not answered; the answer may still be waited for."""

    def __init__(self) -> None:
        super().__init__("is stuck")


class WorkerResponse(NamedTuple):
    """What a worker says: ``job`` (None: it greets), SHA-256 of its payload, and what became of it."""

    job: Job | None
    digest: bytes
    kind: int
    body: bytes


class _Due(NamedTuple):
    """A question without an answer; ``subject`` is how its answer begins."""

    job: Job | None
    digest: bytes
    subject: bytes


class Channel:
    """Questions and answers. Used by one thread at a time; ``shut_down`` may come from any."""

    def __init__(self, channel: socket.socket, side: socket.socket) -> None:
        self._channel = channel
        self._side = side
        self._number = 0
        self._due = deque([_Due(None, bytes(32), SUBJECT.pack(0, bytes(32)))])
        self._last = bytearray()
        self._early = bytearray()
        self._known: dict[int, int] = {}
        # Held while a thread talks to the process, so that the descriptors are not closed under it.
        self._in_use = threading.RLock()

    def ask(self, jobs: Sequence[tuple[Job, SlottedRules]], *, seconds: float) -> None:
        """Hand over ``jobs`` with their rules within ``seconds``; raise WorkerFault when they are not taken."""
        with self._in_use:
            frames: list[bytes] = []
            for job, known in jobs:
                self._number += 1
                digest = sha256(job.payload).digest()
                self._due.append(_Due(job, digest, SUBJECT.pack(self._number, digest)))
                with_rules = self._known.get(known.slot) != known.edition
                self._known[known.slot] = known.edition
                is_last = len(frames) + 1 == len(jobs)
                frames.append(question(self._number, job, known, with_rules=with_rules, is_last=is_last))
            try:
                self._channel.settimeout(seconds)
                self._channel.sendall(b"".join(frames))
            except TimeoutError:
                # A question that was sent in part cannot be taken back.
                raise NotTaken("does not take a question") from None
            except OSError:
                raise NotTaken("ended before its job") from None

    def answer(self, until: float) -> WorkerResponse:
        """Return the answer to the first question that has none; ``until`` is a time of ``time.monotonic``.

        Raises StillJudging at that time, and WorkerFault for an answer that cannot be.
        """
        with self._in_use:
            if not self._due:
                raise WorkerFault("was asked nothing")
            due = self._due[0]
            received = self._last if len(self._due) == 1 else self._early
            if len(received) < RESPONSE_HEAD.size:
                self._receive(received, RESPONSE_HEAD.size, until)
            _, _, kind, size = RESPONSE_HEAD.unpack_from(received)
            if not received.startswith(due.subject) or size > MAX_BODY:
                raise WorkerFault("answered another question")
            whole = RESPONSE_HEAD.size + size
            if len(received) < whole:
                self._receive(received, whole, until)
            body = bytes(received[RESPONSE_HEAD.size : whole])
            del received[:whole]
            self._due.popleft()
            # What is here already must be about what is due next, or this answer has too much.
            following = self._due[0].subject if len(self._due) > 1 else b""
            if received and not following.startswith(received[: SUBJECT.size]):
                raise WorkerFault("answered more than it was asked")
            return WorkerResponse(due.job, due.digest, kind, body)

    def shut_down(self, how: int) -> None:
        """Shut down the socket on which both sides sleep."""
        with suppress(OSError):
            self._channel.shutdown(how)

    def close(self) -> None:
        """Let go of the sockets, once no thread talks to the process; what the process said can still be read."""
        with self._in_use:
            while _take(self._side, self._early) or _take(self._channel, self._last):
                pass
            self._channel.close()
            self._side.close()

    def _receive(self, received: bytearray, size: int, until: float) -> None:
        """Wait until ``size`` bytes of an answer are in ``received``."""
        receive = self._receive_last if received is self._last else self._receive_early
        while len(received) < size:
            receive(until - time.monotonic())

    def _receive_last(self, left: float) -> None:
        try:
            self._channel.settimeout(max(0.0, left))
            data = self._channel.recv(_READ_BYTES)
        except (TimeoutError, BlockingIOError):
            raise StillJudging from None
        except OSError:  # it left its question unread
            raise WorkerDied("ended before its job") from None
        if not data:
            raise WorkerDied("ended during its job")
        self._last += data

    def _receive_early(self, left: float) -> None:
        """Take what has come on the side, or sleep until the last answer comes, and at most until the next look."""
        if _take(self._side, self._early):
            return
        if left <= 0:
            raise StillJudging
        try:
            self._channel.settimeout(min(left, _LOOK_SECONDS))
            ended = not self._channel.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return
        except OSError:
            ended = True
        # The worker wrote whatever came on the side before that.
        if not _take(self._side, self._early):
            raise WorkerDied("ended during its job") if ended else WorkerFault("answered out of turn")


def _take(end: socket.socket, received: bytearray) -> bool:
    """Add to ``received`` what has come at ``end``; return whether that was anything."""
    try:
        data = end.recv(_READ_BYTES, socket.MSG_DONTWAIT)
    except OSError:
        return False
    received += data
    return bool(data)
