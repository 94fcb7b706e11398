"""Measure what ``evalward mcp`` adds to a call: each kind of call directly and proxied, in alternating rounds.

The server answers at once, so that the difference is the proxy's. Evaluated calls differ from one another, so that no
verdict is cached; each runs a hardened program, unless the policy switches that off (`plain`).

    python benchmarks/proxy.py            a table
    python benchmarks/proxy.py --json     the same figures as one JSON object
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from proxied_server import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE: Final = Path(__file__).parent
SERVER: Final = [sys.executable, "-S", str(HERE / "proxied_server.py")]
EVALWARD: Final = Path(sys.executable).with_name("evalward")
INITIALIZE: Final = (
    '"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"b","version":"1"}}'
)
PLAIN: Final = "api_version: evalward/v1\nhardening: off\ntargets: {renderer: {allowed: true}}\n"
KINDS: Final = ("ping", "click", "evaluate")


class Client:
    """Sends requests one after the other and measures each answer."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._count = 0

    def request(self, rest: str) -> float:
        """Return the seconds until the answer to the request with ``rest``."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("no pipes")
        self._count += 1
        line = f'{{"jsonrpc":"2.0","id":{self._count},{rest}}}\n'.encode()
        begin = time.perf_counter()
        stdin.write(line)
        stdin.flush()
        answer = stdout.readline()
        elapsed = time.perf_counter() - begin
        if b'"error"' in answer or b'"isError":true' in answer or not answer:
            raise RuntimeError(answer[:400])
        return elapsed

    def call(self, kind: str, number: int) -> float:
        """Return the seconds of one call of ``kind``; ``number`` makes its payload differ from all others."""
        if kind == "ping":
            return self.request('"method":"ping"')
        arguments = (
            {"x": number}
            if kind == "click"
            else {"code": f"() => [...document.links].slice(0, {number}).map(a => a.href)"}
        )
        params = json.dumps({"name": kind, "arguments": arguments}, separators=(",", ":"))
        return self.request(f'"method":"tools/call","params":{params}')

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


@contextmanager
def clients() -> Iterator[dict[str, Client]]:
    """Yield a client of the server itself, and of the proxy with and without hardening."""
    with tempfile.TemporaryDirectory() as folder:
        manifest, policy = Path(folder, "manifest.yaml"), Path(folder, "policy.yaml")
        manifest.write_text(MANIFEST)
        policy.write_text(PLAIN)
        proxy = [str(EVALWARD), "mcp", f"--manifest={manifest}"]
        made = {
            "direct": Client(SERVER),
            "hardened": Client(
                [*proxy, "--allow-eval=renderer", f"--audit-log={folder}/1.jsonl", "--", *SERVER]
            ),
            "plain": Client([*proxy, f"--policy={policy}", f"--audit-log={folder}/2.jsonl", "--", *SERVER]),
        }
        for client in made.values():
            client.request(INITIALIZE)
            client.request('"method":"tools/list"')
        yield made
        for client in made.values():
            client.close()


def start_seconds(command: Sequence[str]) -> float:
    """Return the seconds from the start of ``command`` to its list of tools."""
    begin = time.perf_counter()
    client = Client(command)
    client.request(INITIALIZE)
    client.request('"method":"tools/list"')
    elapsed = time.perf_counter() - begin
    client.close()
    return elapsed


def measure(*, rounds: int, calls: int) -> dict[str, Any]:
    """Return the median milliseconds of each kind of call in each way, and what the proxy adds."""
    samples: dict[tuple[str, str], list[float]] = {}
    number = 0
    with clients() as made:
        for client in made.values():
            for kind in KINDS:
                client.call(kind, 0)
        for _ in range(rounds):
            for kind in KINDS:
                for way, client in made.items():
                    for _ in range(calls):
                        number += 1
                        samples.setdefault((kind, way), []).append(client.call(kind, number))
    found = {
        f"{kind} {way}": round(median(seconds) * 1000, 3) for (kind, way), seconds in sorted(samples.items())
    }
    added = {
        f"{kind} {way}": round(found[f"{kind} {way}"] - found[f"{kind} direct"], 3)
        for kind in KINDS
        for way in ("hardened", "plain")
    }
    direct = [start_seconds(SERVER) for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder, "manifest.yaml")
        manifest.write_text(MANIFEST)
        command = [
            str(EVALWARD),
            "mcp",
            f"--manifest={manifest}",
            f"--audit-log={folder}/3.jsonl",
            "--",
            *SERVER,
        ]
        proxied = [start_seconds(command) for _ in range(rounds)]
    start = {"direct": round(median(direct), 3), "proxied": round(median(proxied), 3)}
    return {"p50_ms": found, "added_p50_ms": added, "start_s": start}


def main() -> None:
    """Parse the command line, measure, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=7, help="alternating rounds (default: 7)")
    options.add_argument("--calls", type=int, default=60, help="calls of a kind in a round (default: 60)")
    chosen = options.parse_args()
    result = measure(rounds=chosen.rounds, calls=chosen.calls)
    if chosen.json:
        print(json.dumps(result))
        return
    print("call        direct ms   added, hardened   added, plain   limit")
    for kind, limit in (("ping", 2), ("click", 2), ("evaluate", 6)):
        added = result["added_p50_ms"]
        print(
            f"{kind:<10} {result['p50_ms'][f'{kind} direct']:>10.3f} {added[f'{kind} hardened']:>17.3f} "
            f"{added[f'{kind} plain']:>14.3f} {limit:>7}"
        )
    start = result["start_s"]
    print(f"start      {start['direct']:.3f} s directly, {start['proxied']:.3f} s proxied, limit +0.6 s")


if __name__ == "__main__":
    main()
