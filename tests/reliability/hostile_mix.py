"""Benign calls during all hostile loads at once: how long they wait, and whether one is lost.

The hostile side sends every slow or deep text of guard.md, section 4, one after the other without a pause. At the
same time it sends malformed frames, oversized messages, requests whose answer is never read, requests that are never
completed, and connections that are reset in the middle. The benign side is another process that sends calls at a
steady rate with the client's own deadline.

    python tests/reliability/hostile_mix.py                60 seconds, one JSON object at the end
    python tests/reliability/hostile_mix.py --seconds 5 --workers 2
    python tests/reliability/hostile_mix.py --fronts 2 --workers 1
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from benign import PACE, TIMEOUT, payload
from hostile_loads import (
    Hostile,
    abrupt_resets,
    half_sent_requests,
    malformed_frames,
    oversized_messages,
    slow_texts,
    unread_answers,
)
from script import parser, report
from sidecar import outcome, percentile, processor_seconds, sidecar

from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar import Sidecar

P99_MS = 150.0
MOST_MS = 200.0


@dataclass
class Figures(Hostile):
    """The figures of a run; times in milliseconds."""

    seconds: float = 0.0
    workers: int = 0
    fronts: int = 1
    benign: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    most_ms: float = 0.0
    above_200_ms: int = 0
    rss_mb: dict[str, float] = field(default_factory=dict)
    processor_share: dict[str, float] = field(default_factory=dict)
    load_average: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether all conditions that do not depend on the machine's speed were met."""
        return self.benign > 0 and not self.lost and not self.hostile_allowed

    @property
    def passed(self) -> bool:
        """Whether all conditions were met, those that depend on the speed among them."""
        tried = min(self.malformed, self.unread, self.half_sent, self.reset, sum(self.oversized.values()))
        all_texts = self.hostile_texts_judged == self.hostile_texts
        return self.is_sound and tried > 0 and all_texts and self.p99_ms <= P99_MS and self.most_ms <= MOST_MS


def run(folder: Path, *, seconds: float, workers: int, fronts: int = 1) -> Figures:
    """Run all loads for ``seconds``; each front has ``workers``."""
    figures = Figures(seconds=seconds, workers=workers, fronts=fronts)
    flags = (
        "--allow-eval=renderer",
        "--workers",
        str(workers),
        "--verdict-cache",
        "0",
        "--fronts",
        str(fronts),
    )
    with sidecar(folder, *flags) as served:
        end = time.perf_counter() + seconds
        host, _, port = served.address.rpartition(":")
        place = (host, int(port))
        benign = subprocess.Popen(
            [sys.executable, __file__, "--benign", served.address, "--seconds", str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        jobs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
            (slow_texts, (served.address, end, figures)),
            (malformed_frames, (place, end, figures)),
            (oversized_messages, (served.address, end, figures)),
            (unread_answers, (place, end, figures)),
            (half_sent_requests, (place, end, figures)),
            (abrupt_resets, (place, end, figures)),
        ]
        threads = [threading.Thread(target=job, args=args) for job, args in jobs]
        before = shares(served, benign.pid)
        for thread in threads:
            thread.start()
        assert benign.stdout is not None
        told = benign.stdout.read()  # all of its output; its end is awaited below
        after = shares(served, benign.pid)
        benign.communicate()
        for thread in threads:
            thread.join()
        figures.processor_share = {name: round((after[name] - before[name]) / seconds, 2) for name in after}
        figures.load_average = round(os.getloadavg()[0], 1)
        figures.rss_mb = served.rss_mb()
    times, codes = json.loads(told)
    figures.benign = len(times)
    figures.lost = {code: number for code, number in codes.items() if code != "allowed"}
    figures.p50_ms, figures.p99_ms = percentile(times, 0.5), percentile(times, 0.99)
    figures.most_ms = round(max(times, default=0.0), 1)
    figures.above_200_ms = sum(each > MOST_MS for each in times)
    return figures


def shares(served: Sidecar, benign: int) -> dict[str, float]:
    """Return the processor seconds of each side so far, without workers that were killed meanwhile."""
    return {
        "server": served.processor_seconds(),
        "workers": sum(map(processor_seconds, served.workers())),
        "generator": time.process_time(),
        "benign": processor_seconds(benign),
    }


def benign_calls(address: str, seconds: float) -> None:
    """Send calls at a steady rate; print the milliseconds of each call and the results."""
    times: list[float] = []
    codes: Counter[str] = Counter()
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        outcome(stub, payload(0), timeout=30)
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            begin = time.perf_counter()
            codes[outcome(stub, payload(len(times)), timeout=TIMEOUT)] += 1
            times.append((time.perf_counter() - begin) * 1000)
            due = max(due + PACE, time.perf_counter())
    sys.stdout.write(json.dumps([times, codes]))


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--fronts", type=int, default=1)
    options.add_argument("--benign", metavar="ADDRESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.benign:
        benign_calls(chosen.benign, chosen.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), seconds=chosen.seconds, workers=chosen.workers, fronts=chosen.fronts)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
