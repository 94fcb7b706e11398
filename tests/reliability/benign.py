"""A benign caller in a separate process: it sends calls at a steady rate while another load runs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

import grpc
from sidecar import outcome, percentile

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

PACE = 0.05
TIMEOUT = 10.0


@dataclass
class Experience:
    """What the caller saw; times in milliseconds."""

    asked: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    most_ms: float = 0.0

    @property
    def answered(self) -> int:
        """How many calls were not lost."""
        return self.asked - sum(self.lost.values())


class Caller:
    """Asks for ``seconds`` from the moment it is made; ``experience`` waits for the end.

    With ``fresh`` every call is the first of a connection of its own. ``ready`` says that one call has been answered.
    """

    def __init__(
        self, address: str, seconds: float, *, token: str | None = None, fresh: bool = False
    ) -> None:
        flags = ["--fresh"] * fresh + ([] if token is None else ["--token", token])
        self._process = subprocess.Popen(
            [sys.executable, __file__, address, str(seconds), *flags], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def experience(self) -> Experience:
        """Wait for the end; return what it was like."""
        told, _ = self._process.communicate()
        times, codes = json.loads(told)
        return Experience(
            asked=len(times),
            lost={code: number for code, number in codes.items() if code != "allowed"},
            p50_ms=percentile(times, 0.5),
            p99_ms=percentile(times, 0.99),
            most_ms=round(max(times, default=0.0), 1),
        )


def payload(number: int) -> pb.ValidateRequest:
    """Return an ordinary payload of 1 KB."""
    line = "const row%d = document.querySelector('#row-%d'); row%d.textContent = 'seen';\n"
    code = "".join(line % (n, number, n) for n in range(13))
    return pb.ValidateRequest(code=code.encode(), target=pb.TARGET_RENDERER)


def ask(address: str, seconds: float, *, token: str | None, fresh: bool) -> None:
    """Ask at a steady pace; print the milliseconds of each call and how they ended."""
    times: list[float] = []
    codes: Counter[str] = Counter()
    headers = None if token is None else (("authorization", f"Bearer {token}"),)
    with ExitStack() as stack:

        def stub() -> GuardServiceStub:
            alone = [("grpc.use_local_subchannel_pool", 1)]
            return GuardServiceStub(stack.enter_context(grpc.insecure_channel(address, alone)))

        to = stub()
        outcome(to, payload(0), timeout=30, metadata=headers)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            begin = time.perf_counter()
            if fresh:
                stack.pop_all().close()
                to = stub()
            codes[outcome(to, payload(len(times) + 1), timeout=TIMEOUT, metadata=headers)] += 1
            times.append((time.perf_counter() - begin) * 1000)
            due = max(due + PACE, time.perf_counter())
    sys.stdout.write(json.dumps([times, codes]))


def main() -> None:
    """Parse the command line and ask."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("address")
    options.add_argument("seconds", type=float)
    options.add_argument("--token")
    options.add_argument("--fresh", action="store_true")
    chosen = options.parse_args()
    ask(chosen.address, chosen.seconds, token=chosen.token, fresh=chosen.fresh)


if __name__ == "__main__":
    main()
