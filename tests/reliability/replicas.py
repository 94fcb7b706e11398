"""Two replicas behind a balancer, one of them killed repeatedly under load: no client gets a wrong verdict.

The balancer is HAProxy, or the client's own ``round_robin`` over both addresses. Every client asks about payloads
whose verdict is known, allowed and blocked in turn. A call may fail while a replica dies; what is answered must be
right, and after each kill verdicts must go on.

    python tests/reliability/replicas.py                          10 kills with each balancer
    python tests/reliability/replicas.py --kills 2 --balancer round_robin
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from script import parser, report
from sidecar import Sidecar, outcome, percentile, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 4
ANSWERS_BETWEEN = 200
TIMEOUT = 10.0
RECORD_BYTES = 500
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
BALANCERS = ("round_robin", *(["haproxy"] if HAPROXY else []))
EXPECTED = {
    b"document.title + %d": "allowed",
    b"process['ex' + 'it'](%d)": "EVAL_BLOCKED_CONSTRUCT",
    b"items.map((each) => each.name + %d)": "allowed",
    b"[]['constr' + 'uctor']['constr' + 'uctor']('return %d')()": "EVAL_BLOCKED_CONSTRUCT",
}
# What a call may end with while a replica dies or drains; nothing of it lets a payload run.
FAILURES = frozenset(
    {"UNAVAILABLE", "SERVICE_UNREACHABLE", "SHUTTING_DOWN", "CANCELLED", "OVERLOADED", "DEADLINE_EXCEEDED"}
)
CONFIG = """
global
    maxconn 200
defaults
    mode http
    timeout connect 1s
    timeout client 1m
    timeout server 1m
    retries 3
    option redispatch
frontend grpc
    bind {front} proto h2
    default_backend guards
backend guards
    balance roundrobin
    server one {one} proto h2 check inter 100 fall 1 rise 1
    server two {two} proto h2 check inter 100 fall 1 rise 1
"""


@dataclass
class Figures:
    """What a run showed; times in milliseconds."""

    balancer: str = ""
    kills: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    unexpected: dict[str, int] = field(default_factory=dict)
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    longest_gap_ms: float = 0.0
    load_average: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether verdicts went on after every kill, and all of them were right."""
        return self.right >= self.kills * ANSWERS_BETWEEN and not self.wrong


class Load:
    """Clients that send calls until they are stopped."""

    def __init__(self, target: str) -> None:
        self.times: list[float] = []
        self.answered: list[float] = []
        self.wrong: list[str] = []
        self.failed: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._done = threading.Event()
        policy: dict[str, Any] = {"loadBalancingConfig": [{"round_robin": {}}]}
        self._options = [
            ("grpc.service_config", json.dumps(policy)),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 200),
        ]
        self._threads = [threading.Thread(target=self._ask, args=(target, n)) for n in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def wait_for_more(self, answers: int) -> None:
        """Wait until so many more verdicts have come; RuntimeError if they do not come for a minute."""
        enough, end = len(self.answered) + answers, time.monotonic() + 60
        while len(self.answered) < enough:
            if time.monotonic() > end:
                raise RuntimeError(f"no more verdicts: {dict(self.failed)}")
            time.sleep(0.01)

    def wait_for_growth(self, log: Path, size: int) -> None:
        """Wait until a replica has recorded ``ANSWERS_BETWEEN`` more verdicts or so."""
        end = time.monotonic() + 60
        while log.stat().st_size < size + ANSWERS_BETWEEN * RECORD_BYTES and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        """Have every client finish."""
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, target: str, client: int) -> None:
        turn = client
        with grpc.insecure_channel(target, self._options) as channel:
            stub = GuardServiceStub(channel)
            while not self._done.is_set():
                for text, expected in EXPECTED.items():
                    turn += CLIENTS
                    request = pb.ValidateRequest(code=text % turn, target=pb.TARGET_RENDERER)
                    begin = time.perf_counter()
                    answer = outcome(stub, request, timeout=TIMEOUT)
                    self._count(answer, expected, begin)

    def _count(self, answer: str, expected: str, begin: float) -> None:
        now = time.perf_counter()
        with self._lock:
            if answer == expected:
                self.answered.append(now)
                self.times.append((now - begin) * 1000)
            elif answer in {"allowed", "MISBOUND"} or answer.startswith("EVAL_"):
                self.wrong.append(f"{expected}: {answer}")
            else:
                self.failed[answer] += 1


def run(folder: Path, *, kills: int, balancer: str) -> Figures:
    """Kill one replica and then the other, ``kills`` times in all, each started again before the next dies."""
    figures = Figures(balancer=balancer, kills=kills)
    with ExitStack() as stack:
        ports = free_ports(3)
        replicas: dict[int, ExitStack] = {}
        running: dict[int, Sidecar] = {}

        def begin(number: int) -> None:
            replicas[number] = stack.enter_context(ExitStack())
            running[number] = replicas[number].enter_context(
                sidecar(
                    folder, "--allow-eval=renderer", name=f"{number}", listen=f"127.0.0.1:{ports[number]}"
                )
            )

        begin(0)
        begin(1)
        target = f"ipv4:127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
        if balancer == "haproxy":
            stack.enter_context(haproxy(folder, *ports))
            target = f"127.0.0.1:{ports[2]}"
        load = Load(target)
        try:
            load.wait_for_more(ANSWERS_BETWEEN)
            for number in range(kills):
                victim = number % 2
                running[victim].kill()
                load.wait_for_more(ANSWERS_BETWEEN // 2)
                replicas[victim].close()
                size = running[victim].log.stat().st_size
                begin(victim)
                load.wait_for_growth(running[victim].log, size)
                load.wait_for_more(ANSWERS_BETWEEN // 2)
        finally:
            figures.load_average = round(os.getloadavg()[0], 1)
            load.stop()
    figures.right, figures.wrong = len(load.answered), load.wrong
    figures.failed = {code: number for code, number in load.failed.items() if code in FAILURES}
    figures.unexpected = {code: number for code, number in load.failed.items() if code not in FAILURES}
    figures.p50_ms, figures.p99_ms = percentile(load.times, 0.5), percentile(load.times, 0.99)
    gaps = [(after - before) * 1000 for before, after in zip(load.answered, load.answered[1:], strict=False)]
    figures.longest_gap_ms = round(max(gaps, default=0.0), 1)
    return figures


def free_ports(number: int) -> list[int]:
    """Return ports that are free now: a replica comes back under the address that its balancer knows."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def haproxy(folder: Path, one: int, two: int, front: int) -> Iterator[None]:
    """Run HAProxy in front of both replicas."""
    assert HAPROXY
    config = folder / "haproxy.cfg"
    places = {"one": one, "two": two, "front": front}
    config.write_text(CONFIG.format(**{name: f"127.0.0.1:{port}" for name, port in places.items()}))
    with subprocess.Popen(
        [HAPROXY, "-db", "-f", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with grpc.insecure_channel(f"127.0.0.1:{front}") as channel:
                grpc.channel_ready_future(channel).result(30)
            yield
        finally:
            process.terminate()


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--balancer", choices=BALANCERS, action="append")
    chosen = options.parse_args()
    passed = True
    for balancer in chosen.balancer or BALANCERS:
        with tempfile.TemporaryDirectory() as folder:
            figures = run(Path(folder), kills=chosen.kills, balancer=balancer)
        passed = report(figures) and passed
    sys.exit(not passed)


if __name__ == "__main__":
    main()
