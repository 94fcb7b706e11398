"""Measure how late the hostile payloads end: all of them on four threads, with benign calls on a fifth.

Each call is timed from before it starts to after its answer is read, including waits for a core and for Python's
lock. Payloads that end more than 50 ms late, answer wrongly or exceed their memory limit are listed.

    python benchmarks/containment.py                      a line for each deadline
    python benchmarks/containment.py --passes 20 --json   more passes; the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import yaml

from evalward.guard.target import Shape
from evalward.sandbox import EvaluationLimits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAYLOADS = Path(__file__).parents[1] / "tests/data/sandbox/hostile.yaml"
DEADLINES_MS = (100, 250, 1000)
GRACE_MS = 50
THREADS = 4
# Fuel is set out of the way, so that it is the deadline that must hold.
FUEL = 4_000_000_000
BENIGN, ANSWER = b"[7, 2, 3].map(x => x * 2).join('-')", b'"14-4-6"'


def main() -> int:
    """Parse the command line, measure, print; 1 when anything was late, wrong or too large."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--passes", type=int, default=3, help="passes for each deadline (default: 3)")
    options.add_argument(
        "--deadlines", type=int, nargs="+", default=DEADLINES_MS, help="in ms (default: 100 250 1000)"
    )
    chosen = options.parse_args()
    rows = measure(chosen.passes, chosen.deadlines)
    if chosen.json:
        print(json.dumps({"cpus": os.cpu_count(), "grace_ms": GRACE_MS, "deadlines": rows}, indent=2))
    else:
        print("\n".join(map(line, rows)))
    return 1 if any(row["late"] or row["too_large"] or row["benign_wrong"] for row in rows) else 0


def measure(passes: int, deadlines: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each deadline; ``over_ms`` are wall times beyond it, worst of a pass."""
    cases = yaml.safe_load(PAYLOADS.read_text(encoding="utf-8"))
    sandbox = Sandbox()
    sandbox.warm_up()
    return [row(sandbox, cases, deadline, passes) for deadline in deadlines]


def row(sandbox: Sandbox, cases: Sequence[Mapping[str, str]], deadline: int, passes: int) -> dict[str, Any]:
    """Run every case ``passes`` times under one deadline."""
    limits = EvaluationLimits(fuel=FUEL, deadline_ms=deadline)
    late, too_large, worst, benign, wrong = [], [], [], 0, 0
    for _ in range(passes):
        outcomes, calls, bad = one_pass(sandbox, cases, limits)
        worst.append(max(over for _, over, _ in outcomes))
        late += [(name, round(over, 1)) for name, over, _ in outcomes if over > GRACE_MS]
        too_large += [(name, memory) for name, _, memory in outcomes if memory > limits.memory_bytes]
        benign, wrong = benign + calls, wrong + bad
    return {
        "deadline_ms": deadline,
        "runs": passes * len(cases),
        "over_ms": {"median_of_worst": round(median(worst), 1), "worst": round(max(worst), 1)},
        "late": late,
        "too_large": too_large,
        "benign_calls": benign,
        "benign_wrong": wrong,
    }


def one_pass(
    sandbox: Sandbox, cases: Sequence[Mapping[str, str]], limits: EvaluationLimits
) -> tuple[list[tuple[str, float, int]], int, int]:
    """Return name, time over the deadline in ms and memory of each case, then benign calls and wrong ones."""
    stop = threading.Event()
    answers: list[bool] = []

    def benign() -> None:
        while not stop.is_set():
            answers.append(sandbox.evaluate(BENIGN).result == ANSWER)

    def hostile(case: Mapping[str, str]) -> tuple[str, float, int]:
        begin = time.perf_counter()
        found = sandbox.evaluate(case["code"].encode(), shape=Shape.SCRIPT, limits=limits)
        return case["id"], (time.perf_counter() - begin) * 1000 - limits.deadline_ms, found.memory

    beside = threading.Thread(target=benign)
    beside.start()
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            outcomes = list(pool.map(hostile, cases))
    finally:
        stop.set()
        beside.join()
    return outcomes, len(answers), answers.count(False)


def line(found: Mapping[str, Any]) -> str:
    """Return what people read of one row."""
    over = found["over_ms"]
    return (
        f"deadline {found['deadline_ms']} ms: {found['runs']} runs, worst {over['worst']:+} ms, "
        f"late {found['late'] or 'none'}, too large {found['too_large'] or 'none'}; "
        f"{found['benign_calls']} benign calls at the same time, {found['benign_wrong']} wrong"
    )


if __name__ == "__main__":
    sys.exit(main())
