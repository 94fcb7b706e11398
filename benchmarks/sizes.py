"""Measure what a verdict costs as payloads grow, next to a bare parse and to guards in Node.

The payloads of ``validate.py``, each as large as the size allows. A figure is the median of the rounds; in each round
all guards are measured, one after the other.

    python benchmarks/sizes.py                                    a table
    python benchmarks/sizes.py --chart docs/images/cost-by-size.svg    the same figures as a chart, too
    python benchmarks/sizes.py --json                             the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import tree_sitter_javascript
from line_chart import Axis, Line, draw, powers_of_ten
from node_guard import NODE_GUARDS, NodeGuard, NodeUnavailableError
from payload_sets import TARGETS, code_within
from stopwatch import timer, timer_of
from tree_sitter import Language, Parser

from evalward import Policy, Target, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SIZES = tuple(128 << power for power in range(11))  # 128 bytes to 128 KiB
STYLE = "realistic"


def main() -> None:
    """Parse the command line, measure, print, draw."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--chart", type=Path, help="write the chart to this file")
    options.add_argument("--rounds", type=int, default=5, help="rounds for each payload (default: 5)")
    options.add_argument("--largest", type=int, default=SIZES[-1], help="bytes (default: 131,072)")
    options.add_argument("--no-node", action="store_true", help="leave the guards in Node out")
    chosen = options.parse_args()
    sizes = [size for size in SIZES if size <= chosen.largest]
    if not sizes:
        options.error(f"--largest {chosen.largest} is too small; allowed: {SIZES[0]} or more")
    rows = measure(sizes, rounds=chosen.rounds, guards=() if chosen.no_node else NODE_GUARDS)
    if chosen.chart:
        chosen.chart.write_text(chart(rows), encoding="utf-8")
    if chosen.json:
        print(json.dumps({"rounds": chosen.rounds, "payloads": rows}, indent=2))
    else:
        print_table(rows)


def measure(sizes: Sequence[int], *, rounds: int, guards: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each load and size: the bytes of the payload and the microseconds of each guard."""
    try:
        with ExitStack() as stack:
            nodes = {name: stack.enter_context(NodeGuard(name)) for name in guards}
            return [
                {"load": load, "size": size, "bytes": len(code), "us": _measured(code, load, rounds, nodes)}
                for load in TARGETS
                for size in sizes
                for code in [code_within(load, STYLE, size)]
                if code
            ]
    except NodeUnavailableError as error:
        print(f"no figures of guards in Node: {error}", file=sys.stderr)
        return measure(sizes, rounds=rounds, guards=())


def _measured(code: bytes, load: str, rounds: int, nodes: Mapping[str, NodeGuard]) -> dict[str, float]:
    target = Target(TARGETS[load])
    policy = Policy.default().allowing([target])
    parser = Parser(Language(tree_sitter_javascript.language()))
    timers: dict[str, Callable[[], float]] = {
        "evalward": timer(lambda: validate(code, target=target, policy=policy)),
        "parse": timer(lambda: parser.parse(code)),
        **{name: timer_of(node, code) for name, node in nodes.items()},
    }
    taken = [{name: measured() for name, measured in timers.items()} for _ in range(rounds)]
    return {name: round(median(each[name] for each in taken) * 1e6, 1) for name in timers}


def chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart as SVG: what each guard costs of ordinary and of loaded code."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for guard, cost in row["us"].items():
            name = f"{guard}, {row['load']}" if guard == "evalward" else guard
            # Each other guard does the same for both loads: its line is that of ordinary code.
            if guard == "evalward" or row["load"] == "ordinary":
                series.setdefault(name, []).append((row["bytes"], cost))
    lines = [Line(name, tuple(points)) for name, points in series.items()]
    sizes = sorted({row["size"] for row in rows})
    marks = tuple((size, _size_text(size)) for size in sizes[::2])
    across = Axis("size of the payload", marks, (min(row["bytes"] for row in rows), sizes[-1]))
    costs = [cost for line in lines for _, cost in line.points]
    upwards = powers_of_ten("time of a verdict", costs, _time_text)
    return draw("What a verdict costs as payloads grow", across, upwards, lines)


def _size_text(size: float) -> str:
    return f"{size:.0f} B" if size < 1024 else f"{size / 1024:.0f} KiB"


def _time_text(us: float) -> str:
    return f"{us:.0f} µs" if us < 1e3 else f"{us / 1e3:.0f} ms" if us < 1e6 else f"{us / 1e6:.0f} s"


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the figures as a Markdown table."""
    names = [*rows[0]["us"]]
    print(f"| load | size | {' | '.join(f'{name} µs' for name in names)} |")
    print(f"|---|--:|{'--:|' * len(names)}")
    for row in rows:
        costs = " | ".join(f"{row['us'][name]:,.0f}" for name in names)
        print(f"| {row['load']} | {_size_text(row['size'])} | {costs} |")


if __name__ == "__main__":
    main()
