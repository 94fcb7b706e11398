"""Callers with the most expensive payloads of at most 16 KiB, and at the same time one with ordinary payloads.

Each expensive caller sends without a pause, over its own connection or, with ``fresh``, over a new one for each
payload. The ordinary caller is a separate process.

    python tests/reliability/expensive_callers.py          10 seconds of each kind, one JSON object a kind
    python tests/reliability/expensive_callers.py --kind fresh --seconds 5
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import yaml
from benign import Caller, Experience
from script import parser, report
from sidecar import outcome, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

TEXTS = Path(__file__).parents[1] / "data/hostile_text.yaml"
SIZE = 16_000
CALLERS = 8
KINDS = ("kept", "fresh", "batches")
P99_MS = 150.0
LOCAL = [("grpc.use_local_subchannel_pool", 1)]
EXPENSIVE = (
    b"o={a:o,b:o,[k]:o};",
    b"a=a.concat(a).map(f);",
    b"s=s.replace(r,t)+s;",
    b"function f(a,b){return g(a)(b)}f(f,f);",
)


@dataclass
class Figures:
    """What one kind showed."""

    kind: str
    seconds: float
    callers: int
    expensive: dict[str, int] = field(default_factory=dict)
    benign: Experience = field(default_factory=Experience)

    @property
    def is_sound(self) -> bool:
        """Whether everything held that does not depend on the speed of the machine."""
        return self.benign.asked > 0 and not self.benign.lost and sum(self.expensive.values()) > 0

    @property
    def passed(self) -> bool:
        """Whether the ordinary caller was answered in time as well."""
        return self.is_sound and self.benign.p99_ms <= P99_MS


def texts() -> list[bytes]:
    """Return what takes the guard longest for its size."""
    made = [unit * (SIZE // len(unit)) for unit in EXPENSIVE]
    for case in yaml.safe_load(TEXTS.read_text(encoding="utf-8")):
        head, unit = str(case.get("head", "")).encode(), str(case["unit"]).encode()
        made.append(head + unit * ((SIZE - len(head)) // len(unit)))
    return made


def attack(address: str, kind: str, seconds: float, callers: int) -> None:
    """Ask from so many callers; print how the answers were."""
    end = time.perf_counter() + seconds
    bodies = texts()
    codes: Counter[str] = Counter()

    def caller(number: int) -> None:
        with ExitStack() as stack:
            turn = number
            stub = None
            while time.perf_counter() < end:
                turn += 1
                # Never the same twice: a verdict that is remembered costs nothing.
                code = b"%s//%d.%d" % (bodies[turn % len(bodies)], number, turn)
                if stub is None or kind == "fresh":
                    stack.pop_all().close()
                    stub = GuardServiceStub(stack.enter_context(grpc.insecure_channel(address, LOCAL)))
                codes[asked(stub, code, in_batch=kind == "batches")] += 1

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(json.dumps(codes))


def asked(stub: Any, code: bytes, *, in_batch: bool) -> str:
    """Return how ``code`` is answered, or how parts of it are, sixty in a batch."""
    request = pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)
    if not in_batch:
        return outcome(stub, request, timeout=5)
    items = [
        pb.ValidateRequest(code=b"%s//%d" % (code[:4_000] + code[-10:], number), target=pb.TARGET_RENDERER)
        for number in range(60)
    ]
    try:
        answer = stub.ValidateBatch(pb.ValidateBatchRequest(items=items), timeout=5)
    except grpc.RpcError as failure:
        return (failure.details() or "").partition(":")[0]
    return "allowed" if answer.WhichOneof("outcome") == "allowed" else str(answer.error.code)


def run(folder: Path, kind: str, *, seconds: float, callers: int = CALLERS, workers: int = 1) -> Figures:
    """Attack a server for ``seconds``."""
    figures = Figures(kind, seconds, callers)
    with sidecar(folder, "--allow-eval=renderer", "--workers", str(workers), name=kind) as served:
        flags = ("--kind", kind, "--seconds", str(seconds), "--callers", str(callers))
        hostile = subprocess.Popen(
            [sys.executable, __file__, "--attack", served.address, *flags], stdout=subprocess.PIPE, text=True
        )
        figures.benign = Caller(served.address, seconds * 0.8).experience()
        told, _ = hostile.communicate()
        figures.expensive = json.loads(told)
    return figures


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--kind", choices=KINDS)
    options.add_argument("--callers", type=int, default=CALLERS)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--attack", metavar="ADDRESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.attack:
        attack(chosen.attack, chosen.kind, chosen.seconds, chosen.callers)
        return
    failed = False
    for kind in [chosen.kind] if chosen.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            figures = run(
                Path(folder), kind, seconds=chosen.seconds, callers=chosen.callers, workers=chosen.workers
            )
        failed |= not report(figures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
