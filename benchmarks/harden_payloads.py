"""Harden payloads of real projects, and compare what they do: a file of them whose path is given.

The file has one JSON object a line, ``{id, target, shape, code, letter?}``, plain or gzipped; ``letter`` says that a
documented rule denies a harmless use. Reported are the share that can be hardened, and what V8 (in Node), QuickJS (in
the sandbox) and acorn, where ``npm ci`` has been run in ``node_guards``, do not parse. With ``--run`` the payloads that
run with stubs in Node or QuickJS run hardened too, and those that end otherwise are reported.

    python benchmarks/harden_payloads.py FILE.jsonl.gz                  text
    python benchmarks/harden_payloads.py FILE.jsonl.gz --run --every 10 --json
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsers import Parsers

from evalward.guard.target import Shape, Target
from evalward.oracle import Engine
from evalward.oracle.emission import Emission, emit
from evalward.oracle.engines_per_thread import EnginesPerThread
from evalward.oracle.hardened_run import difference, is_denied, is_invalid, strong
from evalward.oracle.traps import observed

if TYPE_CHECKING:
    from evalward.oracle.reach import Oracle, Oracles

ENGINES = (Engine.NODE, Engine.QUICKJS)
REQUIRED_SHARE = 0.995
# A function of driver code whose first parameter is a pattern is a test: its runner gives it an object of fixtures.
_TAKES_PATTERN = re.compile(r"\s*(?:async\b\s*)?(?:function\b\s*\*?\s*\w*\s*)?\(\s*\{")


@dataclass(slots=True)
class Found:
    """The result of one payload. ``statuses`` has one entry for each engine that takes the payload."""

    id: str
    letter: str | None
    refused: str | None = None
    statuses: dict[Engine, str] = field(default_factory=dict)
    detail: dict[Engine, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    """What does not parse the hardened form, and its message."""


def main() -> int:
    """Parse the command line, run, print; return 1 below the required share, or when a result changes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("file", type=Path, help="JSON Lines, plain or gzipped")
    options.add_argument(
        "--run", action="store_true", help="run payloads and their hardened form, and compare"
    )
    options.add_argument("--every", type=int, default=1, help="only every Nth payload (default: 1)")
    options.add_argument("--first", type=int, default=0, help="the first of them, from 0 (default: 0)")
    options.add_argument("--threads", type=int, default=2, help="payloads at a time (default: 2)")
    options.add_argument("--filter", default="", help="only ids with this text")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = options.parse_args()
    payloads = [each for each in read(chosen.file) if chosen.filter in each["id"]][
        chosen.first :: chosen.every
    ]
    engines = EnginesPerThread(deadline=1.5)

    def one(payload: dict[str, Any]) -> Found:
        return tried(payload, parsers, engines.mine() if chosen.run else None)

    with ThreadPoolExecutor(chosen.threads) as pool, Parsers() as parsers, contextlib.closing(engines):
        found = list(pool.map(one, payloads))
    report = summarised(found, parsers)
    print(json.dumps(report, indent=2) if chosen.json else "\n".join(lines(report)))
    fails = report["hardened_share"] < REQUIRED_SHARE or report["not_parsed"] or report["different"]
    return 1 if fails else 0


def read(file: Path) -> list[dict[str, Any]]:
    """Return the payloads of a file."""
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def tried(payload: dict[str, Any], parsers: Parsers, oracles: Oracles | None) -> Found:
    """Harden one payload and parse it; with engines, run it as it is and hardened."""
    found = Found(payload["id"], payload.get("letter"))
    target, shape = Target(payload["target"]), Shape(payload["shape"])
    emission = emitted(payload["code"], target, shape)
    if emission.text is None:
        found.refused = emission.refused
        return found
    found.rejected = parsers.rejecting(emission.text, shape)
    for engine in ENGINES:
        if oracles is not None and engine not in oracles.absent:
            compare(found, payload["code"], emission.text, oracles.oracle(engine), target, shape)
    return found


def compare(  # noqa: PLR0913, PLR0917 - one payload in one engine
    found: Found, code: str, text: str, oracle: Oracle, target: Target, shape: Shape
) -> None:
    """Run a payload and its hardened form, and note how they differ."""
    takes_fixtures = target is Target.NODE and shape is Shape.FUNCTION and _TAKES_PATTERN.match(code)
    data = replace(observed(code, target), fixtures=bool(takes_fixtures))
    original = oracle.run(code, target, shape, data=data)
    if is_invalid(original) or strong(original) or original.ending in {"deadline", "limit", "crashed"}:
        return
    hardened = oracle.run(text, target, shape, data=data)
    differs = difference(original, hardened)
    status = "same" if differs is None else "denied" if is_denied(hardened) else "different"
    if status == "different":
        again = oracle.run(code, target, shape, data=data)
        status = "different" if difference(original, again) is None else "unstable"
    found.statuses[oracle.engine] = status
    found.detail[oracle.engine] = (hardened.note if status == "denied" else differs) or ""


def emitted(code: str, target: Target, shape: Shape) -> Emission:
    """Emit; a crash of the emitter is a refusal that names it."""
    try:
        return emit(code, target, shape)
    except Exception as error:  # noqa: BLE001 - the measurement continues and names the payload
        return Emission(None, f"crashed: {type(error).__name__}: {error}")


def summarised(found: list[Found], parsers: Parsers) -> dict[str, Any]:
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
        "parsers_absent": sorted(parsers.absent),
        "not_parsed": {e.id: e.rejected for e in found if e.rejected},
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
    absent = ", ".join(report["parsers_absent"]) or "none"
    shown = [
        f"{report['payloads']:,} payloads, {report['hardened_share']:.2%} can be hardened",
        *(f"  refused: {count:,} {reason}" for reason, count in report["refused"].items()),
        f"not parsed by V8, QuickJS or acorn: {len(report['not_parsed']):,} (not installed: {absent})",
        f"{report['ran']:,} run as they are: {report['same']:,} the same hardened",
        f"  {len(report['denied']):,} denied, {report['denied_by_a_documented_rule']:,} of them by a documented rule",
        f"  {len(report['different']):,} different, {len(report['unstable']):,} differ from themselves",
    ]
    shown += [f"  not parsed: {name}: {by}" for name, by in report["not_parsed"].items()]
    shown += [f"  refused: {name}: {reason}" for name, reason in report["refused_ids"]]
    for status in ("different", "denied"):
        shown += [f"  {status}: {name}: {about}" for name, about in report[status]]
    return shown


if __name__ == "__main__":
    sys.exit(main())
