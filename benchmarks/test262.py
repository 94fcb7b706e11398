"""Measure how many test262 tests that pass as they are pass hardened.

Each test runs with the suite's helpers as one program, as it is and hardened, in a fresh realm of Node. A test that
must not parse passes hardened when the emitter refuses it. A test whose hardened form is denied, or refused with a
construct, does what is denied: those are set aside and counted by construct. So is what ``test262_set_aside.yaml``
names, with a reason. The suite is not in the repository: give the path of a checkout or of a bare git directory.

    python benchmarks/test262.py PATH                     a sample of both parts
    python benchmarks/test262.py PATH --count 0 --json    every test, one JSON object
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import Any

import yaml
from test262_suite import Suite, Test

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import Emission, emit

CHILD = Path(__file__).parent / "test262_child.js"
SET_ASIDE = Path(__file__).parent / "test262_set_aside.yaml"
REQUIRED = {"language": 0.99, "built-ins": 0.98}
DENIED = "evalward denied "


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one test: skipped, pass, aside or fail, with the reason."""

    name: str
    status: str
    reason: str = ""


def main() -> int:
    """Parse the command line, run, print; return 1 when a part passes less than required."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("path", type=Path, help="a checkout of test262, or a git directory of it")
    options.add_argument("--part", choices=sorted(REQUIRED), action="append", help="default: both")
    options.add_argument(
        "--count", type=int, default=1000, help="tests of each part, 0 for all (default: 1000)"
    )
    options.add_argument("--seed", type=int, default=1, help="chooses the sample (default: 1)")
    options.add_argument("--target", type=Target, default=Target.SANDBOX, help="default: sandbox")
    options.add_argument("--filter", default="", help="only names with this text")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = options.parse_args()
    try:
        suite = Suite(chosen.path)
    except FileNotFoundError as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 2
    parts = {}
    for part in chosen.part or list(REQUIRED):
        names = [name for name in suite.names(part) if chosen.filter in name]
        if chosen.count and chosen.count < len(names):
            names = random.Random(chosen.seed).sample(names, chosen.count)
        parts[part] = summarised(run(suite, names, chosen.target))
    print(json.dumps(parts, indent=2) if chosen.json else "\n".join(lines(parts)))
    return 1 if any(found["share"] < REQUIRED[part] for part, found in parts.items()) else 0


def run(suite: Suite, names: list[str], target: Target) -> list[Result]:
    """Run tests, two at a time."""
    loaded: dict[str, str] = yaml.safe_load(SET_ASIDE.read_text(encoding="utf-8")) or {}
    state = local()

    def one(name: str) -> Result:
        if not hasattr(state, "child"):
            state.child = Child()
        for beginning, reason in loaded.items():
            if name.startswith(beginning):
                return Result(name, "aside", reason)
        test = suite.test(name)
        return judged(test, state.child, target) if test else Result(name, "skipped", "module")

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, names))


def judged(test: Test, child: Child, target: Target) -> Result:
    """Run one test as it is, then hardened."""
    if not passes(test, child.run(test.program, waits=test.waits)):
        return Result(test.name, "skipped", "does not pass as it is")
    emission = emitted(test.program, target)
    if emission.text is None:
        if test.at_parse:
            return Result(test.name, "pass")
        construct = emission.construct
        return Result(
            test.name, "aside" if construct else "fail", construct or f"refused: {emission.refused}"
        )
    said = child.run(emission.text, waits=test.waits)
    if DENIED in said:
        return Result(test.name, "aside", said.partition(DENIED)[2].split(":")[0][:60])
    return Result(test.name, "pass" if passes(test, said) else "fail", said)


def emitted(program: str, target: Target) -> Emission:
    """Emit; a crash of the emitter is a failure of the test."""
    try:
        return emit(program, target, Shape.SCRIPT)
    except Exception as error:  # noqa: BLE001 - the measurement continues and names the test
        return Emission(None, f"crashed: {type(error).__name__}: {error}")


def passes(test: Test, said: str) -> bool:
    """Whether the child's answer is what the test wants."""
    if test.negative is None:
        return said == "pass"
    return said.startswith(f"fail {test.negative}:")


class Child:
    """A process of Node that runs programs; a program that takes it down costs one answer."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, source: str, *, waits: bool) -> str:
        """Return ``pass``, or ``fail`` and why."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"source": source, "waits": waits}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process = None
            return "fail the process ended"
        result: str = json.loads(answer)["result"]
        return result

    def _start(self) -> subprocess.Popen[str]:
        node = shutil.which("node")
        if node is None:
            raise SystemExit("node is not installed")
        self._process = subprocess.Popen(
            [node, "--no-warnings", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogatepass",
        )
        return self._process


def summarised(results: list[Result]) -> dict[str, Any]:
    """Return counts, the share that passes, and the failures."""
    counts = Counter(result.status for result in results)
    tried = counts["pass"] + counts["fail"]
    return {
        "tests": len(results),
        "pass_as_they_are": tried + counts["aside"],
        "pass": counts["pass"],
        "share": round(counts["pass"] / tried, 4) if tried else 1.0,
        "set_aside": dict(Counter(r.reason for r in results if r.status == "aside").most_common()),
        "failed": [[r.name, r.reason] for r in results if r.status == "fail"],
    }


def lines(parts: dict[str, dict[str, Any]]) -> list[str]:
    """Return the text output."""
    shown = []
    for part, found in parts.items():
        aside = sum(found["set_aside"].values())
        shown.append(
            f"{part}: {found['share']:.2%} of {found['pass_as_they_are'] - aside:,} pass hardened "
            f"({found['tests']:,} tests, {found['pass_as_they_are']:,} pass as they are, {aside:,} set aside)"
        )
        shown += [f"  aside: {count:,} {reason}" for reason, count in found["set_aside"].items()]
        shown += [f"  failed: {name}: {reason}" for name, reason in found["failed"]]
    return shown


if __name__ == "__main__":
    sys.exit(main())
