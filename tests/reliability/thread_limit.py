"""A thread limit, as set by ``TasksMax`` or ``pids_limit``, and callers that need more threads than it allows.

Every kind of call is begun and not ended, more often than the server has threads, every health watch is taken, and
forty callers send calls as fast as they can. Then all of them close. A server that started must answer afterwards; one
that cannot start its threads must log that and exit before it accepts a call.

    python tests/reliability/thread_limit.py              512 threads (the files under deploy), one JSON object
    python tests/reliability/thread_limit.py --threads 256 --seconds 5
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from raw_http2 import (
    DATA,
    END_HEADERS,
    HEADERS,
    OPENING,
    VALIDATE,
    asking,
    connected,
    drained,
    failure_site,
    frame,
    header_block,
)
from script import parser, report
from sidecar import EVALWARD, Sidecar, children, outcome, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    import socket

DEPLOYED = 512
HALF_SENT = {
    VALIDATE: 150,
    "evalward.v1.GuardService/ValidateStream": 16,
    "evalward.v1.GuardService/Evaluate": 30,
    "grpc.health.v1.Health/Check": 80,
    "grpc.health.v1.Health/Watch": 80,
}
WATCHES = 32
A_CONNECTION = 40
CALLERS = 40
ASKED_AFTERWARDS = 20
FLAGS = ("--allow-eval=renderer,sandbox", "--admin-listen", "127.0.0.1:0")
# A user of its own, since the limit counts the threads of a user, and since it does not hold for root.
_FIRST_USER = 60_000
_USERS = 4_000
_LESS_THAN_IT_SAYS = b"\0" + (10).to_bytes(4, "big") + b"123456789"
_COUNT = """
import threading
end = threading.Event()
started = 0
try:
    while started < 200:
        threading.Thread(target=end.wait).start()
        started += 1
except RuntimeError:
    pass
