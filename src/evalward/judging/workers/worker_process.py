"""One worker process, seen from the server process: started by exec, sent jobs, killed when in doubt."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from evalward.guard import GRAMMAR, RULESET
from evalward.judging.workers.channel import Channel, StillJudging, WorkerDied, WorkerFault
from evalward.judging.workers.frames import FAILED, READY, SENT_BACK, VERDICT
from evalward.judging.workers.verdict_json import NotAVerdictError, from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Job
    from evalward.judging.workers.frames import SlottedRules

COMMAND: Final = (sys.executable, "-P", "-m", "evalward.judging.workers")
START_SECONDS: Final = 30.0
_END_SECONDS: Final = 0.2  # from the end of a process's sockets to the end of the process
_FROM_OUTSIDE: Final = (-signal.SIGKILL, -signal.SIGTERM)
_OF_A_PROCESS: Final = 2  # CPUCLOCK_SCHED of Linux: what its threads had together
# What the interpreter and the loader need, and none of the service's settings.
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE")


class GuardFailure(Exception):  # noqa: N818 - named for the response
    """The guard raised an exception in the worker, which continues: ``place`` is its type, file and line."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class Worker:
    """A worker process. Used by one thread at a time; ``kill`` and ``wait`` may come from any thread."""

    def __init__(self, process: subprocess.Popen[bytes], exchange: Channel) -> None:
        self._process = process
        self._exchange = exchange

    @classmethod
    def start(cls, command: Sequence[str] = COMMAND, *, seconds: float = START_SECONDS) -> Self:
        """Return a ready worker; raise WorkerFault when none is ready within ``seconds``.

        Call it from a thread that lives as long as the worker: the kernel ends the worker with that thread
        (``parent_death``).

        A process that was started from other files than this one, after an upgrade in place, is rejected: its verdicts
        would name the wrong ruleset.
        """
        try:
            process, exchange = _launched(command)
        except OSError as failure:
            # No descriptor, no process, no memory: usually temporary.
            raise WorkerFault(f"cannot be started: {failure.strerror}") from None
        worker = cls(process, exchange)
        try:
            worker._greet(seconds)
        except WorkerFault:
            worker.kill()
            worker.wait()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def processor_seconds(self) -> float | None:
        """Return the processor time of the process, None when it has ended or the system does not provide it."""
        try:
            # clock_getcpuclockid(3) of this process: its number, negated, above the three bits of a kind of clock.
            return time.clock_gettime((~self.pid << 3) | _OF_A_PROCESS)
        except (AttributeError, OSError):
            return None

    def ask(self, jobs: Sequence[tuple[Job, SlottedRules]], *, seconds: float) -> None:
        """Send ``jobs`` with their rules within ``seconds``; raise WorkerFault when they are not accepted."""
        self._exchange.ask(jobs, seconds=seconds)

    def settle(self, until: float) -> Verdict | None:
        """Return the next verdict, None for a returned job; ``until`` is a time of ``time.monotonic``.

        Raises StillJudging at that time, GuardFailure when the guard raised, and WorkerFault otherwise.
        """
        job, digest, kind, body = self._exchange.answer(until)
        if job is not None and kind == VERDICT:
            try:
                return from_json(body, job, digest.hex())
            except NotAVerdictError as fault:
                raise WorkerFault(str(fault)) from None
        if kind == SENT_BACK:
            return None
        if kind == FAILED:
            raise GuardFailure(_place(body))
        raise WorkerFault("sent an invalid response")

    def was_killed(self) -> bool:
        """Whether a process with closed sockets was killed from outside, as opposed to a crash.

        SIGKILL and SIGTERM come from outside (an operator, the kernel out of memory). A crash has another signal or an
        exit code.
        """
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return code in _FROM_OUTSIDE

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._exchange.shut_down(socket.SHUT_RDWR)

    def dismiss(self) -> None:
        """Let the process end by itself when it has no job."""
        self._exchange.shut_down(socket.SHUT_WR)

    def wait(self) -> str:
        """Wait until the process has ended, and release it; return how it ended."""
        code = self._process.wait()
        # This wakes a thread that still waits for a response.
        self._exchange.shut_down(socket.SHUT_RDWR)
        self._exchange.close()
        if code < 0:
            return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}"

    def _greet(self, seconds: float) -> None:
        try:
            _, _, kind, body = self._exchange.answer(time.monotonic() + seconds)
        except StillJudging:
            raise WorkerFault(f"was not ready within {seconds:.0f} s") from None
        except WorkerDied:
            raise WorkerFault("ended before it was ready") from None
        if kind != READY:
            raise WorkerFault("did not report that it is ready")
        if body != json.dumps([RULESET, GRAMMAR]).encode():
            raise WorkerFault("has another ruleset: the files have changed since the service started")


def _launched(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], Channel]:
    """Return a process and this end of its sockets; raise OSError, with nothing left open."""
    with ExitStack() as theirs, ExitStack() as undo:
        ours: list[socket.socket] = []
        ends: list[int] = []
        for _ in range(2):
            near, far = socket.socketpair()
            theirs.enter_context(far)
            ours.append(undo.enter_context(near))
            ends.append(far.fileno())
        process = subprocess.Popen(  # noqa: S603 - this interpreter
            [*command, *map(str, ends), str(os.getpid())],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        undo.pop_all()
        return process, Channel(*ours)


def _place(body: bytes) -> str:
    """Return where the guard failed; raise WorkerFault unless the text has the form of a location."""
    try:
        kind, file, line = json.loads(body)
    except (ValueError, TypeError):
        raise WorkerFault("sent an invalid response") from None
    if not (isinstance(kind, str) and kind.isidentifier() and isinstance(line, int)):
        raise WorkerFault("sent an invalid response")
    stem = str(file).removesuffix(".py")
    if not (stem.isidentifier() and len(stem) + len(kind) < 80):  # noqa: PLR2004
        raise WorkerFault("sent an invalid response")
    return f"{kind} at {file}:{line}"
