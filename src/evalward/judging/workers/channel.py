"""The server process's end of the sockets to a worker: batches of requests, one response to each.

Writing to a socket on which another process sleeps wakes that process, which costs more than the rest of a response. So
there are two sockets. The server process sleeps on the first, which carries only the response to the last request of a
batch; the other responses use the second, on which no thread sleeps, and have all arrived when the last one does. The
server process also polls the second socket every few milliseconds, to know which job the worker has and for how long.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.judging.workers.frames import MAX_BODY, RESPONSE_HEAD, SUBJECT, request_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.judging.executor import Job
    from evalward.judging.workers.frames import SlottedRules

_READ_BYTES: Final = 64 * 1024
_LOOK_SECONDS: Final = 0.02
_KERNEL_SECONDS: Final = 0.1
_TIMEVAL: Final = Struct("@ll")  # struct timeval, socket(7)


class WorkerFault(Exception):  # noqa: N818 - a state of the worker
    """The worker died or sent an invalid response: it must be killed, and its request is denied."""


class WorkerDied(WorkerFault):
    """The process ended before it responded."""


class NotTaken(WorkerFault):
    """The process did not accept its requests: none of them was judged."""


class StillJudging(Exception):  # noqa: N818 - a state
    """The time is up and the worker has not responded; the response may still arrive."""

    def __init__(self) -> None:
        super().__init__("is stuck")


class WorkerResponse(NamedTuple):
    """A worker's response: ``job`` (None: the greeting), the SHA-256 of its payload, and the outcome."""

    job: Job | None
    digest: bytes
    kind: int
    body: bytes


class _Due(NamedTuple):
    """A request without a response; ``subject`` is the start of its response."""

    job: Job | None
    digest: bytes
    subject: bytes


class Channel:
    """Requests and responses. Used by one thread at a time; ``shut_down`` may come from any thread."""

    def __init__(self, channel: socket.socket, early_socket: socket.socket) -> None:
        self._channel = channel
        self._early_socket = early_socket
        channel.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEVAL.pack(0, int(_KERNEL_SECONDS * 1e6))
        )
        self._number = 0
        self._due = deque([_Due(None, bytes(32), SUBJECT.pack(0, bytes(32)))])
        self._last = bytearray()
        self._early = bytearray()
        self._known: dict[int, int] = {}
        # Held during communication, so that the descriptors are not closed meanwhile.
        self._in_use = threading.RLock()

    def ask(self, jobs: Sequence[tuple[Job, SlottedRules]], *, seconds: float) -> None:
        """Send ``jobs`` with their rules within ``seconds``; raise WorkerFault when they are not accepted."""
        with self._in_use:
            frames: list[bytes] = []
            for job, known in jobs:
                self._number += 1
                digest = sha256(job.payload).digest()
                self._due.append(_Due(job, digest, SUBJECT.pack(self._number, digest)))
                with_rules = self._known.get(known.slot) != known.edition
                self._known[known.slot] = known.edition
                is_last = len(frames) + 1 == len(jobs)
                frames.append(request_frame(self._number, job, known, with_rules=with_rules, is_last=is_last))
            try:
                self._send(b"".join(frames), seconds)
            except TimeoutError:
                # A partially sent request cannot be withdrawn.
                raise NotTaken("does not accept a request") from None
            except OSError:
                raise NotTaken("ended before its job") from None

    def answer(self, until: float) -> WorkerResponse:
        """Return the response to the first open request; ``until`` is a time of ``time.monotonic``.

        Raises StillJudging at that time, and WorkerFault for an invalid response.
        """
        with self._in_use:
            if not self._due:
                raise WorkerFault("has no open request")
            due = self._due[0]
            received = self._last if len(self._due) == 1 else self._early
            if len(received) < RESPONSE_HEAD.size:
                self._receive(received, RESPONSE_HEAD.size, until)
            _, _, kind, size = RESPONSE_HEAD.unpack_from(received)
            if not received.startswith(due.subject) or size > MAX_BODY:
                raise WorkerFault("responded to another request")
            whole = RESPONSE_HEAD.size + size
            if len(received) < whole:
                self._receive(received, whole, until)
            body = bytes(received[RESPONSE_HEAD.size : whole])
            del received[:whole]
            self._due.popleft()
            # Further data must belong to the next response, or this response is too long.
            following = self._due[0].subject if len(self._due) > 1 else b""
            if received and not following.startswith(received[: SUBJECT.size]):
                raise WorkerFault("sent more responses than requests")
            return WorkerResponse(due.job, due.digest, kind, body)

    def shut_down(self, how: int) -> None:
        """Shut down the socket on which both sides sleep."""
        with suppress(OSError):
            self._channel.shutdown(how)

    def close(self) -> None:
        """Close the sockets when no thread uses them; received data can still be read."""
        with self._in_use:
            while _take(self._early_socket, self._early) or _take(self._channel, self._last):
                pass
            self._channel.close()
            self._early_socket.close()

    def _send(self, data: bytes, seconds: float) -> None:
        """Send ``data`` within ``seconds``: with one call of the system, unless it is more than the socket holds."""
        self._block()
        try:
            sent = self._channel.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._channel.settimeout(seconds)
            self._channel.sendall(memoryview(data)[sent:])

    def _block(self) -> None:
        """Wait in the kernel for at most ``_KERNEL_SECONDS``: a timeout of Python's takes two calls more for each."""
        if self._channel.gettimeout() is not None:
            self._channel.settimeout(None)

    def _receive(self, received: bytearray, size: int, until: float) -> None:
        """Wait until ``size`` bytes of a response are in ``received``."""
        receive = self._receive_last if received is self._last else self._receive_early
        while len(received) < size:
            receive(until - time.monotonic())

    def _receive_last(self, left: float) -> None:
        try:
            if left > _KERNEL_SECONDS:
                self._block()
            else:
                self._channel.settimeout(max(0.0, left))
            data = self._channel.recv(_READ_BYTES)
        except (TimeoutError, BlockingIOError):
            if left > _KERNEL_SECONDS:
                return
            raise StillJudging from None
        except OSError:  # the request is unread
            raise WorkerDied("ended before its job") from None
        if not data:
            raise WorkerDied("ended during its job")
        self._last += data

    def _receive_early(self, left: float) -> None:
        """Read from the second socket, or sleep until the last response or the next poll."""
        if _take(self._early_socket, self._early):
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
        # The worker writes to the second socket before the first.
        if not _take(self._early_socket, self._early):
            raise WorkerDied("ended during its job") if ended else WorkerFault("responded out of order")


def _take(end: socket.socket, received: bytearray) -> bool:
    """Append the available data of ``end`` to ``received``; return whether there was any."""
    try:
        data = end.recv(_READ_BYTES, socket.MSG_DONTWAIT)
    except OSError:
        return False
    received += data
    return bool(data)
