"""Kill a real server under load, repeatedly: every acknowledged record is in its log, and the log verifies.

In each cycle ``evalward serve`` starts on the same log, clients ask it as fast as they can, and SIGKILL ends it
after a random number of answers. In every third cycle the kernel first cuts one of its writes short (a limit on
the size of files), so that the log really ends within a line. The next start has to close that line; then
``verify`` has to find every record where it was written, and the decision id of every ALLOW that a client got.

    python tests/reliability/kill_nine.py                200 cycles, one JSON object at the end
    python tests/reliability/kill_nine.py --cycles 20 --seed 7
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from script import parser, report

from evalward.audit import AuditKey
from evalward.audit.files import read_files
from evalward.audit.read import records
from evalward.audit.verify import verify
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator

EVALWARD = Path(sys.executable).with_name("evalward")
CLIENTS = 4
MOST_ANSWERS = 60
TORN_EVERY = 3
SHORTEST_LINE = 350


@dataclass
class Figures:
    """The figures of a run."""

    cycles: int = 0
    acknowledged: int = 0
    missing: int = 0
    torn_tails: int = 0
    torn_recovered: int = 0
    records: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no acknowledged record was lost, and the log verified after every kill."""
        tried = self.cycles > 0 and self.acknowledged >= self.cycles and self.torn_tails > 0
        lost = self.missing or self.faults or self.torn_recovered != self.torn_tails
        return tried and not lost


class Load:
    """Clients that send calls until the server is gone, and their answers."""

    def __init__(self, address: str, answers: int, number: int) -> None:
        self.allowed: list[str] = []
        self.enough = threading.Event()
        self.unavailable = threading.Event()
        self._answers = answers
        self._number = number
        self._lock = threading.Lock()
        self._channel = grpc.insecure_channel(address)
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait until every client has seen the server go."""
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def _ask(self, client: int) -> None:
        stub = GuardServiceStub(self._channel)
        turn = 0
        while True:
            turn += 1
            code = f"document.title + {self._number} + {client} + {turn}".encode()
            try:
                answer = stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER), timeout=30)
            except grpc.RpcError as failure:
                if (failure.details() or "").startswith("AUDIT_UNAVAILABLE"):
                    self.unavailable.set()
                    continue
                return
            if answer.WhichOneof("outcome") != "allowed":
                raise RuntimeError(f"an ordinary payload was denied: {answer.error.code}")
            with self._lock:
                self.allowed.append(answer.binding.decision_id)
                if len(self.allowed) >= self._answers:
                    self.enough.set()


def run(folder: Path, *, cycles: int, seed: int) -> Figures:
    """Run the cycles in ``folder``; the seed decides when each server is killed."""
    chance = random.Random(seed)
    key_file = folder / "audit.key"
    key_file.write_bytes(os.urandom(32))
    key_file.chmod(0o600)
    key = AuditKey(key_file.read_bytes())
    log = folder / "audit.jsonl"
    figures = Figures()
    acknowledged: set[str] = set()
    for number in range(cycles):
        with server(folder, log, key_file) as (process, address):
            check(log, key, figures, f"after kill {number}")
            load = Load(address, chance.randint(1, MOST_ANSWERS), number)
            load.enough.wait(60)
            if number % TORN_EVERY == 0:
                cut_next_line(process.pid, log, chance.randint(1, SHORTEST_LINE - 1))
                load.unavailable.wait(60)
            process.kill()
            process.wait()
            load.join()
        acknowledged.update(load.allowed)
        data = log.read_bytes()
        figures.missing += len(set(load.allowed) - ids(data))
        figures.torn_tails += not data.endswith(b"\n")
        figures.cycles += 1
    with server(folder, log, key_file) as (process, _):
        process.terminate()
        process.wait(30)
    found = check(log, key, figures, "at the end")
    figures.torn_recovered, figures.records = found.torn, found.records
    figures.acknowledged = len(acknowledged)
    figures.missing += len(acknowledged - ids(log.read_bytes()))
    return figures


def check(log: Path, key: AuditKey, figures: Figures, when: str) -> Any:
    """Verify the present log; a fault goes into ``figures``."""
    found = verify(read_files([log]), key=key)
    if found.fault is not None:
        figures.faults.append(f"{when}: {found.place}: {found.fault}: {found.text}")
    return found


def ids(data: bytes) -> set[str]:
    """Return the decision ids of the ALLOW records."""
    return {
        record["decision_id"] for record in records(data.splitlines()) if record.get("outcome") == "allow"
    }


def cut_next_line(pid: int, log: Path, length: int) -> None:
    """Let the kernel cut the next line of the log after ``length`` bytes.

    The process stands still meanwhile: a line written between the two steps would end beyond the limit, and the
    next write would fail as a whole.
    """
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log.stat().st_size + length, hard))
    os.kill(pid, signal.SIGCONT)


@contextmanager
def server(folder: Path, log: Path, key_file: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server until it is ready; it is killed afterwards."""
    listen = f"unix:{folder}/e.sock"
    audit = ("--audit-log", log, "--audit-key", key_file)
    with subprocess.Popen(
        [EVALWARD, "serve", "--listen", listen, "--allow-eval=renderer", *audit],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["listen"][0]
        finally:
            process.kill()


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--cycles", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), cycles=chosen.cycles, seed=chosen.seed)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
