"""A server without free descriptors whose workers are killed: its reports, and its automatic recovery.

The limit of the running server is lowered (prlimit(2)) below the number of its open descriptors. Every open then fails
with EMFILE: the replacement of a worker, the reopened audit log (SIGHUP), the changed policy, a connection to the admin
port. Once the limit is restored, the server must recover automatically.

    python tests/reliability/descriptor_limit.py               one JSON object
    python tests/reliability/descriptor_limit.py --seconds 30  so long without descriptors
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from raw_http2 import failure_site
from script import parser, report
from sidecar import Sidecar, children, outcome, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = 8
WORKERS = 2  # one may judge, one stands in for it
PATIENCE = 30.0
BUSY = 0.5
POLICY = "api_version: evalward/v1\ntargets:\n  renderer: {allowed: true}\n"
CHANGED = POLICY + "limits: {payload_bytes: 100000}\n"


@dataclass
class Figures:
    """What a run showed. Times in seconds: to NOT_SERVING, and from the limit's end to what it names."""

    seconds: float = 0.0
    not_serving_s: float | None = None
    while_without: str = ""
    processor_share: float = 0.0
    answers_again_s: float | None = None
    serving_again_s: float | None = None
    ready_again_s: float | None = None
    policy_taken_s: float | None = None
    workers: int = 0
    threads_died: int = 0
    stderr_lines: int = 0

    @property
    def passed(self) -> bool:
        """Whether health said how things were, and all came back by itself."""
        times = [self.not_serving_s, self.answers_again_s, self.serving_again_s]
        times += [self.ready_again_s, self.policy_taken_s]
        whole = self.workers == WORKERS and not self.threads_died
        said = self.while_without in {"OVERLOADED", "GUARD_UNAVAILABLE", "AUDIT_UNAVAILABLE"}
        return whole and said and None not in times and self.processor_share < BUSY


def run(folder: Path, *, seconds: float) -> Figures:
    """Take the descriptors away for ``seconds``, and give them back."""
    figures = Figures(seconds=seconds)
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    flags = (
        "--policy",
        str(policy),
        "--workers",
        "1",
        "--verdict-cache",
        "0",
        "--admin-listen",
        "127.0.0.1:0",
    )
    with sidecar(folder, *flags) as served, grpc.insecure_channel(served.address) as channel:
        stub, health = GuardServiceStub(channel), health_pb2_grpc.HealthStub(channel)
        assert outcome(stub, _question(0), timeout=10) == "allowed"
        first = stub.GetPolicy(pb.GetPolicyRequest(), timeout=10).digest

        def serves() -> bool:
            said = health.Check(health_pb2.HealthCheckRequest(), timeout=10)
            return bool(said.status == health_pb2.HealthCheckResponse.SERVING)

        _until(lambda: len(_workers(served)) == WORKERS)
        before = resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (FEW, before[1]))
        try:
            for pid in _workers(served):
                os.kill(pid, signal.SIGKILL)
            served.process.send_signal(signal.SIGHUP)
            policy.write_text(CHANGED)
            figures.not_serving_s = _until(lambda: not serves())
            figures.while_without = outcome(stub, _question(1), timeout=10)
            # A connection that the admin listener cannot accept waits in the kernel, and must not keep it busy.
            with socket.create_connection(failure_site(str(served.admin)), timeout=10):
                begin, used = time.monotonic(), served.processor_seconds()
                time.sleep(seconds)
                used = served.processor_seconds() - used
            figures.processor_share = round(used / (time.monotonic() - begin), 2)
        finally:
            resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, before)
        figures.answers_again_s = _until(lambda: outcome(stub, _question(2), timeout=10) == "allowed")
        figures.serving_again_s = _until(serves)
        figures.ready_again_s = _until(lambda: _status(served) == 200)
        figures.policy_taken_s = _until(
            lambda: stub.GetPolicy(pb.GetPolicyRequest(), timeout=10).digest != first
        )
        _until(lambda: len(_workers(served)) == WORKERS)
        figures.workers = len(_workers(served))
        told = served.stderr.read_text()
        figures.threads_died = told.count("Traceback")
        figures.stderr_lines = told.count("\n")
    return figures


def _question(number: int) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=b"document.title + %d" % number, target=pb.TARGET_RENDERER)


def _workers(served: Sidecar) -> list[int]:
    found = []
    for pid in children(served.process.pid):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found.append(pid)
    return found


def _until(holds: Callable[[], bool]) -> float | None:
    """Wait until ``holds`` is true; return how many seconds that took, None if it did not come."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        if holds():
            return round(time.monotonic() - begin, 2)
        time.sleep(0.05)
    return None


def _status(served: Sidecar) -> int:
    try:
        with urllib.request.urlopen(f"http://{served.admin}/readyz", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), seconds=chosen.seconds)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
