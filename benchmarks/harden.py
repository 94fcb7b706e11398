"""Measure what hardened output costs: emission, the run-time, and how much slower a hardened program is.

Emission alone is a ratio to ``validate()`` of the same payload, taken in turns; the limit is 2 for ordinary code of
1 KB and more. The second ratio is what a program adds to a verdict, for which the payload is parsed already. The
run-time has at most 30 KB, 11 KB compressed, and starts within 0.5 ms. A slow-down is the median of the ratios of the
rounds of one run, in which the payload and its hardened form take turns, each in a fresh realm.

    python benchmarks/harden.py                text; --json for one object, --check to exit with 1 past a limit
    python benchmarks/harden.py --rounds 15
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import yaml
from payload_sets import all_payloads
from stopwatch import ratio, timer

import evalward
from evalward.guard.harden import Hardened, NotHardenable, harden_payload
from evalward.guard.runtime_texts import runtime_for
from evalward.guard.target import Shape, Target
from evalward.oracle.cdp import Connection
from evalward.oracle.chromium import ChromiumOracle, chromium_command

HERE: Final = Path(__file__).parent
PREFIX: Final = "h0123456789abcdef0"
LIMITS: Final = {"emission": 2.0, "bytes": 30_000, "gzipped": 11_000, "start_ms": 0.5}
STARTS: Final = 60


def main() -> int:
    """Parse the command line, measure, print; with --check return 1 when a figure is past its limit."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rounds", type=int, default=9, help="rounds of each measurement (default: 9)")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--check", action="store_true", help="exit with 1 when a figure is past its limit")
    chosen = options.parse_args()
    report: dict[str, Any] = {
        "emission": emission(chosen.rounds),
        "runtime": [size(target) for target in Target],
        "start_ms": start(),
        "slow_down": slow_down(chosen.rounds),
    }
    report["past_limit"] = past_limit(report)
    print(json.dumps(report, indent=2) if chosen.json else "\n".join(lines(report)))
    return 1 if chosen.check and report["past_limit"] else 0


def emission(rounds: int) -> list[dict[str, Any]]:
    """Return the ratio of the emission's time to that of ``validate()`` for each payload."""
    rows = []
    for payload in all_payloads():
        target = Target(payload.target)
        policy = evalward.Policy.default().allowing([target])

        def judged(code: bytes = payload.code, target: Target = target, policy: Any = policy) -> object:
            return evalward.validate(code, target=target, shape="script", policy=policy)

        def printed(code: bytes = payload.code, target: Target = target) -> Hardened | NotHardenable:
            return harden_payload(code, target=target, shape=Shape.SCRIPT, prefix=PREFIX)

        def hardened_verdict(
            code: bytes = payload.code, target: Target = target, policy: Any = policy
        ) -> object:
            return evalward.validate(code, target=target, shape="script", policy=policy, harden=True)

        made = printed()
        row: dict[str, Any] = {"load": payload.load, "style": payload.style, "size": payload.size}
        if isinstance(made, Hardened):
            ours, theirs, both = timer(printed), timer(judged), timer(hardened_verdict)
            samples = [(ours(), theirs(), both()) for _ in range(rounds)]
            pairs = [(own, validated) for own, validated, _ in samples]
            row |= {
                "ratio": ratio(pairs),
                "added": ratio((whole - validated, validated) for _, validated, whole in samples),
                "ms": round(median(own for own, _ in pairs) * 1e3, 2),
                "factor": round(len(made.body) / len(payload.code), 2),
            }
        else:
            row["refused"] = made.reason
        rows.append(row)
    return rows


def size(target: Target) -> dict[str, Any]:
    """Return the size of the run-time of ``target``."""
    text = runtime_for(target).text.encode()
    return {"target": target.value, "bytes": len(text), "gzipped": len(gzip.compress(text, 9, mtime=0))}


def start() -> float | None:
    """Return the median time that the run-time adds to an empty program in Node, in ms."""
    times = in_node([{"code": "0"}], STARTS)
    if not times:
        return None
    pairs = zip(times[0]["hardened"], times[0]["original"], strict=True)
    return round(median(own - theirs for own, theirs in pairs), 3)


def slow_down(rounds: int) -> list[dict[str, Any]]:
    """Return how much slower each piece of work is when it is hardened."""
    work = yaml.safe_load((HERE / "harden_work.yaml").read_text(encoding="utf-8"))
    plain = [each for each in work if not each.get("page")]
    timed = {each["name"]: found for each, found in zip(plain, in_node(plain, rounds), strict=False)}
    if ChromiumOracle.missing() is None:
        pages = [each for each in work if each.get("page")]
        timed |= {each["name"]: found for each, found in zip(pages, in_page(pages, rounds), strict=True)}
    rows = []
    for each in work:
        found = timed.get(each["name"])
        row = {"name": each["name"], "limit": each.get("limit")}
        if found is not None:
            pairs = zip(found["hardened"], found["original"], strict=True)
            row |= {
                "ratio": round(median(a / b for a, b in pairs), 2),
                "ms": round(median(found["original"]), 2),
            }
        rows.append(row)
    return rows


