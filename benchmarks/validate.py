"""validate() against a bare tree-sitter parse and against the seed guard on acorn in Node.

Same payloads, alternating in every round, Node warm, no verdict cache but in the column "repeated", where the
payload is one that the cache holds. A time is the best of three short
slices, which leaves out what other processes took; a ratio is taken within a round, and the median over the
rounds is what counts: it survives a machine whose speed changes while this runs.

    python benchmarks/validate.py            a table
    python benchmarks/validate.py --json     the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from contextlib import nullcontext
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

import tree_sitter_javascript
from acorn_guard import AcornGuard, AcornUnavailableError
from payload_sets import SIZES, TARGETS, all_payloads
from tree_sitter import Language, Parser

from evalward import Policy, Target, VerdictCache, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from payload_sets import Payload

SLICES = 3
SLICE_S = 0.008


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=9, help="rounds per payload (default: 9)")
    options.add_argument("--no-acorn", action="store_true", help="leave the Node comparison out")
    options.add_argument(
        "--sizes", default=",".join(SIZES), help="which sizes, comma-separated (default: all)"
    )
    chosen = options.parse_args()
    sizes = chosen.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        options.error(f"unknown size {', '.join(sorted(unknown))}; allowed: {', '.join(SIZES)}")
    payloads = [payload for payload in all_payloads() if payload.size in sizes]
    result = measure(payloads, rounds=chosen.rounds, acorn=not chosen.no_acorn)
    if chosen.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)


def measure(payloads: Sequence[Payload], *, rounds: int, acorn: bool) -> dict[str, Any]:
    """Return all figures; times in microseconds, ratios of validate() to each of the others."""
    try:
        with AcornGuard() if acorn else nullcontext() as node:
            if node:  # all of them first: the JIT settles on the mix, not on the first payload
                for payload in payloads:
                    node.warm(payload.code)
            rows = [measure_payload(payload, rounds=rounds, node=node) for payload in payloads]
    except AcornUnavailableError as error:
        print(f"no acorn figures: {error}", file=sys.stderr)
        return measure(payloads, rounds=rounds, acorn=False)
    return {
        "environment": environment(acorn=acorn),
        "rounds": rounds,
        "payloads": rows,
        "median_ratios": {
            load: median_ratios(row for row in rows if row["load"] == load) for load in TARGETS
        },
    }


def measure_payload(payload: Payload, *, rounds: int, node: AcornGuard | None) -> dict[str, Any]:
    """Return the figures of one payload."""
    policy = Policy.default().allowing(list(Target))
    parser = Parser(Language(tree_sitter_javascript.language()))
    code, target = payload.code, Target(payload.target)
    verdict = validate(code, target=target, policy=policy)
    guard = timer(lambda: validate(code, target=target, policy=policy))
    cache = VerdictCache()
    repeated = timer(lambda: validate(code, target=target, policy=policy, cache=cache))
    parse = timer(lambda: parser.parse(code))
    seed = timer_of(node, code) if node else None
    samples = [(guard(), parse(), seed() if seed else None, repeated()) for _ in range(rounds)]
    return {
        "load": payload.load,
        "style": payload.style,
        "size": payload.size,
        "bytes": len(code),
        "code": verdict.code,
        "validate_us": microseconds(g for g, _, _, _ in samples),
        "parse_us": microseconds(p for _, p, _, _ in samples),
        "acorn_us": microseconds(n for _, _, n, _ in samples),
        "repeated_us": microseconds(r for _, _, _, r in samples),
        "validate_over_parse": ratio((g, p) for g, p, _, _ in samples),
        "validate_over_acorn": ratio((g, n) for g, _, n, _ in samples),
        "validate_over_repeated": ratio((g, r) for g, _, _, r in samples),
    }


def timer(call: Callable[[], object]) -> Callable[[], float]:
    """Return a function that gives the mean seconds of one ``call`` in the best slice."""
    call()
    start = time.perf_counter()
    call()
    count = slice_count(time.perf_counter() - start)

    def time_slice() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    time_slice()
    return lambda: min(time_slice() for _ in range(SLICES))


def timer_of(node: AcornGuard, code: bytes) -> Callable[[], float]:
    """Return the same for the seed guard in Node."""
    node.warm(code)
    count = slice_count(node.seconds(3))
    return lambda: min(node.seconds(count) for _ in range(SLICES))


def slice_count(seconds: float) -> int:
    """Return how many calls of that length fill a slice."""
    return max(1, round(SLICE_S / max(seconds, 1e-6)))


def microseconds(samples: Iterable[float | None]) -> float | None:
    """Return the median in microseconds, or None when nothing was measured."""
    known = [sample for sample in samples if sample is not None]
    return round(median(known) * 1e6, 2) if known else None


def ratio(pairs: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the median of the ratios taken round by round, or None when nothing was measured."""
    ratios = [ours / theirs for ours, theirs in pairs if theirs]
    return round(median(ratios), 3) if ratios else None


def median_ratios(rows: Iterable[dict[str, Any]]) -> dict[str, float | None]:
    """Return the median over payloads of each ratio."""
    kept = list(rows)
    keys = ("validate_over_parse", "validate_over_acorn", "validate_over_repeated")
    known = {key: [row[key] for row in kept if row[key] is not None] for key in keys}
    return {key: round(median(values), 3) if values else None for key, values in known.items()}


def environment(*, acorn: bool) -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "evalward": version("evalward"),
        "python": platform.python_version(),
        "tree_sitter": version("tree-sitter"),
        "tree_sitter_javascript": version("tree-sitter-javascript"),
        "cpus": os.cpu_count(),
        "acorn": acorn,
        "verdict_cache": False,
    }


def print_table(result: dict[str, Any]) -> None:
    """Print the figures as a Markdown table."""
    print(
        "| payload | size | validate() µs | parse µs | acorn µs | repeated µs | ÷ parse | ÷ acorn | verdict |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    for row in result["payloads"]:
        cells = [row[key] for key in ("validate_us", "parse_us", "acorn_us", "repeated_us")]
        ratios = [row[key] for key in ("validate_over_parse", "validate_over_acorn")]
        times = " | ".join("-" if cell is None else f"{cell:,.1f}" for cell in cells)
        against = " | ".join("-" if cell is None else f"{cell:.2f}" for cell in ratios)
        name = f"{row['load']}, {row['style']} | {row['size']}"
        print(f"| {name} | {times} | {against} | {row['code'] or 'allowed'} |")
    for load, ratios in result["median_ratios"].items():
        said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in ratios.items() if value)
        print(f"\nMedian over {load} payloads: {said}")


if __name__ == "__main__":
    main()
