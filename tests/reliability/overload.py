"""64 clients a front at twice the capacity: the service stays up, small and healthy, and rejects the excess.

First a few clients find out how many requests a second the service can do. Then 64 of them ask for twice as many,
each at its own pace and without ever backing off. What is over the queue must be refused at once, OVERLOADED with
RetryInfo; what is accepted must be answered within the time that a full queue takes.

    python tests/reliability/overload.py                 60 seconds, one JSON object at the end
    python tests/reliability/overload.py --seconds 5 --fronts 2
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # ships no py.typed
from grpc_status import rpc_status
from script import parser, report
from sidecar import HealthProbe, Sidecar, percentile, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

CLIENTS = 64
WARM_CLIENTS = 4
QUEUE = 32
WORKERS = 1
PATIENCE = 30.0
HEALTH_MS = 100.0
LEAST_PROBES_PER_S = 5
# Clients that wait for an answer send slightly fewer calls than planned.
LEAST_OFFERED = 1.75
GROWTH_MB = 20.0
# The mean wait in a full queue is its length divided by the rate; the durations of its jobs vary.
QUEUE_SLACK = 2.5
STATEMENT = "document.querySelector('#row-%d').textContent = `${items[%d].name}: ${items[%d].price}`;\n"


@dataclass
class Figures:
    """The figures of a run; times in milliseconds, memory in MB."""

    seconds: float = 0.0
    fronts: int = 1
    capacity_per_s: float = 0.0
    offered_per_s: float = 0.0
    accepted: int = 0
    overloaded: int = 0
    overloaded_without_retry_info: int = 0
    other: dict[str, int] = field(default_factory=dict)
    accepted_p50_ms: float = 0.0
    accepted_p99_ms: float = 0.0
    bound_ms: float = 0.0
    health: dict[str, float] = field(default_factory=dict)
    rss_before_mb: dict[str, float] = field(default_factory=dict)
    rss_peak_mb: dict[str, float] = field(default_factory=dict)
    load_average: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether all conditions that do not depend on the machine's speed were met."""
        grown = sum(self.rss_peak_mb.values()) - sum(self.rss_before_mb.values())
        refused_well = self.overloaded > 0 and not self.overloaded_without_retry_info
        asked = self.health["probes"] > 0 and not self.health["failed"]
        return refused_well and not self.other and asked and grown <= GROWTH_MB * self.fronts

    @property
    def passed(self) -> bool:
        """Whether all conditions were met."""
        in_time = self.accepted_p99_ms <= self.bound_ms and self.health["max_ms"] <= HEALTH_MS
        throughout = self.health["probes"] >= LEAST_PROBES_PER_S * self.seconds
        twice = self.offered_per_s >= LEAST_OFFERED * self.capacity_per_s
        return self.is_sound and in_time and throughout and twice


class Tally:
    """The answers to all clients of one phase."""

    def __init__(self) -> None:
        self.accepted_ms: list[float] = []
        self.codes: Counter[str] = Counter()
        self.without_retry_info = 0
        self._lock = threading.Lock()

    def ask(self, stub: GuardServiceStub, code: bytes) -> None:
        """Send one call, and count its answer."""
        begin = time.perf_counter()
        try:
            answer = stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER), timeout=PATIENCE)
        except grpc.RpcError as failure:
            name = (failure.details() or "").partition(":")[0] or failure.code().name
            with self._lock:
                self.codes[name] += 1
                self.without_retry_info += name == "OVERLOADED" and not has_retry_info(failure)
            return
        name = "allowed" if answer.WhichOneof("outcome") == "allowed" else answer.error.code
        with self._lock:
            self.codes[name] += 1
            self.accepted_ms.append((time.perf_counter() - begin) * 1000)


def has_retry_info(failure: Any) -> bool:
    """Return whether the rejection has a retry delay."""
    status = rpc_status.from_call(failure)
    return status is not None and any(
        each.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for each in status.details
    )


def run(folder: Path, *, seconds: float, fronts: int = 1) -> Figures:
    """Load a server for ``seconds``, after a baseline of a tenth of that time."""
    flags = (
        "--allow-eval=renderer",
        "--queue",
        str(QUEUE),
        "--workers",
        str(WORKERS),
        "--verdict-cache",
        "0",
        "--fronts",
        str(fronts),
    )
    figures = Figures(seconds=seconds, fronts=fronts)
    clients = CLIENTS * fronts
    numbers = count()
    with sidecar(folder, *flags) as served:
        calm = max(2.0, seconds / 10)
        warm = load(served, WARM_CLIENTS * fronts, calm, lambda: payload(next(numbers)), pace=0.0)
        figures.capacity_per_s = round(len(warm.accepted_ms) / calm, 1)
        figures.rss_before_mb = peak = served.rss_mb()
        pace = clients / (2 * figures.capacity_per_s)
        probe = HealthProbe(served.address)
        done = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.25):
                peak = max(peak, served.rss_mb(), key=lambda rss: sum(rss.values()))

        watcher = threading.Thread(target=watch)
        watcher.start()
        hot = load(served, clients, seconds, lambda: payload(next(numbers)), pace=pace)
        figures.load_average = round(os.getloadavg()[0], 1)
        done.set()
        watcher.join()
        figures.health = probe.figures()
        figures.rss_peak_mb = peak
    figures.offered_per_s = round(hot.codes.total() / seconds, 1)
    figures.accepted = hot.codes.pop("allowed", 0)
    figures.overloaded = hot.codes.pop("OVERLOADED", 0)
    figures.overloaded_without_retry_info = hot.without_retry_info
    figures.other = dict(hot.codes)
    figures.accepted_p50_ms = percentile(hot.accepted_ms, 0.5)
    figures.accepted_p99_ms = percentile(hot.accepted_ms, 0.99)
    figures.bound_ms = round(QUEUE_SLACK * fronts * (QUEUE + WORKERS) / figures.accepted * seconds * 1000, 1)
    return figures


def load(
    served: Sidecar, clients: int, seconds: float, payload: Callable[[], bytes], *, pace: float
) -> Tally:
    """Let ``clients`` send calls for ``seconds``, each one every ``pace`` seconds, or as fast as it can."""
    tally = Tally()
    end = time.perf_counter() + seconds

    def client(number: int, stub: GuardServiceStub) -> None:
        due = time.perf_counter() + pace * number / clients
        while time.perf_counter() < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            due += pace
            tally.ask(stub, payload())

    with ExitStack() as stack:
        stubs = [
            GuardServiceStub(
                stack.enter_context(
                    grpc.insecure_channel(served.address, [("grpc.use_local_subchannel_pool", 1)])
                )
            )
            for _ in range(clients)
        ]
        threads = [threading.Thread(target=client, args=each) for each in enumerate(stubs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return tally


def payload(number: int) -> bytes:
    """Return an ordinary payload of some 20 KB, which takes the guard a few milliseconds."""
    return "".join(STATEMENT % (n, n, number) for n in range(200)).encode()


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--fronts", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), seconds=chosen.seconds, fronts=chosen.fronts)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
