"""A worker like the real one, except for payloads that name a misbehaviour: for those it misbehaves."""

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from evalward.guard import judge
from evalward.guard.verdict import Verdict
from evalward.judging.workers import worker_loop
from evalward.judging.workers.frames import MAX_BODY, RESPONSE_HEAD, VERDICT, JudgeRequest, response_frame
from evalward.judging.workers.verdict_json import to_json

honest = worker_loop.answered


def digest(request: JudgeRequest) -> bytes:
    return sha256(request.job.payload).digest()


def allow(request: JudgeRequest) -> bytes:
    """Return the JSON of a verdict that allows."""
    job = request.job
    return to_json(
        Verdict(None, job.target, job.shape, job.rules.profile, digest(request).hex(), len(job.payload))
    )


def framed(number: int = 0, *, other: bytes = b"", kind: int = VERDICT) -> Callable[[JudgeRequest], bytes]:
    """Return an allow whose frame is about another request, or another payload."""

    def tell(request: JudgeRequest) -> bytes:
        about = sha256(other).digest() if other else digest(request)
        return response_frame(request.number + number, about, kind, allow(request))

    return tell


def another_verdict(request: JudgeRequest) -> bytes:
    about = judge(b"process.exit(0)", target=request.job.target, shape=None, rules=request.job.rules)
    return response_frame(request.number, digest(request), VERDICT, to_json(about))


def twice(request: JudgeRequest) -> bytes:
    return 2 * framed()(request)


def endless(request: JudgeRequest) -> bytes:
    return RESPONSE_HEAD.pack(request.number, digest(request), VERDICT, MAX_BODY + 1)


def bomb(request: JudgeRequest) -> bytes:
    """Return a pickle that kills the process that loads it."""

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os._exit, (13,))

    return response_frame(request.number, digest(request), VERDICT, pickle.dumps(Bomb()))


def die(number: int) -> Callable[[JudgeRequest], bytes]:
    def tell(_: JudgeRequest) -> bytes:
        os.kill(os.getpid(), number)
        raise AssertionError

    return tell


def leave(_: JudgeRequest) -> bytes:
    os._exit(0)


def hang(_: JudgeRequest) -> bytes:
    threading.Event().wait()
    raise AssertionError


def burn(_: JudgeRequest) -> bytes:
    """Work on the payload without an end."""
    while True:
        pass


def dawdle(request: JudgeRequest) -> bytes:
    """Judge, after more time than a hand-over may take."""
    begin = time.process_time()
    while time.process_time() - begin < worker_loop.TOGETHER_SECONDS:
        pass
    return honest(request)


MISDEEDS: dict[str, Callable[[JudgeRequest], bytes]] = {
    "garbage": lambda _: os.urandom(200),
    "text": lambda _: b"HTTP/1.1 200 OK\r\n\r\n" * 10,
    "next_number": framed(1),
    "other_payload": framed(other=b"1 + 1"),
    "unknown_kind": framed(kind=9),
    "failed_allow": framed(kind=3),
    "twice": twice,
    "endless": endless,
    "pickle": bomb,
    "another_verdict": another_verdict,
    "segv": die(signal.SIGSEGV),
    "abort": die(signal.SIGABRT),
    "kill": die(signal.SIGKILL),
    "exit": leave,
    "hang": hang,
    "burn": burn,
    "dawdle": dawdle,
    "sent_back": worker_loop.sent_back,
}


def tell(request: JudgeRequest) -> bytes:
    misdeed = MISDEEDS.get(request.job.payload.decode().partition(";")[0])
    return honest(request) if misdeed is None else misdeed(request)


if __name__ == "__main__":
    worker_loop.answered = tell
    sys.exit(worker_loop.run(*map(int, sys.argv[1:])))
