"""Benign calls during all hostile loads at once: how long they wait, and whether one is lost.

The hostile side sends every slow or deep text of guard.md, section 4, one after the other without a pause. At the
same time it sends malformed frames, oversized messages, requests whose answer is never read, requests that are never
completed, and connections that are reset in the middle. The benign side is another process that sends calls at a
steady rate with the client's own deadline.

    python tests/reliability/hostile_mix.py                60 seconds, one JSON object at the end
    python tests/reliability/hostile_mix.py --seconds 5 --workers 2
    python tests/reliability/hostile_mix.py --fronts 2 --workers 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import yaml
from raw_http2 import PREFACE, asking, connected, frame
from script import parser, report
from sidecar import outcome, percentile, processor_seconds, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sidecar import Sidecar

TEXTS = Path(__file__).parents[1] / "data/hostile_text.yaml"
SIZES = (16 * 1024, 64 * 1024, 128 * 1024)
# In addition to the texts that are expensive to parse: texts that are deep, or long in one direction.
DEEP = {
    "parentheses": b"(" * 60_000 + b"1" + b")" * 60_000,
    "arrays": b"[" * 60_000 + b"]" * 60_000,
    "sum": b"1" + b"+1" * 60_000,
    "hidden call": b"globalThis['ev'+'al'](1)" + b"+1" * 50_000,
    "thens": b"p" + b".then(f)" * 15_000,
    "else if": b"if (a) b;" + b"else if (a) b;" * 9_000,
    "ternaries": b"a?b:" * 30_000 + b"c",
    "functions": b"function f(){" * 9_000 + b"}" * 9_000,
    "templates": b"`${" * 20_000 + b"1" + b"}`" * 20_000,
    "joined letters": b"x=[]+[];" + b"x=x+'a'+x;" * 10_000,
    "unresolved keys": b"o[k]=o[j][k];" * 9_000,
}
BENIGN_PACE = 0.05
BENIGN_TIMEOUT = 10.0
P99_MS = 150.0
MOST_MS = 200.0
HALF_SENT = 300
HALF_SENT_PACE = 1 / 160
RESET = struct.pack("ii", 1, 0)


@dataclass
class Figures:
    """The figures of a run; times in milliseconds."""

    seconds: float = 0.0
    workers: int = 0
    fronts: int = 1
    benign: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    most_ms: float = 0.0
    above_200_ms: int = 0
    hostile_texts: int = 0
    hostile_texts_judged: int = 0
    hostile: dict[str, int] = field(default_factory=dict)
    hostile_allowed: list[str] = field(default_factory=list)
    malformed: int = 0
    oversized: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    half_sent: int = 0
    reset: int = 0
    rss_mb: dict[str, float] = field(default_factory=dict)
    processor_share: dict[str, float] = field(default_factory=dict)
    load_average: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether all conditions that do not depend on the machine's speed were met."""
        return self.benign > 0 and not self.lost and not self.hostile_allowed

    @property
    def passed(self) -> bool:
        """Whether all conditions of issue 6 were met."""
        tried = min(self.malformed, self.unread, self.half_sent, self.reset, sum(self.oversized.values()))
        all_texts = self.hostile_texts_judged == self.hostile_texts
        return self.is_sound and tried > 0 and all_texts and self.p99_ms <= P99_MS and self.most_ms <= MOST_MS


