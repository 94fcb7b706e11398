"""A real server for the scripts in this folder, its resource use, and a separate process that probes its health."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalward.v1 import evalward_pb2 as pb


EVALWARD = Path(sys.executable).with_name("evalward")
PROBE_EVERY = 0.02
CODES = frozenset(code.value for code in Code)


@dataclass
class Sidecar:
    """A running server, its log, and the file with its stderr."""

    process: subprocess.Popen[str]
    address: str
    log: Path
    stderr: Path
    admin: str | None = None
    killed: bool = False
    has_fronts: bool = False

    def kill(self) -> None:
        """Kill the server; its exit code is then not checked."""
        self.killed = True
        self.process.kill()

    def serving(self) -> list[int]:
        """Return the processes of the server without its workers: one, or a supervisor and its fronts."""
        pid = self.process.pid
        return [pid, *children(pid)] if self.has_fronts else [pid]

    def workers(self) -> list[int]:
        """Return the workers of all fronts."""
        fronts = self.serving()[int(self.has_fronts) :]
        return [worker for front in fronts for worker in children(front)]

    def processor_seconds(self) -> float:
        """Return the processor time of the server without its workers."""
        return sum(map(processor_seconds, self.serving()))

    def descriptors(self) -> int:
        """Return how many descriptors the server has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208 - only the number is used

    def rss_mb(self) -> dict[str, float]:
        """Return the resident memory of the server and of all its workers together, in MB (proc(5))."""
        return {
            "server": round(sum(map(_rss, self.serving())), 1),
            "workers": round(sum(map(_rss, self.workers())), 1),
        }


@contextmanager
def sidecar(
    folder: Path,
    *flags: str,
    name: str = "one",
    listen: str = "127.0.0.1:0",
    env: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> Iterator[Sidecar]:
    """Run a server, and stop it with SIGTERM afterwards; RuntimeError for another exit code than 0.

    ``under`` is a command that runs another, as prlimit(1) does.
    """
    log, stderr = folder / f"{name}.jsonl", folder / f"{name}.err"
    with (
        stderr.open("w") as told,
        subprocess.Popen(
            [*under, EVALWARD, "serve", "--listen", listen, "--audit-log", log, *flags],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            env={**os.environ, **(env or {})},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            served = Sidecar(process, ready["listen"][0], log, stderr, ready.get("admin"))
            served.has_fronts = "fronts" in ready
            yield served
            process.terminate()
            if process.wait(60) and not served.killed:
                raise RuntimeError(
                    f"the server ended with {process.returncode}: {stderr.read_text()[-1000:]}"
                )
        finally:
            process.kill()


def processor_seconds(pid: int) -> float:
    """Return the processor time of the process; 0 for one that has ended (proc(5))."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started and that still run."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def _rss(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def outcome(
    stub: Any, request: pb.ValidateRequest, *, timeout: float | None = None, metadata: Any = None
) -> str:
    """Return ``allowed``, or the code of the denial; ``MISBOUND`` for the answer to another request."""
    try:
        answer = stub.Validate(request, timeout=timeout, metadata=metadata)
    except grpc.RpcError as failure:
        named = (failure.details() or "").partition(":")[0]
        return named if named in CODES else failure.code().name
    if answer.binding.code_hash != sha256(request.code).hexdigest():
        return "MISBOUND"
    return "allowed" if answer.WhichOneof("outcome") == "allowed" else str(answer.error.code)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values are; 0 if there is none."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else 0.0


class HealthProbe:
    """Checks health repeatedly in another process, so that this process's load has no effect."""

    def __init__(self, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def figures(self) -> dict[str, float]:
        """Stop; return the number of probes, the number of failures, and their times in milliseconds."""
        told, _ = self._process.communicate("")
        times, failed = json.loads(told)
        return {
            "probes": len(times),
            "failed": failed,
            "p99_ms": percentile(times, 0.99),
            "max_ms": round(max(times, default=0.0), 1),
        }


def probe(address: str) -> None:
    """Check health until stdin ends; print the milliseconds of each answer."""
    import select  # noqa: PLC0415 - only the probing process uses it

    times: list[float] = []
    failed = 0
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        stub.Check(health_pb2.HealthCheckRequest(), timeout=30)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while not select.select([sys.stdin], [], [], PROBE_EVERY)[0]:
            begin = time.perf_counter()
            try:
                said = stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
                failed += said.status != health_pb2.HealthCheckResponse.SERVING
            except grpc.RpcError:
                failed += 1
            times.append((time.perf_counter() - begin) * 1000)
    sys.stdout.write(json.dumps([times, failed]))


if __name__ == "__main__":
    probe(sys.argv[1])
