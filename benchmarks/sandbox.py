"""Measure the sandbox: latency, throughput of threads and processes, start, memory per call, growth over many.

Threads and processes alternate in every round, and a ratio is taken within a round; the median over the
rounds counts.

    python benchmarks/sandbox.py            a table
    python benchmarks/sandbox.py --json     the same figures as one JSON object
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
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from evalward.guard.target import Shape
from evalward.sandbox import Sandbox
from evalward.sandbox.cache import CACHE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SNIPPET = (Path(__file__).parent / "payloads/sandbox-1kb.js").read_bytes()
PAYLOADS = {"1+1": b"1+1", "1 KB": SNIPPET}
PAGE = os.sysconf("SC_PAGE_SIZE")
WARM_UP = "from evalward.sandbox import Sandbox; s = Sandbox(); t = time.perf_counter(); s.warm_up()"
WORKER = (
    "import sys; from pathlib import Path; from evalward.guard.target import Shape;"
    "from evalward.sandbox import Sandbox; s = Sandbox(); s.warm_up(); code = Path(sys.argv[1]).read_bytes();"
    "print(flush=True); n = int(sys.stdin.readline());"
    "[s.evaluate(code, shape=Shape.SCRIPT) for _ in range(n)]; print(flush=True)"
)


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--calls", type=int, default=1000, help="calls for each latency (default: 1000)")
    options.add_argument("--rounds", type=int, default=5, help="rounds of throughput (default: 5)")
    options.add_argument("--growth", type=int, default=10_000, help="calls for the growth (default: 10000)")
    chosen = options.parse_args()
    result = measure(calls=chosen.calls, rounds=chosen.rounds, growth=chosen.growth)
    print(json.dumps(result, indent=2) if chosen.json else "\n".join(table(result)))


def measure(*, calls: int, rounds: int, growth: int) -> dict[str, Any]:
    """Return every figure; times in ms, sizes in bytes."""
    sandbox = Sandbox()
    sandbox.warm_up()
    return {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "wasmtime": version("wasmtime"),
        },
        "latency_ms": {name: latency(sandbox, code, calls) for name, code in PAYLOADS.items()},
        "start_ms": start(),
        "throughput": throughput(sandbox, rounds, max(1, calls // 2)),
        "memory": {
            "guest_bytes": sandbox.evaluate(b"1+1").memory,
            "rss_per_live_call_bytes": live_call(sandbox),
            "growth_calls": growth,
            "growth_bytes": growth_bytes(sandbox, growth),
        },
    }


def latency(sandbox: Sandbox, code: bytes, calls: int) -> dict[str, float]:
    """Time single calls, each with the choice of its shape."""
    for _ in range(50):
        sandbox.evaluate(code)
    times = sorted(clock(lambda: sandbox.evaluate(code)) * 1000 for _ in range(calls))
    return {"p50": round(median(times), 4), "p99": round(quantiles(times, n=100)[98], 4)}


def start() -> dict[str, float]:
    """Time the first engine of a process, without and with a compiled module in the cache."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, CACHE_VARIABLE: str(Path(directory) / "cache")}
        script = f"import time; {WARM_UP}; print((time.perf_counter() - t) * 1000)"

        def once() -> float:
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            return round(float(done.stdout), 2)

        return {"cold": once(), "warm": median(once() for _ in range(5))}


def throughput(sandbox: Sandbox, rounds: int, calls: int) -> dict[str, float]:
    """Run the 1 KB snippet on one thread, on two, and in two processes."""
    one, two, processes, ratios = [], [], [], []
    for _ in range(rounds):
        one.append(rate(lambda: on_threads(sandbox, 1, calls), calls))
        two.append(rate(lambda: on_threads(sandbox, 2, calls), 2 * calls))
        processes.append(2 * calls / in_processes(2, calls))
        ratios.append(two[-1] / processes[-1])
    return {
        "one_thread_per_s": round(median(one), 1),
        "two_threads_per_s": round(median(two), 1),
        "two_processes_per_s": round(median(processes), 1),
        "threads_to_processes": round(median(ratios), 3),
    }


def on_threads(sandbox: Sandbox, threads: int, calls: int) -> None:
    """Make ``calls`` calls on each thread."""

    def work(_: int) -> None:
        for _ in range(calls):
            sandbox.evaluate(SNIPPET, shape=Shape.SCRIPT)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


def in_processes(count: int, calls: int) -> float:
    """Return the seconds that ``count`` warm processes take for ``calls`` calls each."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(SNIPPET)
        file.flush()
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, file.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]
        pipes = [(worker.stdin, worker.stdout) for worker in workers]
        for _, answers in pipes:
            assert answers is not None
            answers.readline()
        begin = time.perf_counter()
        for orders, _ in pipes:
            assert orders is not None
            orders.write(f"{calls}\n")
            orders.flush()
        for _, answers in pipes:
            assert answers is not None
            answers.readline()
        elapsed = time.perf_counter() - begin
        for worker in workers:
            worker.communicate()
        return elapsed


def live_call(sandbox: Sandbox, threads: int = 8) -> int:
    """Return what each of ``threads`` running calls adds to the resident set at most."""
    code = b"const until = []; for (let i = 0; i < 1e6; i++) until[i % 100] = i; until.length"
    base = resident()
    peak = 0
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(sandbox.evaluate, code, shape=Shape.SCRIPT) for _ in range(threads)]
        while not all(one.done() for one in waiting):
            peak = max(peak, resident())
    return max(0, peak - base) // threads


def growth_bytes(sandbox: Sandbox, calls: int) -> int:
    """Return how much the process grows over ``calls`` calls."""
    for _ in range(300):
        sandbox.evaluate(SNIPPET, shape=Shape.SCRIPT)
    before = resident()
    for _ in range(calls):
        sandbox.evaluate(SNIPPET, shape=Shape.SCRIPT)
    return resident() - before


def resident() -> int:
    """Return the process's resident set."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def clock(call: Callable[[], object]) -> float:
    """Return the seconds that ``call`` takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def rate(call: Callable[[], object], calls: int) -> float:
    """Return calls a second."""
    return calls / clock(call)


def table(result: dict[str, Any]) -> Sequence[str]:
    """Return the lines that people read."""
    lines = [
        f"{name}: p50 {t['p50']:.3f} ms, p99 {t['p99']:.3f} ms" for name, t in result["latency_ms"].items()
    ]
    lines.append(f"start: cold {result['start_ms']['cold']:.0f} ms, warm {result['start_ms']['warm']:.1f} ms")
    speed = result["throughput"]
    lines.append(
        f"1 KB calls/s: one thread {speed['one_thread_per_s']:.0f}, two {speed['two_threads_per_s']:.0f}, "
        f"two processes {speed['two_processes_per_s']:.0f} "
        f"(threads/processes {speed['threads_to_processes']:.2f})"
    )
    memory = result["memory"]
    lines.append(
        f"memory: {memory['guest_bytes'] / 2**20:.2f} MB of guest memory, "
        f"{memory['rss_per_live_call_bytes'] / 1024:.0f} KB resident a live call, "
        f"{memory['growth_bytes'] / 2**20:.2f} MB more after {memory['growth_calls']:,} calls"
    )
    return lines


if __name__ == "__main__":
    main()
