"""Thousands of connections without a call, together with ordinary callers and the probes of the admin listener.

They come from one host or from many (addresses of 127.0.0.0/8), stay silent from the first byte on or after the
opening, or come again as soon as they are closed. One ordinary caller keeps its connection, another makes a new one for
each call. ``storm`` and ``storm_anew`` are what they see from before the first connection on, ``beside`` and
``beside_anew`` once all are there.

    python tests/reliability/idle_connections.py           5,000 connections of each kind, one JSON object a kind
    python tests/reliability/idle_connections.py --kind one_host --seconds 5 --max-connections 6000
"""

from __future__ import annotations

import argparse
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from benign import Caller, Experience
from raw_http2 import OPENING, PREFACE, failure_site
from script import parser, report
from sidecar import percentile, sidecar

CONNECTIONS = 5_000
HOSTS = 50
KINDS = ("one_host", "many_hosts", "silent", "half_opening", "returning")
P99_MS = 50.0
LEAST_SHARE = 0.95
RETURN_EVERY = 0.002


@dataclass
class Figures:
    """What one kind showed; times in milliseconds."""

    kind: str
    seconds: float
    max_connections: int
    opened: int = 0
    descriptors: int = 0
    storm: Experience = field(default_factory=Experience)
    storm_anew: Experience = field(default_factory=Experience)
    beside: Experience = field(default_factory=Experience)
    beside_anew: Experience = field(default_factory=Experience)
    admin: dict[str, int] = field(default_factory=dict)
    admin_p99_ms: float = 0.0
    processor_share: float = 0.0
    rss_before_mb: float = 0.0
    rss_mb: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether everything held that does not depend on the speed of the machine."""
        bounded = self.descriptors <= 1.25 * self.max_connections + 128
        asked = min(each.asked for each in (self.storm, self.storm_anew, self.beside, self.beside_anew)) > 0
        answered = asked and not self.storm.lost and not self.beside.lost and self.admin.keys() == {"200"}
        return self.opened > 0 and bounded and answered and self.storm_anew.answered > 0

    @property
    def passed(self) -> bool:
        """Whether nearly all were answered, and in time once all have come: in the storm a new connection may fail."""
        in_time = max(self.beside.p99_ms, self.beside_anew.p99_ms) <= P99_MS
        nearly_all = all(
            each.answered >= LEAST_SHARE * each.asked for each in (self.storm_anew, self.beside_anew)
        )
        return self.is_sound and in_time and nearly_all


def hold(address: str, kind: str, connections: int, seconds: float) -> None:
    """Open the connections, report it, and keep or reopen them for ``seconds``; print how many were opened."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    place = failure_site(address)
    said = {"silent": b"", "half_opening": PREFACE[:10]}.get(kind, OPENING)
    opened = 0

    def connect(number: int) -> socket.socket | None:
        source = f"127.0.1.{number % HOSTS + 1}" if kind == "many_hosts" else "127.0.0.1"
        with suppress(OSError):
            sock = socket.create_connection(place, timeout=10, source_address=(source, 0))
            with suppress(OSError):
                sock.sendall(said)
            return sock
        return None

    kept = [sock for number in range(connections) if (sock := connect(number)) is not None]
    opened = len(kept)
    sys.stdout.write(f"{opened}\n")
    sys.stdout.flush()
    end = time.perf_counter() + seconds
    turn = 0
    while time.perf_counter() < end:
        time.sleep(RETURN_EVERY)
        if kind == "returning" and kept:
            turn += 1
            kept[turn % len(kept)].close()
            again = connect(turn)
            if again is not None:
                kept[turn % len(kept)] = again
                opened += 1
    sys.stdout.write(f"{opened}\n")


def run(
    folder: Path, kind: str, *, seconds: float, connections: int = CONNECTIONS, max_connections: int = 1_024
) -> Figures:
    """Hold connections to a server for ``seconds``."""
    figures = Figures(kind, seconds, max_connections)
    flags = (
        "--allow-eval=renderer",
        "--max-connections",
        str(max_connections),
        "--admin-listen",
        "127.0.0.1:0",
    )
    with sidecar(folder, *flags, name=kind) as served:
        figures.rss_before_mb, before = served.rss_mb()["server"], served.processor_seconds()
        same = Caller(served.address, seconds)
        asked = ("--kind", kind, "--connections", str(connections), "--seconds", str(2 * seconds + 2))
        hostile = subprocess.Popen(
            [sys.executable, __file__, "--hold", served.address, *asked], stdout=subprocess.PIPE, text=True
        )
        assert hostile.stdout is not None
        anew = Caller(served.address, seconds, fresh=True)
        probes = Probes(f"http://{served.admin}/readyz", 2 * seconds)
        hostile.stdout.readline()
        figures.descriptors = served.descriptors()
        figures.storm, figures.storm_anew = same.experience(), anew.experience()
        same, anew = Caller(served.address, seconds), Caller(served.address, seconds, fresh=True)
        figures.beside, figures.beside_anew = same.experience(), anew.experience()
        figures.admin, figures.admin_p99_ms = probes.outcome()
        figures.processor_share = round((served.processor_seconds() - before) / (2 * seconds), 2)
        figures.rss_mb = served.rss_mb()["server"]
        figures.descriptors = max(figures.descriptors, served.descriptors())
        told, _ = hostile.communicate()
        figures.opened = int(told)
    return figures


class Probes:
    """Asks a page of the admin listener again and again."""

    def __init__(self, url: str, seconds: float) -> None:
        self._url = url
        self._end = time.perf_counter() + seconds
        self._codes: Counter[str] = Counter()
        self._times: list[float] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def outcome(self) -> tuple[dict[str, int], float]:
        """Return how the probes were answered, and the 99th percentile of their time in milliseconds."""
        self._thread.join()
        return dict(self._codes), percentile(self._times, 0.99)

    def _ask(self) -> None:
        while time.perf_counter() < self._end:
            begin = time.perf_counter()
            try:
                with urlopen(self._url, timeout=10) as page:
                    self._codes[str(page.status)] += 1
            except OSError as failure:
                self._codes[type(failure).__name__] += 1
            self._times.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.1)


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--kind", choices=KINDS)
    options.add_argument("--connections", type=int, default=CONNECTIONS)
    options.add_argument("--max-connections", type=int, default=1_024)
    options.add_argument("--hold", metavar="ADDRESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.hold:
        hold(chosen.hold, chosen.kind, chosen.connections, chosen.seconds)
        return
    failed = False
    for kind in [chosen.kind] if chosen.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            figures = run(
                Path(folder),
                kind,
                seconds=chosen.seconds,
                connections=chosen.connections,
                max_connections=chosen.max_connections,
            )
        failed |= not report(figures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
