"""A worker that judges as the real one does, but for payloads that name a misdeed: those it answers with that."""

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
from evalward.workers import worker
from evalward.workers.frames import ANSWER, MAX_BODY, VERDICT, Question, answer
from evalward.workers.verdict_json import to_json

honest = worker.answered


def digest(question: Question) -> bytes:
    return sha256(question.job.payload).digest()


def allow(question: Question) -> bytes:
    """Return the JSON of a verdict that allows."""
    job = question.job
    return to_json(
        Verdict(None, job.target, job.shape, job.rules.profile, digest(question).hex(), len(job.payload))
    )


def framed(number: int = 0, *, other: bytes = b"", kind: int = VERDICT) -> Callable[[Question], bytes]:
    """Return an allow whose frame is about another question, or another payload."""

    def tell(question: Question) -> bytes:
        about = sha256(other).digest() if other else digest(question)
        return answer(question.number + number, about, kind, allow(question))

    return tell


def another_verdict(question: Question) -> bytes:
    about = judge(b"process.exit(0)", target=question.job.target, shape=None, rules=question.job.rules)
    return answer(question.number, digest(question), VERDICT, to_json(about))


def twice(question: Question) -> bytes:
    return 2 * framed()(question)


def endless(question: Question) -> bytes:
    return ANSWER.pack(question.number, digest(question), VERDICT, MAX_BODY + 1)


def bomb(question: Question) -> bytes:
    """Return a pickle that would kill whoever loads it."""

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os._exit, (13,))

    return answer(question.number, digest(question), VERDICT, pickle.dumps(Bomb()))


def die(number: int) -> Callable[[Question], bytes]:
    def tell(_: Question) -> bytes:
        os.kill(os.getpid(), number)
        raise AssertionError

    return tell


def leave(_: Question) -> bytes:
    os._exit(0)


def hang(_: Question) -> bytes:
    threading.Event().wait()
    raise AssertionError


def burn(_: Question) -> bytes:
    """Work on the payload without an end."""
    while True:
        pass


def dawdle(question: Question) -> bytes:
    """Judge, after more time than a hand-over may take."""
    begin = time.process_time()
    while time.process_time() - begin < worker.TOGETHER_SECONDS:
        pass
    return honest(question)


MISDEEDS: dict[str, Callable[[Question], bytes]] = {
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
    "sent_back": worker.sent_back,
}


def tell(question: Question) -> bytes:
    misdeed = MISDEEDS.get(question.job.payload.decode().partition(";")[0])
    return honest(question) if misdeed is None else misdeed(question)


if __name__ == "__main__":
    worker.answered = tell
    sys.exit(worker.run(*map(int, sys.argv[1:])))
