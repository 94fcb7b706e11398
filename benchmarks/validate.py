"""Measure validate() against a bare tree-sitter parse, and against guards in Node: the seed guard, js-x-ray.

Same payloads, alternating in every round, Node warm, no verdict cache but in the column "repeated", where the
payload is one that the cache holds. What counts is the median over the rounds of the ratio within a round.

    python benchmarks/validate.py            a table
    python benchmarks/validate.py --json     the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from contextlib import ExitStack
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

import tree_sitter_javascript
from node_guard import NODE_GUARDS, NodeGuard, NodeUnavailableError
from payload_sets import SIZES, TARGETS, all_payloads
from stopwatch import microseconds, ratio, timer, timer_of
from tree_sitter import Language, Parser

from evalward import Policy, Target, VerdictCache, validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from payload_sets import Payload

KEYS = {name: name.replace("-", "_") for name in NODE_GUARDS}
RIVALS = ("parse", *KEYS.values(), "repeated")
COLUMNS = ("validate", *RIVALS)


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=9, help="rounds per payload (default: 9)")
    options.add_argument("--no-node", action="store_true", help="leave the guards in Node out")
    options.add_argument(
        "--sizes", default=",".join(SIZES), help="which sizes, comma-separated (default: all)"
    )
    chosen = options.parse_args()
    sizes = chosen.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        options.error(f"unknown size {', '.join(sorted(unknown))}; allowed: {', '.join(SIZES)}")
    payloads = [payload for payload in all_payloads() if payload.size in sizes]
    result = measure(payloads, rounds=chosen.rounds, guards=() if chosen.no_node else NODE_GUARDS)
    if chosen.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)


def measure(payloads: Sequence[Payload], *, rounds: int, guards: Sequence[str]) -> dict[str, Any]:
    """Return all figures; times in microseconds, ratios of validate() to each of the others."""
    try:
        with ExitStack() as stack:
            nodes = {name: stack.enter_context(NodeGuard(name)) for name in guards}
            for node in nodes.values():  # all payloads first: the JIT settles on the mix, not on the first
                for payload in payloads:
                    node.warm(payload.code)
            rows = [measure_payload(payload, rounds=rounds, nodes=nodes) for payload in payloads]
    except NodeUnavailableError as error:
        print(f"no figures of guards in Node: {error}", file=sys.stderr)
        return measure(payloads, rounds=rounds, guards=())
    return {
        "environment": environment(guards),
        "rounds": rounds,
        "payloads": rows,
        "median_ratios": {
            load: median_ratios(row for row in rows if row["load"] == load) for load in TARGETS
        },
    }


def measure_payload(payload: Payload, *, rounds: int, nodes: Mapping[str, NodeGuard]) -> dict[str, Any]:
    """Return the figures of one payload."""
    policy = Policy.default().allowing(list(Target))
    parser = Parser(Language(tree_sitter_javascript.language()))
    code, target = payload.code, Target(payload.target)
    verdict = validate(code, target=target, policy=policy)
    cache = VerdictCache()
    timers = {
        "validate": timer(lambda: validate(code, target=target, policy=policy)),
        "parse": timer(lambda: parser.parse(code)),
        "repeated": timer(lambda: validate(code, target=target, policy=policy, cache=cache)),
        **{KEYS[name]: timer_of(node, code) for name, node in nodes.items()},
    }
    rounds_s = [{name: measured() for name, measured in timers.items()} for _ in range(rounds)]
    samples = {name: [each.get(name) for each in rounds_s] for name in COLUMNS}
    ours = [each["validate"] for each in rounds_s]
    return {
        "load": payload.load,
        "style": payload.style,
        "size": payload.size,
        "bytes": len(code),
        "code": verdict.code,
        **{f"{name}_us": microseconds(samples[name]) for name in COLUMNS},
        **{f"validate_over_{name}": ratio(zip(ours, samples[name], strict=True)) for name in RIVALS},
    }


def median_ratios(rows: Iterable[dict[str, Any]]) -> dict[str, float | None]:
    """Return the median over payloads of each ratio."""
    kept = list(rows)
    keys = [f"validate_over_{name}" for name in RIVALS]
    known = {key: [row[key] for row in kept if row[key] is not None] for key in keys}
    return {key: round(median(values), 3) if values else None for key, values in known.items()}


def environment(guards: Sequence[str]) -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "evalward": version("evalward"),
        "python": platform.python_version(),
        "tree_sitter": version("tree-sitter"),
        "tree_sitter_javascript": version("tree-sitter-javascript"),
        "cpus": os.cpu_count(),
        "node_guards": list(guards),
        "verdict_cache": False,
    }


def print_table(result: dict[str, Any]) -> None:
    """Print the figures as a Markdown table."""
    heads = [*(f"{name} µs" for name in COLUMNS), *(f"÷ {name}" for name in RIVALS)]
    print(f"| payload | size | {' | '.join(heads)} | verdict |")
    print(f"|---|---|{'--:|' * len(heads)}---|")
    for row in result["payloads"]:
        times = [row[f"{name}_us"] for name in COLUMNS]
        ratios = [row[f"validate_over_{name}"] for name in RIVALS]
        cells = ["-" if cell is None else f"{cell:,.1f}" for cell in times]
        cells += ["-" if cell is None else f"{cell:.2f}" for cell in ratios]
        name = f"{row['load']}, {row['style']} | {row['size']}"
        print(f"| {name} | {' | '.join(cells)} | {row['code'] or 'allowed'} |")
    for load, ratios in result["median_ratios"].items():
        said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in ratios.items() if value)
        print(f"\nMedian over {load} payloads: {said}")


if __name__ == "__main__":
    main()