def run(folder: Path, *, seconds: float, workers: int, fronts: int = 1) -> Figures:
    """Run all loads for ``seconds``; each front has ``workers``."""
    figures = Figures(seconds=seconds, workers=workers, fronts=fronts)
    flags = (
        "--allow-eval=renderer",
        "--workers",
        str(workers),
        "--verdict-cache",
        "0",
        "--fronts",
        str(fronts),
    )
    with sidecar(folder, *flags) as served:
        end = time.perf_counter() + seconds
        host, _, port = served.address.rpartition(":")
        place = (host, int(port))
        benign = subprocess.Popen(
            [sys.executable, __file__, "--benign", served.address, "--seconds", str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        jobs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
            (slow_texts, (served.address, end, figures)),
            (malformed_frames, (place, end, figures)),
            (oversized_messages, (served.address, end, figures)),
            (unread_answers, (place, end, figures)),
            (half_sent_requests, (place, end, figures)),
            (abrupt_resets, (place, end, figures)),
        ]
        threads = [threading.Thread(target=job, args=args) for job, args in jobs]
        before = shares(served, benign.pid)
        for thread in threads:
            thread.start()
        assert benign.stdout is not None
        told = benign.stdout.read()  # all of its output; its end is awaited below
        after = shares(served, benign.pid)
        benign.communicate()
        for thread in threads:
            thread.join()
        figures.processor_share = {name: round((after[name] - before[name]) / seconds, 2) for name in after}
        figures.load_average = round(os.getloadavg()[0], 1)
        figures.rss_mb = served.rss_mb()
    times, codes = json.loads(told)
    figures.benign = len(times)
    figures.lost = {code: number for code, number in codes.items() if code != "allowed"}
    figures.p50_ms, figures.p99_ms = percentile(times, 0.5), percentile(times, 0.99)
    figures.most_ms = round(max(times, default=0.0), 1)
    figures.above_200_ms = sum(each > MOST_MS for each in times)
    return figures


def shares(served: Sidecar, benign: int) -> dict[str, float]:
    """Return the processor seconds of each side so far, without workers that were killed meanwhile."""
    return {
        "server": served.processor_seconds(),
        "workers": sum(map(processor_seconds, served.workers())),
        "generator": time.process_time(),
        "benign": processor_seconds(benign),
    }


def texts() -> list[tuple[str, bytes]]:
    """Return every slow or deep text with its name, in an order that mixes the sizes."""
    all_of_them = [*DEEP.items()]
    for case in yaml.safe_load(TEXTS.read_text(encoding="utf-8")):
        head, unit = str(case.get("head", "")).encode(), str(case["unit"]).encode()
        all_of_them += [(case["id"], head + unit * ((size - len(head)) // len(unit))) for size in SIZES]
    random.Random(4).shuffle(all_of_them)
    return all_of_them


def rounds(end: float) -> Iterator[None]:
    """Yield once, and again until ``end``."""
    yield
    while time.perf_counter() < end:
        yield


# Valid code that is long and harmless: it may be allowed if its limits hold.
HARMLESS = {
    "sum",
    "semicolons",
    "words",
    "thens",
    "else if",
    "ternaries",
    "functions",
    "joined letters",
    "arrays",
}
HARMLESS |= {"parentheses", "templates", "head-in-order", "unresolved keys"}


def slow_texts(address: str, end: float, figures: Figures) -> None:
    """Send the most expensive payloads without a pause."""
    codes: Counter[str] = Counter()
    all_of_them = texts()
    figures.hostile_texts = len(all_of_them)
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        for (name, code), _ in zip(cycle(all_of_them), rounds(end), strict=False):
            request = pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)
            answer = outcome(stub, request, timeout=BENIGN_TIMEOUT)
            codes[answer] += 1
            if answer == "allowed" and name not in HARMLESS:
                figures.hostile_allowed.append(name)
    figures.hostile = dict(codes)
    figures.hostile_texts_judged = min(codes.total(), len(all_of_them))


def malformed_frames(place: tuple[str, int], end: float, figures: Figures) -> None:
    """Send bytes that are not HTTP/2, or only up to the preface."""
    chance = random.Random(7)
    beginnings = (
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        PREFACE,
        PREFACE + frame(4, b""),
        PREFACE + frame(4, b"") * 50,
    )
    for _ in rounds(end):
        with connected(place) as sock:
            sock.sendall(chance.choice(beginnings) + chance.randbytes(chance.randint(1, 4096)))
            figures.malformed += 1
            time.sleep(0.01)


def oversized_messages(address: str, end: float, figures: Figures) -> None:
    """Send messages above every limit of the transport and of the guard."""
    codes: Counter[str] = Counter()
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        for size, _ in zip(cycle((128 * 1024 + 1, 400 * 1024, 4 * 1024 * 1024)), rounds(end), strict=False):
            request = pb.ValidateRequest(code=b" " * size, target=pb.TARGET_RENDERER)
            codes[outcome(stub, request, timeout=BENIGN_TIMEOUT)] += 1
            time.sleep(0.02)
    figures.oversized = dict(codes)


def unread_answers(place: tuple[str, int], end: float, figures: Figures) -> None:
    """Send calls over connections without a window for the answer, and keep the last of them open."""
    message = pb.ValidateRequest(code=b"document.title", target=pb.TARGET_RENDERER).SerializeToString()
    no_window = frame(4, struct.pack("!HI", 4, 0))
    kept: list[socket.socket] = []
    for _ in rounds(end):
        sock = connected(place)
        sock.sendall(PREFACE + no_window + asking(message))
        kept.append(sock)
        figures.unread += 1
        if len(kept) > 100:
            kept.pop(0).close()
        time.sleep(0.02)
    for sock in kept:
        sock.close()


def half_sent_requests(place: tuple[str, int], end: float, figures: Figures) -> None:
    """Send incomplete requests: more at a time than the server has threads."""
    due = time.perf_counter()
    message = pb.ValidateRequest(code=b"document.title", target=pb.TARGET_RENDERER).SerializeToString()
    kept: list[socket.socket] = []
    for _ in rounds(end):
        sock = connected(place)
        sock.sendall((PREFACE + frame(4, b"") + asking(message))[:-1])
        kept.append(sock)
        figures.half_sent += 1
        if len(kept) > HALF_SENT:
            kept.pop(0).close()
        due = max(due + HALF_SENT_PACE, time.perf_counter())
        time.sleep(max(0.0, due - time.perf_counter()))
    for sock in kept:
        sock.close()


def abrupt_resets(place: tuple[str, int], end: float, figures: Figures) -> None:
    """Reset connections during a request, and immediately after a complete one."""
    message = pb.ValidateRequest(code=b"a;" * 30_000, target=pb.TARGET_RENDERER).SerializeToString()
    whole = PREFACE + frame(4, b"") + asking(message)
    chance = random.Random(9)
    for _ in rounds(end):
        sock = connected(place)
        sock.sendall(whole[: chance.choice((30, 100, len(whole) // 2, len(whole)))])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        sock.close()
        figures.reset += 1
        time.sleep(0.02)


def benign_calls(address: str, seconds: float) -> None:
    """Send calls at a steady rate; print the milliseconds of each call and the results."""
    times: list[float] = []
    codes: Counter[str] = Counter()
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        outcome(stub, benign(0), timeout=30)
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            begin = time.perf_counter()
            codes[outcome(stub, benign(len(times)), timeout=BENIGN_TIMEOUT)] += 1
            times.append((time.perf_counter() - begin) * 1000)
            due = max(due + BENIGN_PACE, time.perf_counter())
    sys.stdout.write(json.dumps([times, codes]))


def benign(number: int) -> pb.ValidateRequest:
    """Return an ordinary payload of 1 KB."""
    line = "const row%d = document.querySelector('#row-%d'); row%d.textContent = 'seen';\n"
    code = "".join(line % (n, number, n) for n in range(13))
    return pb.ValidateRequest(code=code.encode(), target=pb.TARGET_RENDERER)


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--fronts", type=int, default=1)
    options.add_argument("--benign", metavar="ADDRESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.benign:
        benign_calls(chosen.benign, chosen.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), seconds=chosen.seconds, workers=chosen.workers, fronts=chosen.fronts)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
