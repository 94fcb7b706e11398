"""What a worker process does: read a question, judge, answer, until the front has gone.

It holds two sockets to the front (``exchange``) and no other way out. Only the front ends it, by closing the sockets,
by SIGKILL or by its own end: a signal to the whole process group (Ctrl-C, a container's stop) must not take the guard
from requests that still drain.
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

from evalward.guard import GRAMMAR, RULESET, judge
from evalward.guard.rules import Rules
from evalward.guard.target import Target
from evalward.judging.core_dumps import disable_core_dumps
from evalward.judging.executor import Job, shape_of
from evalward.judging.workers.frames import FAILED, READY, SENT_BACK, VERDICT, JudgeRequestReader, answer
from evalward.judging.workers.parent_death import end_with
from evalward.judging.workers.verdict_json import to_json
from evalward.judging.workers.wall_clock import wall_clock_limit

if TYPE_CHECKING:
    from typing import BinaryIO

    from evalward.judging.workers.frames import JudgeRequest

TOGETHER_SECONDS: Final = 0.05
"""The processor time after which what is left of a hand-over is sent back, to wait in the queue as others do."""
_READ_BYTES: Final = 64 * 1024
# The front kills first. The alarm is for a worker whose front has died, or stopped, during a long job.
_ALARM_FACTOR: Final = 2
_UNFIT: Final = 70  # EX_SOFTWARE of sysexits.h
_NEW_OBJECTS: Final = (
    20_000  # some megabytes: few payloads make as many, and none waits for the collector then
)
_DESCRIPTORS: Final = 32
_SELF_TEST: Final = ((b"document.title", True), (b"globalThis['ev' + 'al']('1')", False), (b"((", False))


def run(descriptor: int, aside: int, parent: int) -> int:
    """Serve the front, process ``parent``, at the other end of the socket ``descriptor``; return the exit code.

    It sleeps on that one alone. What must not wake it goes to the socket ``aside``.
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
        # From here on payloads are in memory, and nothing that ends this process may print them.
        _silence()
        _confine()
        try:
            front.sendall(answer(0, bytes(32), READY, greeting))
            reader = JudgeRequestReader(cast("BinaryIO", front.makefile("rb", buffering=_READ_BYTES)))
            begin = None
            while (question := reader.read()) is not None:
                begin = time.process_time() if begin is None else begin
                is_late = time.process_time() - begin > TOGETHER_SECONDS
                said = sent_back(question) if is_late else answered(question)
                (front if question.is_last else quiet).sendall(said)
                begin = None if question.is_last else begin
        except OSError:
            return 0  # the front has gone
    return 0


def sent_back(question: JudgeRequest) -> bytes:
    """Return the answer to ``question`` that it is not judged, since those before it took too long."""
    return answer(question.number, sha256(question.job.payload).digest(), SENT_BACK, b"")


def answered(question: JudgeRequest) -> bytes:
    """Return the answer to ``question``: a verdict, or where the guard failed."""
    job = question.job
    signal.setitimer(signal.ITIMER_REAL, _ALARM_FACTOR * wall_clock_limit(job.rules.limits))
    digest = sha256(job.payload).digest()
    try:
        verdict = judge(job.payload, target=job.target, shape=shape_of(job), rules=job.rules, sink=job.sink)
        kind, body = VERDICT, to_json(verdict)
    except Exception as failure:  # noqa: BLE001 - whatever it is, the front denies
        # Where, and of which type, but not its text: an exception's text may hold payload.
        frame = traceback.extract_tb(failure.__traceback__)[-1]
        place = [type(failure).__name__, Path(frame.filename).name, frame.lineno]
        kind, body = FAILED, json.dumps(place).encode()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return answer(question.number, digest, kind, body)


def _is_fit() -> bool:
    """Judge known cases: a parser that does not work here must not answer anybody."""
    rules = Rules(allowed=True)
    jobs = [(Job(payload, Target.RENDERER, None, rules), allowed) for payload, allowed in _SELF_TEST]
    return all(
        judge(job.payload, target=job.target, shape=job.shape, rules=rules).allowed is allowed
        for job, allowed in jobs
    )


def _confine() -> None:
    """Give up what the guard never needs."""
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
