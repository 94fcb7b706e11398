"""Measure the cost of an audit record: alone and with 64 waiting callers, both durabilities, keyed and plain.

The time is from the finished record to the return of ``append``, on a real file; "inline" is what one ``write``
of the same line costs without a chain or a thread, for comparison. With 64 waiting, the time is per record of
all that were written: one ``fdatasync`` serves many. The report's cost, which includes that of ``verify``, is per
record, next to that of ``json.loads`` for the same lines.

    python benchmarks/audit.py              a table; the log is in the directory for temporary files
    python benchmarks/audit.py --dir DIR    on another file system
    python benchmarks/audit.py --json       the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from evalward.audit import AuditKey, AuditLog, AuditRecord, Durability, decision_record
from evalward.audit.activity import Activity
from evalward.audit.files import LogFile
from evalward.audit.report.facts import facts_of
from evalward.audit.report.page import page
from evalward.audit.report.proof import proof_of
from evalward.audit.verify import verify
from evalward.cli.serve import SWITCH_SECONDS
from evalward.errors import Provenance
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Verdict

WAITING = 64
ROUNDS = 3
KEY = AuditKey(bytes(range(32)))
PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
VERDICT = Verdict(None, Target.MAIN, Shape.SCRIPT, Profile.BALANCED, "0123456789abcdef" * 4, 1024)


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--dir", help="where the log is written (default: a temporary directory)")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--records", type=int, default=3_000, help="records of a run (default: 3000)")
    chosen = options.parse_args()
    sys.setswitchinterval(SWITCH_SECONDS)  # as the service does
    with tempfile.TemporaryDirectory(dir=chosen.dir) as folder:
        result = measure(Path(folder), chosen.records)
    if chosen.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{'':34}{'p50 us':>10}{'p99 us':>10}")
    for row in result["rows"]:
        print(f"{row['name']:34}{row['p50_us']:>10.1f}{row['p99_us']:>10.1f}")
    for row in result["each"]:
        print(f"{row['name']:34}{row['us_per_record']:>10.1f}  per record")


def measure(folder: Path, records: int) -> dict[str, Any]:
    """Return all figures in microseconds: medians over the rounds, which alternate."""
    names = (f"{number}.jsonl" for number in count())
    rows: dict[str, list[list[float]]] = {}
    waiting: dict[str, list[float]] = {}
    reading: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        rows.setdefault("make a record", []).append(timed(lambda _: record(), records))
        rows.setdefault("inline write", []).append(inline(folder / next(names), records))
        for durability, part in ((Durability.PROCESS, 1), (Durability.DISK, 10)):
            for key in (None, KEY):
                name = f"append, {durability}{', keyed' if key else ''}"
                with AuditLog.open(folder / next(names), key=key, durability=durability) as log:
                    rows.setdefault(name, []).append(timed(log.append, records // part))
        for durability in Durability:
            name = f"append, {durability}, {WAITING} waiting"
            with AuditLog.open(folder / next(names), key=KEY, durability=durability, patience=60) as log:
                waiting.setdefault(name, []).append(together(log, records // WAITING))
    for _ in range(ROUNDS):
        path = folder / next(names)
        with AuditLog.open(path, key=KEY) as log:
            for _ in range(records):
                log.append(record())
        parsing, reporting = report(path)
        reading.setdefault("json.loads", []).append(parsing)
        reading.setdefault("verify and report", []).append(reporting)
    return {
        "records": records,
        "cores": os.cpu_count(),
        "rows": [
            {
                "name": name,
                "p50_us": round(median(median(run) for run in runs), 1),
                "p99_us": round(median(quantiles(run, n=100)[98] for run in runs), 1),
            }
            for name, runs in rows.items()
        ],
        "each": [
            {"name": name, "us_per_record": round(median(runs), 1)}
            for name, runs in (waiting | reading).items()
        ],
    }


def record() -> AuditRecord:
    """Return the record of an ordinary ALLOW."""
    return decision_record(
        VERDICT, decision_id="d" * 32, provenance=PROVENANCE, elapsed_us=500, session="s-1", request_id="r-1"
    )


def timed(call: Any, times: int) -> list[float]:
    """Return how long each call took, in microseconds."""
    spent = []
    for _ in range(times):
        made = record()
        begin = time.perf_counter()
        call(made)
        spent.append((time.perf_counter() - begin) * 1e6)
    return spent


def inline(path: Path, times: int) -> list[float]:
    """Return how long a bare ``write`` of a line of the same length takes."""
    line = b"x" * 800 + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        return timed(lambda _: os.write(descriptor, line), times)
    finally:
        os.close(descriptor)


def together(log: AuditLog, times: int) -> float:
    """Return the microseconds per record of as many threads as ``WAITING``, each waiting for its own."""
    made = record()
    ready = threading.Barrier(WAITING + 1)

    def work() -> None:
        ready.wait()
        for _ in range(times):
            log.append(made)

    threads = [threading.Thread(target=work) for _ in range(WAITING)]
    for thread in threads:
        thread.start()
    ready.wait()
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - begin) / (WAITING * times) * 1e6


def report(path: Path) -> tuple[float, float]:
    """Return the microseconds of processor time per record of parsing alone, and of a verified report."""
    lines = path.read_bytes().splitlines()
    begin = time.process_time()
    for line in lines:
        json.loads(line)
    parsed = time.process_time()
    activity = Activity()
    verified = verify([LogFile.open(path)], key=KEY, seen=activity.add)
    page(facts_of(activity, proof_of(verified, heads_given=False), files=[path.name], now=datetime.now(UTC)))
    reported = time.process_time()
    return (parsed - begin) / len(lines) * 1e6, (reported - parsed) / len(lines) * 1e6


if __name__ == "__main__":
    main()
