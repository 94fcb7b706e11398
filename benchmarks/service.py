"""Measure Validate of 1 KB, uncached, against an empty RPC, on two servers with the same settings.

Echo and service alternate in every round; a ratio is taken within a round, and the median over the rounds
counts. The service is the real ``evalward serve`` with its audit log on disk. Load comes from h2load where it
is installed.

    python benchmarks/service.py            a table
    python benchmarks/service.py --fronts 2 also `evalward serve --fronts 2`, in the same rounds
    python benchmarks/service.py --json     the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

import grpc
import grpc_load
from echo_server import METHOD as ECHO
from payload_sets import compose

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grpc_load import Run

VALIDATE = "/evalward.v1.GuardService/Validate"
EVALWARD = Path(sys.executable).with_name("evalward")
CLIENTS = (1, 8, 16)
CPU_CLOCK = 2  # CPUCLOCK_SCHED of the kernel's posix-timers.h
FIGURES = ("p50_us", "p99_us", "requests_per_s", "cpu_us", "requests_per_core_s")


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument(
        "--rounds", type=int, default=7, help="rounds for each number of clients (default: 7)"
    )
    options.add_argument("--requests", type=int, default=1500, help="requests in a round (default: 1500)")
    options.add_argument(
        "--client", choices=("h2load", "python"), help="default: h2load where it is installed"
    )
    options.add_argument(
        "--fronts", type=int, default=0, metavar="N", help="also measure N fronts, in the same rounds"
    )
    chosen = options.parse_args()
    client = chosen.client or ("h2load" if grpc_load.has_h2load() else "python")
    result = measure(client, rounds=chosen.rounds, requests=chosen.requests, fronts=chosen.fronts)
    if chosen.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)


def measure(client: str, *, rounds: int, requests: int, fronts: int) -> dict[str, Any]:
    """Return all figures: latencies and CPU per request in microseconds, ratios of each service to echo.

    ``requests_per_core_s`` are requests for each second of processor time, of all processes together.
    """
    load: Callable[..., Run] = {"h2load": grpc_load.h2load, "python": grpc_load.python}[client]
    rows = []
    with ExitStack() as stack:
        servers = {"echo": stack.enter_context(echo_server()), "service": stack.enter_context(service())}
        if fronts:
            servers[f"{fronts} fronts"] = stack.enter_context(service("--fronts", str(fronts)))
        for name, (_, address) in servers.items():
            if name != "echo":
                insist_on_allow(address)
        for clients in CLIENTS:
            measured: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
            for number in range(rounds + 1):  # the first round warms the servers up
                bodies = validate_bodies(number, requests)
                for name, (pid, address) in servers.items():
                    method, sent = (ECHO, [b""]) if name == "echo" else (VALIDATE, bodies)
                    before = cpu_seconds(pid)
                    run = load(address, method, sent, requests=requests, clients=clients)
                    measured[name].append(figures(run, cpu_seconds(pid) - before))
            rows.append({"clients": clients, **summary({name: runs[1:] for name, runs in measured.items()})})
    return {
        "client": client,
        "payload_bytes": len(payload(0)),
        "rounds": rounds,
        "requests": requests,
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "grpcio": version("grpcio"),
        },
        "rows": rows,
    }


def payload(number: int) -> bytes:
    """Return the ordinary realistic payload of 1 KB, made distinct by ``number``."""
    return compose("ordinary", "realistic", "1 KB").code + b"\n" + str(number).encode() + b";"


def validate_bodies(number: int, requests: int) -> list[bytes]:
    """Return serialised requests whose payloads no other round has."""
    return [
        pb.ValidateRequest(code=payload(number * requests + n), target=pb.TARGET_RENDERER).SerializeToString()
        for n in range(requests)
    ]


def figures(run: Run, cpu: float) -> dict[str, float]:
    """Return one run's figures."""
    return {
        "p50_us": median(run.latencies_us),
        "p99_us": quantiles(run.latencies_us, n=100)[98],
        "requests_per_s": len(run.latencies_us) / run.seconds,
        "cpu_us": cpu / len(run.latencies_us) * 1e6,
        "requests_per_core_s": len(run.latencies_us) / cpu,
    }


def summary(measured: Mapping[str, Sequence[dict[str, float]]]) -> dict[str, Any]:
    """Return medians over the rounds, and for each service the median of each round's own ratio to echo."""
    found: dict[str, Any] = {}
    for name, runs in measured.items():
        found[name] = {figure: round(median(run[figure] for run in runs), 1) for figure in FIGURES}
        if name != "echo":
            pairs = [*zip(runs, measured["echo"], strict=True)]
            found[f"{name} / echo"] = {
                figure: round(median(one[figure] / other[figure] for one, other in pairs), 2)
                for figure in FIGURES
            }
    return found


def insist_on_allow(address: str) -> None:
    """Raise RuntimeError unless the payload is allowed: a denial takes a different time."""
    with grpc.insecure_channel(address) as channel:
        reply = GuardServiceStub(channel).Validate(pb.ValidateRequest.FromString(validate_bodies(0, 1)[0]))
    if reply.WhichOneof("outcome") != "allowed":
        raise RuntimeError(f"the benchmark's payload was denied: {reply.error.code} {reply.error.message}")


@contextmanager
def echo_server() -> Iterator[tuple[int, str]]:
    """Run the echo server; give its pid and address."""
    command = [sys.executable, str(Path(__file__).with_name("echo_server.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def service(*more: str) -> Iterator[tuple[int, str]]:
    """Run the real service, with ``more`` flags; give its pid and address."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--listen", "127.0.0.1:0", "--allow-eval=renderer", "--audit-log", f"{folder}/audit.jsonl"]
        flags += ["--verdict-cache", "0", *more]
        with subprocess.Popen(
            [EVALWARD, "serve", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                assert process.stdout is not None
                yield process.pid, json.loads(process.stdout.readline())["listen"][0]
            finally:
                process.terminate()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and its descendants have used, user and system, in seconds.

    From their own clocks (clock_getcpuclockid(3)): the ticks in /proc are too coarse for a short run. The descendants
    are fronts and the workers that judge; none may end in between.
    """
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for thread in threads for child in thread.read_text("ascii").split()]
    return time.clock_gettime((~pid << 3) | CPU_CLOCK) + sum(map(cpu_seconds, children))


def print_table(result: dict[str, Any]) -> None:
    """Print the figures as a Markdown table."""
    print(f"{result['payload_bytes']} bytes, {result['client']}, medians of {result['rounds']} rounds\n")
    print("| clients | what | p50 µs | p99 µs | requests/s | CPU µs/request | requests/s a core |")
    print("|---|---|---|---|---|---|---|")
    for row in result["rows"]:
        for what, figures_of in row.items():
            if what != "clients":
                cells = " | ".join(f"{figures_of[name]:,}" for name in FIGURES)
                print(f"| {row['clients']} | {what} | {cells} |")


if __name__ == "__main__":
    main()
