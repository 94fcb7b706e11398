"""Harden payloads of real projects, and compare what they do: a file of them whose path is given.

The file has one JSON object a line, ``{id, target, shape, code, letter?}``, plain or gzipped; ``letter`` says that a
documented rule denies a harmless use. Reported are the share that can be hardened; what V8 (in Node), QuickJS (in the
sandbox) and acorn, where ``npm ci`` has been run in ``node_guards``, cannot parse; and the payloads that run with stubs
in Node or QuickJS and end otherwise when they are hardened.

    python benchmarks/harden_payloads.py FILE.jsonl.gz                  text, one line for each difference
    python benchmarks/harden_payloads.py FILE.jsonl.gz --count 500 --json
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from evalward.guard.target import Shape, Target
from evalward.oracle import Engine
from evalward.oracle.emission import Emission, emit
from evalward.oracle.engines_per_thread import EnginesPerThread
from evalward.oracle.hardened_run import difference, is_denied, is_invalid, strong
from evalward.oracle.traps import OBSERVED
from evalward.sandbox.shape import program

if TYPE_CHECKING:
    from evalward.oracle.reach import Oracles

ENGINES = (Engine.NODE, Engine.QUICKJS)
REQUIRED_SHARE = 0.995
PARSES = Path(__file__).parent / "node_guards" / "parses.mjs"


@dataclass(slots=True)
class Found:
    """The result of one payload. ``statuses`` has one entry for each engine that takes the payload."""

    id: str
    letter: str | None
    refused: str | None = None
    statuses: dict[Engine, str] = field(default_factory=dict)
    detail: dict[Engine, str] = field(default_factory=dict)
    not_parsed_by: list[str] = field(default_factory=list)


def main() -> int:
    """Parse the command line, run, print; return 1 below the required share, or when a result changes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("file", type=Path, help="JSON Lines, plain or gzipped")
    options.add_argument("--count", type=int, default=0, help="a sample of this many (default: all)")
    options.add_argument("--seed", type=int, default=1, help="chooses the sample (default: 1)")
    options.add_argument("--filter", default="", help="only ids with this text")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = options.parse_args()
    payloads = [each for each in read(chosen.file) if chosen.filter in each["id"]]
    if chosen.count and chosen.count < len(payloads):
        payloads = random.Random(chosen.seed).sample(payloads, chosen.count)
    engines, acorn = EnginesPerThread(deadline=1.5), Acorn()
    try:
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda each: tried(each, engines.mine(), acorn), payloads))
    finally:
        engines.close()
    report = summarised(found, acorn)
    print(json.dumps(report, indent=2) if chosen.json else "\n".join(lines(report)))
    return 1 if report["hardened_share"] < REQUIRED_SHARE or report["different"] else 0


def read(file: Path) -> list[dict[str, Any]]:
    """Return the payloads of a file."""
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def tried(payload: dict[str, Any], oracles: Oracles, acorn: Acorn) -> Found:
    """Harden one payload, parse it, and run it as it is and hardened."""
    found = Found(payload["id"], payload.get("letter"))
    target, shape = Target(payload["target"]), Shape(payload["shape"])
    emission = emitted(payload["code"], target, shape)
    if emission.text is None:
        found.refused = emission.refused
        return found
    if acorn.rejects(program(emission.text, shape)):
        found.not_parsed_by.append("acorn")
    for engine in ENGINES:
        if engine in oracles.absent:
            continue
        oracle = oracles.oracle(engine)
        hardened = oracle.run(emission.text, target, shape, data=OBSERVED)
        if is_invalid(hardened):
            found.not_parsed_by.append(engine.value)
        original = oracle.run(payload["code"], target, shape, data=OBSERVED)
        if is_invalid(original) or strong(original) or original.ending in {"deadline", "limit", "crashed"}:
            continue
        differs = difference(original, hardened)
        status = "same" if differs is None else "denied" if is_denied(hardened) else "different"
        if status == "different":
            again = oracle.run(payload["code"], target, shape, data=OBSERVED)
            status = "different" if difference(original, again) is None else "unstable"
        found.statuses[engine] = status
        found.detail[engine] = (hardened.note if status == "denied" else differs) or ""
    return found


def emitted(code: str, target: Target, shape: Shape) -> Emission:
    """Emit; a crash of the emitter is a refusal that names it."""
    try:
        return emit(code, target, shape)
    except Exception as error:  # noqa: BLE001 - the measurement continues and names the payload
        return Emission(None, f"crashed: {type(error).__name__}: {error}")


class Acorn:
    """Acorn in a process of Node, where it is installed; for use by many threads."""

    def __init__(self) -> None:
        node = shutil.which("node")
        self.installed = node is not None and (PARSES.parent / "node_modules" / "acorn").is_dir()
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        if self.installed and node is not None:
            self._process = subprocess.Popen(
                [node, str(PARSES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def rejects(self, text: str) -> bool:
        """Whether acorn cannot parse ``text``; False where it is not installed."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return False
        with self._lock:
            self._process.stdin.write(json.dumps(text) + "\n")
            self._process.stdin.flush()
            return bool(json.loads(self._process.stdout.readline()))


def summarised(found: list[Found], acorn: Acorn) -> dict[str, Any]:
    """Return counts, and the payloads that differ, are denied or are not parsed."""
    refused = [each for each in found if each.refused is not None]
    worst = ("different", "denied", "unstable", "same")
    statuses = {e.id: min(e.statuses.values(), key=worst.index) for e in found if e.statuses}
    about = {
        e.id: " | ".join(f"{engine}: {text}" for engine, text in e.detail.items() if text) for e in found
    }
    lettered = {e.id for e in found if e.letter}

    def listed(status: str) -> list[list[str]]:
        return [[name, about[name]] for name, each in statuses.items() if each == status]

    return {
        "payloads": len(found),
        "hardened_share": round(1 - len(refused) / len(found), 4) if found else 1.0,
        "refused": dict(Counter(e.refused for e in refused).most_common()),
        "refused_ids": [[e.id, e.refused] for e in refused],
        "acorn": "installed" if acorn.installed else "not installed",
        "not_parsed": {e.id: e.not_parsed_by for e in found if e.not_parsed_by},
        "ran": len(statuses),
        "same": sum(status == "same" for status in statuses.values()),
        "denied_by_a_documented_rule": sum(
            status == "denied" and name in lettered for name, status in statuses.items()
        ),
        "denied": listed("denied"),
        "different": listed("different"),
        "unstable": listed("unstable"),
    }


def lines(report: dict[str, Any]) -> list[str]:
    """Return the text output."""
    shown = [
        f"{report['payloads']:,} payloads, {report['hardened_share']:.2%} can be hardened",
        *(f"  refused: {count:,} {reason}" for reason, count in report["refused"].items()),
        f"not parsed by an engine: {len(report['not_parsed']):,} (acorn: {report['acorn']})",
        f"{report['ran']:,} run as they are: {report['same']:,} the same hardened",
        f"  {len(report['denied']):,} denied, {report['denied_by_a_documented_rule']:,} of them by a documented rule",
        f"  {len(report['different']):,} different, {len(report['unstable']):,} differ from themselves",
    ]
    shown += [f"  not parsed: {name}: {', '.join(by)}" for name, by in report["not_parsed"].items()]
    for status in ("different", "denied"):
        shown += [f"  {status}: {name}: {about}" for name, about in report[status]]
    return shown


if __name__ == "__main__":
    sys.exit(main())
