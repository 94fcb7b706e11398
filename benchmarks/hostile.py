"""Measure the processor time of the most expensive texts: every unit of tests/data/hostile_text.yaml, repeated.

The figure is the thread's own processor time of one ``validate()``, the median of the rounds: waiting for a core is
not counted, but the parser's page faults are.

    python benchmarks/hostile.py            the five worst of each size
    python benchmarks/hostile.py --json     all of them as one JSON object
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from evalward import Policy, Target, validate

TEXTS = Path(__file__).parents[1] / "tests/data/hostile_text.yaml"
SIZES = {"16 KiB": 1 << 14, "64 KiB": 1 << 16, "128 KiB": 1 << 17}


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=3, help="calls for each figure (default: 3)")
    chosen = options.parse_args()
    rows = measure(chosen.rounds)
    if chosen.json:
        print(json.dumps({"rounds": chosen.rounds, "texts": rows}, indent=2))
        return
    for size in SIZES:
        worst = sorted((row for row in rows if row["size"] == size), key=lambda row: -row["ms"])[:5]
        print(f"{size}: " + ", ".join(f"{row['id']} {row['ms']} ms" for row in worst))


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return the milliseconds and the code of each text in each size; rounds alternate over the texts."""
    policy = Policy.default().allowing(frozenset({Target.RENDERER}))
    texts = [
        (case["id"], size, text_of(case, length))
        for case in yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
        for size, length in SIZES.items()
    ]
    taken: list[list[float]] = [[] for _ in texts]
    codes = [""] * len(texts)
    for _ in range(rounds):
        for place, (_, _, code) in enumerate(texts):
            begin = time.thread_time()
            verdict = validate(code.encode(), target=Target.RENDERER, policy=policy)
            taken[place].append((time.thread_time() - begin) * 1000)
            codes[place] = verdict.code or "allowed"
    return [
        {"id": name, "size": size, "ms": round(median(times), 1), "code": code}
        for (name, size, _), times, code in zip(texts, taken, codes, strict=True)
    ]


def text_of(case: dict[str, Any], length: int) -> str:
    """Return the case's text of at most ``length`` bytes."""
    head = str(case.get("head", ""))
    unit = str(case["unit"])
    return head + unit * ((length - len(head)) // len(unit))


if __name__ == "__main__":
    main()
