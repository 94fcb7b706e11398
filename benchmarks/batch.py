"""Measure what the service adds to validate(), for a payload in a batch and for a single one (contract.md §5).

100 distinct, uncached payloads of 1 KB. In every round the same code judges as many in this process, one Validate
each, and one ValidateBatch of all; overhead is the time for a payload minus that of validate(), and the median over
the rounds counts, in wall time and in CPU time of all processes (which other load on the machine disturbs less). The
service is the real ``evalward serve`` with its audit log on disk.

    python benchmarks/batch.py            a line
    python benchmarks/batch.py --json     the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import TYPE_CHECKING

import grpc
from service import cpu_seconds, insist_on_allow, payload, service

from evalward import Policy, validate
from evalward.guard.target import Target
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

ITEMS = 100


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=15, help="rounds (default: 15)")
    options.add_argument("--workers", default="1", help="as of evalward serve (default: 1)")
    chosen = options.parse_args()
    result = measure(chosen.rounds, workers=chosen.workers)
    if chosen.json:
        print(json.dumps(result))
        return
    for clock, figures in result.items():
        print(
            f"{clock}: overhead per item {figures['batch_overhead_us']} µs in a batch of {ITEMS},"
            f" {figures['single_overhead_us']} µs alone, share {figures['share']} (at most 0.1);"
            f" validate() takes {figures['validate_us']} µs"
        )


def measure(rounds: int, *, workers: str = "1") -> dict[str, dict[str, float]]:
    """Return, by clock, times of a payload in microseconds, and the share of a single call's overhead of a batch's."""
    policy = Policy.default().allowing([Target.RENDERER])
    with service("--workers", workers) as (pid, address), grpc.insecure_channel(address) as channel:
        insist_on_allow(address)
        stub = GuardServiceStub(channel)
        ways: tuple[Callable[[list[bytes]], object], ...] = (
            lambda codes: [validate(code, target="renderer", policy=policy) for code in codes],
            lambda codes: one_by_one(stub, codes),
            lambda codes: many(stub, codes),
        )
        measured: list[list[tuple[float, float]]] = []
        for number in range(rounds + 1):  # the first round warms up
            first = 1_000_000 + number * len(ways) * ITEMS
            parts = [
                [payload(first + way * ITEMS + each) for each in range(ITEMS)] for way in range(len(ways))
            ]
            measured.append([per_item(way, part, pid) for way, part in zip(ways, parts, strict=True)])
    return {
        clock: summary([[times[which] for times in row] for row in measured[1:]])
        for which, clock in enumerate(("wall", "cpu"))
    }


def summary(rows: list[list[float]]) -> dict[str, float]:
    """Return medians over rounds of (validate(), alone, in a batch)."""
    lone = median(alone - base for base, alone, _ in rows)
    batch = median(batched - base for base, _, batched in rows)
    return {
        "validate_us": round(median(base for base, _, _ in rows), 1),
        "single_overhead_us": round(lone, 1),
        "batch_overhead_us": round(batch, 1),
        "share": round(batch / lone, 3),
    }


def per_item(judge: Callable[[list[bytes]], object], codes: list[bytes], pid: int) -> tuple[float, float]:
    """Return the microseconds of wall and of CPU time that ``judge`` takes for each of ``codes``."""
    wall, cpu = time.perf_counter(), time.process_time() + cpu_seconds(pid)
    judge(codes)
    cpu = time.process_time() + cpu_seconds(pid) - cpu
    return (time.perf_counter() - wall) / len(codes) * 1e6, cpu / len(codes) * 1e6


def one_by_one(stub: GuardServiceStub, codes: list[bytes]) -> None:
    """Have each payload judged by a request of its own; raise RuntimeError unless it is allowed."""
    for code in codes:
        reply = stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER))
        if reply.WhichOneof("outcome") != "allowed":
            raise RuntimeError(reply.error.code)


def many(stub: GuardServiceStub, codes: list[bytes]) -> None:
    """Have all payloads judged in one request; raise RuntimeError unless all are allowed."""
    items = [pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER) for code in codes]
    reply = stub.ValidateBatch(pb.ValidateBatchRequest(items=items))
    if reply.WhichOneof("outcome") != "allowed" or len(reply.bindings) != len(codes):
        raise RuntimeError(reply.error.code)


if __name__ == "__main__":
    main()