end.set()
print(started)
"""


@dataclass
class Figures:
    """What a run showed. ``ended`` is the exit code of a server that did not start, ``said`` whether it told why."""

    threads: int = 0
    ended: int | None = None
    said: bool = False
    threads_at_start: int = 0
    threads_at_most: int = 0
    rss_mb: float = 0.0
    during: dict[str, int] = field(default_factory=dict)
    afterwards: dict[str, int] = field(default_factory=dict)
    live: int = 0
    ready: int = 0
    cannot_start_thread: bool = False

    @property
    def passed(self) -> bool:
        """Whether calls are answered, or the process has ended and said why."""
        if self.ended is not None:
            return self.ended > 0 and self.said
        answered = self.afterwards == {"allowed": ASKED_AFTERWARDS} and (self.live, self.ready) == (200, 200)
        return answered and not self.cannot_start_thread


def limited(threads: int, folder: Path) -> list[str] | None:
    """Return the command under which a program has so many ``threads``, in ``folder``; None: there is none here."""
    if os.geteuid() == 0:
        user = str(_FIRST_USER + os.getpid() % _USERS)
        # It may read what this interpreter is made of, wherever that is.
        read = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
        os.chown(folder, int(user), int(user))
        under = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *read]
    else:
        under = ["unshare", "--user"]  # a new namespace counts its own threads
    try:
        told = subprocess.run(
            [*under, "prlimit", "--nproc=50", sys.executable, "-c", _COUNT],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    except FileNotFoundError:
        return None
    if not told.strip().isdecimal() or int(told) >= 50:
        return None
    return [*under, "prlimit", f"--nproc={threads}"]


def run(folder: Path, under: list[str], *, threads: int, seconds: float) -> Figures:
    """Start a server that may have so many ``threads``, and attack it for ``seconds``."""
    figures = Figures(threads=threads)
    own = {"XDG_STATE_HOME": str(folder), "EVALWARD_CACHE_DIR": str(folder), "HOME": str(folder)}
    refused = _refusal(folder, under, own)
    if refused is not None:
        figures.ended, told = refused
        figures.said = "TasksMax" in told
        return figures
    with sidecar(folder, *FLAGS, env=own, under=under) as served, ExitStack() as stack:
        figures.threads_at_start = figures.threads_at_most = _threads(served)
        attackers = _half_sent(served.address, stack)
        figures.during = _hurried(served, figures, seconds)
        for each in attackers:
            each.close()
        with grpc.insecure_channel(served.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = GuardServiceStub(channel)
            answers = [outcome(stub, _question(number), timeout=10) for number in range(ASKED_AFTERWARDS)]
        figures.afterwards = dict(Counter(answers))
        figures.live, figures.ready = _status(served, "livez"), _status(served, "readyz")
        figures.rss_mb = served.rss_mb()["server"]
        figures.cannot_start_thread = "can't start new thread" in served.stderr.read_text()
    return figures


def _refusal(folder: Path, under: list[str], own: dict[str, str]) -> tuple[int, str] | None:
    """Start a server; return the exit code and the words of one that does not become ready, None for one that does."""
    with subprocess.Popen(
        [*under, EVALWARD, "serve", "--listen=127.0.0.1:0", "--audit-log", folder / "first.jsonl", *FLAGS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **own},
    ) as process:
        assert process.stdout is not None
        is_ready = bool(process.stdout.readline())
        process.terminate()
        _, told = process.communicate(timeout=60)
        return None if is_ready else (process.returncode, told)


def _half_sent(address: str, stack: ExitStack) -> list[socket.socket]:
    """Begin calls of every kind that lack their last byte, and health watches that are whole."""
    sockets: list[socket.socket] = []
    for method, count in {**HALF_SENT, "watches": WATCHES}.items():
        for number in range(count):
            if number % A_CONNECTION == 0:
                sockets.append(stack.enter_context(connected(failure_site(address))))
                sockets[-1].sendall(OPENING)
                drained(sockets[-1])
            stream = 1 + 2 * (number % A_CONNECTION)
            if method == "watches":
                sockets[-1].sendall(asking(b"", "grpc.health.v1.Health/Watch", stream=stream))
            else:
                begun = frame(HEADERS, header_block(method), flags=END_HEADERS, stream=stream)
                sockets[-1].sendall(begun + frame(DATA, _LESS_THAN_IT_SAYS, stream=stream))
    return sockets


def _hurried(served: Sidecar, figures: Figures, seconds: float) -> dict[str, int]:
    """Let many callers send calls at once; return the number of each answer."""
    counted: Counter[str] = Counter()
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def ask(first: int) -> None:
        with grpc.insecure_channel(served.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub, number = GuardServiceStub(channel), first
            while time.monotonic() < end:
                told = outcome(stub, _question(number), timeout=5)
                number += CALLERS
                with lock:
                    counted[told] += 1

    callers = [threading.Thread(target=ask, args=(1_000 + number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        figures.threads_at_most = max(figures.threads_at_most, _threads(served))
        callers[0].join(0.1)
        callers = [caller for caller in callers if caller.is_alive()]
    return dict(counted)


def _question(number: int) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=b"document.title + %d" % number, target=pb.TARGET_RENDERER)


def _threads(served: Sidecar) -> int:
    """Return how many threads the server and its workers have (proc(5))."""
    processes = [served.process.pid, *children(served.process.pid)]
    found = 0
    for pid in processes:
        with suppress(FileNotFoundError, ProcessLookupError):  # a worker that has ended since
            found += len(list(Path(f"/proc/{pid}/task").iterdir()))
    return found


def _status(served: Sidecar, page: str) -> int:
    try:
        with urllib.request.urlopen(f"http://{served.admin}/{page}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--threads", type=int, default=DEPLOYED)
    options.add_argument("--seconds", type=float, default=10.0)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        under = limited(chosen.threads, folder)
        if under is None:
            sys.exit("no limit on threads can be set here: run it as root, or allow user namespaces")
        figures = run(folder, under, threads=chosen.threads, seconds=chosen.seconds)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
