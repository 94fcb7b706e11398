"""The worker process: read a request, judge, respond, until the server process closes the sockets.

It has two sockets to the server process (``channel``) and no other connection. Only the server process ends it, by
closing the sockets, by SIGKILL or by its own end: a signal to the whole process group (Ctrl-C, a container's stop) must
not affect requests that still drain.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import time
import traceback
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from evalward.guard import GRAMMAR, RULESET
from evalward.guard.pipeline import judge
from evalward.guard.repair import judge_repaired
from evalward.guard.rules import Rules
from evalward.guard.target import Target
from evalward.judging.core_dumps import disable_core_dumps
from evalward.judging.executor import Job, shape_of
from evalward.judging.hardening import with_program
from evalward.judging.workers.frames import (
    FAILED,
    READY,
    SENT_BACK,
    VERDICT,
    JudgeRequestReader,
    response_frame,
)
from evalward.judging.workers.parent_death import end_with
from evalward.judging.workers.verdict_json import to_json
from evalward.judging.workers.wall_clock import effort_of, wall_clock_limit

if TYPE_CHECKING:
    from typing import BinaryIO

    from evalward.guard.syntax.program import ParsedProgram
    from evalward.judging.workers.frames import JudgeRequest

TOGETHER_SECONDS: Final = 0.05
"""The processor time of a dispatch after which its remaining jobs are returned to the queue."""
_READ_BYTES: Final = 64 * 1024
# The server process kills first. The alarm is for a server process that is dead or stopped during a long job.
_ALARM_FACTOR: Final = 2
_UNFIT: Final = 70  # EX_SOFTWARE of sysexits.h
_NEW_OBJECTS: Final = (
    20_000  # some megabytes: few payloads allocate as many, so that few wait for the collector
)
_DESCRIPTORS: Final = 32
_SELF_TEST: Final = ((b"document.title", True), (b"globalThis['ev' + 'al']('1')", False), (b"((", False))


def run(descriptor: int, aside: int, parent: int) -> int:
    """Serve the process ``parent`` at the other end of the socket ``descriptor``; return the exit code.

    That process sleeps on this socket only. Responses that must not wake it use the socket ``aside``.
    """
    if not end_with(parent):
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if not _is_fit():
        return _UNFIT
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    with socket.socket(fileno=descriptor) as front, socket.socket(fileno=aside) as quiet:
        greeting = json.dumps([RULESET, GRAMMAR]).encode()
        # From here on payloads are in memory, and a crash must not print them.
        _silence()
        _confine()
        try:
            front.sendall(response_frame(0, bytes(32), READY, greeting))
            reader = JudgeRequestReader(cast("BinaryIO", front.makefile("rb", buffering=_READ_BYTES)))
            begin = None
            while (request := reader.read()) is not None:
                begin = time.process_time() if begin is None else begin
                is_late = time.process_time() - begin > TOGETHER_SECONDS
                said = sent_back(request) if is_late else answered(request)
                (front if request.is_last else quiet).sendall(said)
                begin = None if request.is_last else begin
        except OSError:
            return 0  # the server process has ended
    return 0


def sent_back(request: JudgeRequest) -> bytes:
    """Return the response that ``request`` is not judged, since earlier jobs took too long."""
    return response_frame(request.number, sha256(request.job.payload).digest(), SENT_BACK, b"")


def answered(request: JudgeRequest) -> bytes:
    """Return the response to ``request``: a verdict, or where the guard failed."""
    job = request.job
    signal.setitimer(signal.ITIMER_REAL, _ALARM_FACTOR * effort_of(job) * wall_clock_limit(job.rules.limits))
    digest = sha256(job.payload).digest()
    try:
        readings: list[ParsedProgram] | None = [] if job.harden else None
        verdict = judge_repaired(
            job.payload,
            target=job.target,
            shape=shape_of(job),
            rules=job.rules,
            sink=job.sink,
            readings=readings,
        )
        if readings is not None:
            verdict = with_program(verdict, job.payload, job.rules, readings)
        kind, body = VERDICT, to_json(verdict)
    except Exception as failure:  # noqa: BLE001 - every failure denies
        # Type and location, but not the text, which may contain payload.
        frame = traceback.extract_tb(failure.__traceback__)[-1]
        place = [type(failure).__name__, Path(frame.filename).name, frame.lineno]
        kind, body = FAILED, json.dumps(place).encode()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return response_frame(request.number, digest, kind, body)


def _is_fit() -> bool:
    """Judge known payloads: a worker with a broken parser must not judge."""
    rules = Rules(allowed=True)
    jobs = [(Job(payload, Target.RENDERER, None, rules), allowed) for payload, allowed in _SELF_TEST]
    return all(
        judge(job.payload, target=job.target, shape=job.shape, rules=rules).allowed is allowed
        for job, allowed in jobs
    )


def _confine() -> None:
    """Give up resources that the guard never needs."""
    disable_core_dumps()
    for limit, most in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ):
        resource.setrlimit(limit, (most, most))


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
