"""Two load generators for one unary gRPC method: h2load, which uses little processor time, and Python.

Each client has one request in flight. h2load sends one body for a whole run, so that distinct payloads are
distinct from run to run; the Python client sends another body each time.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCEEDED = re.compile(r"requests: .* (\d+) succeeded")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: every latency in microseconds, and the run's length in seconds."""

    latencies_us: list[float]
    seconds: float


def has_h2load() -> bool:
    """Return whether h2load (Debian: nghttp2-client) is installed."""
    return shutil.which("h2load") is not None


def h2load(address: str, method: str, bodies: Sequence[bytes], *, requests: int, clients: int) -> Run:
    """Run h2load with the first of ``bodies``; raise RuntimeError unless every request got an answer."""
    with tempfile.TemporaryDirectory() as folder:
        body, log = Path(folder, "body"), Path(folder, "log")
        # gRPC's length-prefixed message: not compressed, big-endian length.
        body.write_bytes(struct.pack(">BI", 0, len(bodies[0])) + bodies[0])
        headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
        command = ["h2load", "-n", str(requests), "-c", str(clients), "-m", "1", "-d", str(body), *headers]
        done = subprocess.run(
            [*command, f"--log-file={log}", f"http://{address}{method}"],
            capture_output=True,
            text=True,
            check=True,
        )
        succeeded = SUCCEEDED.search(done.stdout)
        if succeeded is None or int(succeeded.group(1)) != requests:
            raise RuntimeError(f"h2load lost requests: {done.stdout}")
        rows = [line.split("\t") for line in log.read_text().splitlines()]
    starts = [int(row[0]) for row in rows]
    latencies = [float(row[2]) for row in rows]
    ends = [start + latency for start, latency in zip(starts, latencies, strict=True)]
    return Run(latencies, (max(ends) - min(starts)) / 1e6)


def python(address: str, method: str, bodies: Sequence[bytes], *, requests: int, clients: int) -> Run:
    """Send ``requests`` requests from ``clients`` threads, each with a channel of its own."""
    latencies: list[float] = []

    def client(number: int) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(address, options=options) as channel:
            call = channel.unary_unary(method, request_serializer=None, response_deserializer=None)
            for body in islice(cycle(bodies), number, number + requests // clients):
                start = time.perf_counter()
                call(body)
                latencies.append((time.perf_counter() - start) * 1e6)

    threads = [Thread(target=client, args=(number,)) for number in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Run(latencies, time.perf_counter() - begin)
