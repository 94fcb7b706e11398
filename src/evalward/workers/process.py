"""One worker process, seen from the front: started by exec, asked one question at a time, killed when in doubt."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from evalward.guard import GRAMMAR, RULESET
from evalward.workers.frames import ANSWER, FAILED, MAX_BODY, READY, VERDICT, question
from evalward.workers.verdict_json import NotAVerdictError, from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.verdict import Verdict
    from evalward.server.executor import Job
    from evalward.workers.frames import Numbered

COMMAND: Final = (sys.executable, "-P", "-m", "evalward.workers")
START_SECONDS: Final = 30.0
_READ_BYTES: Final = 64 * 1024
# What the interpreter and the loader need; a worker has no use for the service's settings.
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE")


class WorkerFault(Exception):  # noqa: N818 - what the front knows of it
    """The worker died, or answered what cannot be: it must be killed, and its request is denied."""


class WorkerDied(WorkerFault):
    """The process ended before it had answered."""


class GuardFailure(Exception):  # noqa: N818 - named for what the worker says
    """The guard raised an exception in the worker, which goes on: ``place`` is its type, file and line."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class StillJudging(Exception):  # noqa: N818 - a state
    """The time is up and the worker has not answered; ``settle`` may wait on."""

    def __init__(self) -> None:
        super().__init__("is stuck")


class Worker:
    """A process that judges. Used by one thread at a time; ``kill`` and ``wait`` may come from any."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        self._number = 0
        self._expected: tuple[int, Job, bytes] | None = None
        self._received = bytearray()
        self._known: dict[int, int] = {}
        # Held while a thread talks to the process, so that the descriptor is not closed under it.
        self._in_use = threading.RLock()

    @classmethod
    def start(cls, command: Sequence[str] = COMMAND, *, seconds: float = START_SECONDS) -> Self:
        """Return a worker that is ready; raise WorkerFault when none could be had within ``seconds``.

        A process that was started from other files than this one, after an upgrade in place, is refused:
        its verdicts would bear the wrong ruleset.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            end = theirs.fileno()
            try:
                process = subprocess.Popen(  # noqa: S603 - this interpreter
                    [*command, str(end)],
                    pass_fds=[end],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                )
            except OSError as failure:
                ours.close()
                raise WorkerFault(f"cannot be started: {failure.strerror}") from None
        worker = cls(process, ours)
        try:
            worker._greet(seconds)
        except WorkerFault:
            worker.kill()
            worker.wait()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, job: Job, known: Numbered, *, seconds: float) -> None:
        """Hand over ``job``, whose rules are ``known``, within ``seconds``; raise WorkerFault when it is not taken."""
        with self._in_use:
            self._number += 1
            with_rules = self._known.get(known.slot) != known.edition
            self._known[known.slot] = known.edition
            self._expected = (self._number, job, sha256(job.payload).digest())
            try:
                self._channel.settimeout(seconds)
                self._channel.sendall(question(self._number, job, known, with_rules=with_rules))
            except TimeoutError:
                # A question that was sent in part cannot be taken back.
                raise WorkerFault("does not take a question") from None
            except OSError:
                raise WorkerDied("ended before its job") from None

    def settle(self, until: float) -> Verdict:
        """Return the verdict that is due; ``until`` is a time of ``time.monotonic``.

        Raises StillJudging at that time, GuardFailure when the guard raised, and WorkerFault otherwise.
        """
        with self._in_use:
            if self._expected is None:
                raise WorkerFault("was asked nothing")
            number, job, digest = self._expected
            kind, body = self._answer(number, digest, until)
            self._expected = None
        if kind == VERDICT:
            try:
                return from_json(body, job, digest.hex())
            except NotAVerdictError as fault:
                raise WorkerFault(str(fault)) from None
        if kind == FAILED:
            raise GuardFailure(_place(body))
        raise WorkerFault("answered with something unknown")

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._hang_up(socket.SHUT_RDWR)

    def dismiss(self) -> None:
        """Have the process end by itself, once it has no job."""
        self._hang_up(socket.SHUT_WR)

    def wait(self) -> str:
        """Wait until the process has ended, and let go of it; return how it ended."""
        code = self._process.wait()
        # Whoever still waits for its answer wakes up.
        self._hang_up(socket.SHUT_RDWR)
        with self._in_use:
            self._channel.close()
        if code < 0:
            return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}"

    def _hang_up(self, how: int) -> None:
        with suppress(OSError):
            self._channel.shutdown(how)

    def _greet(self, seconds: float) -> None:
        try:
            kind, body = self._answer(0, bytes(32), time.monotonic() + seconds)
        except StillJudging:
            raise WorkerFault(f"was not ready within {seconds:.0f} s") from None
        except WorkerDied:
            raise WorkerFault("ended before it was ready") from None
        if kind != READY:
            raise WorkerFault("did not say that it is ready")
        if body != json.dumps([RULESET, GRAMMAR]).encode():
            raise WorkerFault("has another ruleset: the files have changed since the service started")

    def _answer(self, number: int, digest: bytes, until: float) -> tuple[int, bytes]:
        """Return kind and body of the next answer, which must be about this number and this payload."""
        self._receive(ANSWER.size, until)
        its_number, its_digest, kind, size = ANSWER.unpack_from(self._received)
        if its_number != number or its_digest != digest or size > MAX_BODY:
            raise WorkerFault("answered another question")
        whole = ANSWER.size + size
        self._receive(whole, until)
        if len(self._received) > whole:
            raise WorkerFault("answered more than it was asked")
        body = bytes(self._received[ANSWER.size :])
        self._received.clear()
        return kind, body

    def _receive(self, size: int, until: float) -> None:
        """Wait until ``size`` bytes of the answer are here."""
        while len(self._received) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise StillJudging
            try:
                self._channel.settimeout(left)
                data = self._channel.recv(_READ_BYTES)
            except TimeoutError:
                raise StillJudging from None
            except OSError:  # it left its question unread
                raise WorkerDied("ended before its job") from None
            if not data:
                raise WorkerDied("ended during its job")
            self._received += data


def _place(body: bytes) -> str:
    """Return where the guard failed, as far as the worker says so in a form that is no payload's."""
    try:
        kind, file, line = json.loads(body)
    except (ValueError, TypeError):
        raise WorkerFault("answered with something unknown") from None
    if not (isinstance(kind, str) and kind.isidentifier() and isinstance(line, int)):
        raise WorkerFault("answered with something unknown")
    stem = str(file).removesuffix(".py")
    if not (stem.isidentifier() and len(stem) + len(kind) < 80):  # noqa: PLR2004
        raise WorkerFault("answered with something unknown")
    return f"{kind} at {file}:{line}"