def in_node(work: list[dict[str, Any]], rounds: int) -> list[dict[str, list[float]]]:
    """Return the times of each piece in Node, nothing where Node is not installed."""
    node = shutil.which("node")
    if node is None:
        return []
    requests = "".join(
        json.dumps(
            {"original": each["code"], "hardened": hardened(each["code"], Target.MAIN), "rounds": rounds}
        )
        + "\n"
        for each in work
    )
    done = subprocess.run(
        [node, str(HERE / "harden_child.js")], input=requests, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_page(work: list[dict[str, Any]], rounds: int) -> list[dict[str, list[float]]]:
    """Return the times of each piece in a page of Chromium."""
    with tempfile.TemporaryDirectory(prefix="evalward-bench-", ignore_cleanup_errors=True) as profile:
        browser = Connection(chromium_command(profile), lambda _: None)
        try:
            target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
            attach = {"targetId": target, "flatten": True}
            session = browser.call("Target.attachToTarget", attach)["sessionId"]
            found = []
            for each in work:
                # A function of its own, so that the declarations of a round do not meet those of the last.
                texts = (f"{{ {each['code']} }}", hardened(f"{{ {each['code']} }}", Target.RENDERER))
                times: tuple[list[float], list[float]] = ([], [])
                for turn in range(rounds + 1):
                    for which in (0, 1) if turn % 2 else (1, 0):
                        begin = time.perf_counter()
                        answer = browser.call(
                            "Runtime.evaluate", {"expression": texts[which]}, session, timeout=60
                        )
                        if "exceptionDetails" in answer:
                            raise SystemExit(f"{each['name']}: {answer['exceptionDetails']}")
                        if turn:
                            times[which].append((time.perf_counter() - begin) * 1e3)
                found.append({"original": times[0], "hardened": times[1]})
            return found
        finally:
            browser.close()


def hardened(code: str, target: Target) -> str:
    """Return the hardened form of a piece of work, as a script."""
    made = harden_payload(code.encode(), target=target, shape=Shape.SCRIPT, prefix=PREFIX)
    if not isinstance(made, Hardened):
        raise SystemExit(f"not hardenable: {made.reason}")
    return made.text.decode()


def past_limit(report: dict[str, Any]) -> list[str]:
    """Return what is past its limit."""
    past = [
        f"emission {row['style']} {row['size']}: {row['ratio']} x validate()"
        for row in report["emission"]
        if row["load"] == "ordinary"
        and row["size"] != "100 B"
        and (row.get("ratio") or 0) > LIMITS["emission"]
    ]
    for row in report["runtime"]:
        past += [
            f"{row['target']}: {row[key]:,} {key}" for key in ("bytes", "gzipped") if row[key] > LIMITS[key]
        ]
    if report["start_ms"] and report["start_ms"] > LIMITS["start_ms"]:
        past.append(f"start: {report['start_ms']} ms")
    return past + [
        f"{row['name']}: {row['ratio']} x"
        for row in report["slow_down"]
        if row["limit"] and row.get("ratio", 0) > row["limit"]
    ]


def lines(report: dict[str, Any]) -> list[str]:
    """Return the text output."""
    shown = [
        "emission (ratio to validate() alone and added to it, ms, size without the run-time to that of the payload)"
    ]
    for row in report["emission"]:
        about = f"  {row['load']:9} {row['style']:10} {row['size']:>6}"
        shown.append(
            f"{about}  {row['ratio']:>6} {row['added']:>6} {row['ms']:>8} ms  x{row['factor']}"
            if "ratio" in row
            else f"{about}  refused: {row['refused']}"
        )
    shown.append("run-time")
    shown += [
        f"  {row['target']:9} {row['bytes']:>7,} bytes, {row['gzipped']:>6,} compressed"
        for row in report["runtime"]
    ]
    shown.append(f"  start {report['start_ms']} ms")
    shown.append("slow-down")
    for row in report["slow_down"]:
        limit = f", limit {row['limit']}" if row["limit"] else ""
        shown.append(
            f"  {row['name']:16} {row.get('ratio', 'not measured'):>6} x of {row.get('ms', '-'):>8} ms{limit}"
        )
    shown += [f"past its limit: {each}" for each in report["past_limit"]]
    return shown


if __name__ == "__main__":
    sys.exit(main())
