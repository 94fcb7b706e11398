"""ValidateStreams that are held open, up to their limit and beyond, while other callers need one.

The hostile side holds them in three ways, each over its own connection: it sends nothing, it sends an item every two
seconds, or it sends items and reads no answer. It reopens each stream that is ended.

    python tests/reliability/idle_streams.py               10 seconds of each kind, one JSON object a kind
    python tests/reliability/idle_streams.py --kind silent --seconds 5
"""

from __future__ import annotations

import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from raw_http2 import (
    END_HEADERS,
    HEADERS,
    OPENING,
    PREFACE,
    SETTINGS,
    connected,
    drained,
    failure_site,
    frame,
    header_block,
    streamed_message,
)
from script import parser, report
from sidecar import percentile, sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    import socket

STREAMS = 8  # as many as may be open
KINDS = ("silent", "slow", "unread")
PACE = 0.1
P99_MS = 250.0
LEAST_SHARE = 0.9  # the rest find eight that have come within the last tenth of a second
_ITEM = pb.ValidateStreamRequest(
    item=pb.ValidateRequest(code=b"document.title", target=pb.TARGET_RENDERER)
).SerializeToString()
_NO_WINDOW = PREFACE + frame(SETTINGS, struct.pack("!HI", 4, 0))


@dataclass
class Figures:
    """What one way of holding streams showed; times in milliseconds."""

    kind: str
    seconds: float
    opened: int = 0
    asked: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    p50_ms: float = 0.0
    p99_ms: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether everything held that does not depend on the speed of the machine: most callers got a stream."""
        return self.opened >= STREAMS and self.answers.get("allowed", 0) > self.asked // 2

    @property
    def passed(self) -> bool:
        """Whether nearly every caller got a stream when it first asked, and soon."""
        got = self.answers.get("allowed", 0) >= LEAST_SHARE * self.asked
        return self.is_sound and got and self.p99_ms <= P99_MS


class Holder:
    """Holds one stream, and opens another when it is ended."""

    def __init__(self, place: tuple[str, int], kind: str) -> None:
        self._place = place
        self._kind = kind
        self._sock: socket.socket | None = None
        self._gone: threading.Thread | None = None
        self._sent_at = 0.0
        self.opened = 0

    def hold(self) -> None:
        """Open the stream if it is not there; send what the kind sends."""
        with suppress(OSError):
            if self._sock is None or self._gone is None or not self._gone.is_alive():
                self._open()
            assert self._sock is not None
            if self._kind == "slow" and time.monotonic() - self._sent_at > 2.0:
                self._sent_at = time.monotonic()
                self._sock.sendall(streamed_message(_ITEM))

    def _open(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = connected(self._place)
        self._sock.sendall(_NO_WINDOW if self._kind == "unread" else OPENING)
        block = header_block("evalward.v1.GuardService/ValidateStream")
        self._sock.sendall(frame(HEADERS, block, flags=END_HEADERS, stream=1))
        if self._kind == "unread":
            self._sock.sendall(streamed_message(_ITEM) * 4)
        self._gone = drained(self._sock, until=b"grpc-status")
        self.opened += 1

    def close(self) -> None:
        """Let go."""
        if self._sock is not None:
            self._sock.close()


def run(folder: Path, kind: str, *, seconds: float, streams: int = STREAMS) -> Figures:
    """Hold ``streams`` for ``seconds`` and ask for one of them again and again."""
    figures = Figures(kind, seconds)
    answers: Counter[str] = Counter()
    times: list[float] = []
    with sidecar(folder, "--allow-eval=renderer", name=kind) as served:
        holders = [Holder(failure_site(served.address), kind) for _ in range(streams)]
        end = time.perf_counter() + seconds
        done = threading.Event()

        def hold() -> None:
            while not done.wait(0.05):
                for each in holders:
                    each.hold()

        for each in holders:
            each.hold()
        thread = threading.Thread(target=hold)
        thread.start()
        while time.perf_counter() < end:
            begin = time.perf_counter()
            answers[asked(served.address)] += 1
            times.append((time.perf_counter() - begin) * 1000)
            time.sleep(PACE)
        done.set()
        thread.join()
        for each in holders:
            each.close()
    figures.opened = sum(each.opened for each in holders)
    figures.asked, figures.answers = len(times), dict(answers)
    figures.p50_ms, figures.p99_ms = percentile(times, 0.5), percentile(times, 0.99)
    return figures


def asked(address: str) -> str:
    """Return how a stream of one item over a new connection ends."""
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        request = pb.ValidateStreamRequest.FromString(_ITEM)
        try:
            (answer,) = GuardServiceStub(channel).ValidateStream(iter([request]), timeout=10)
        except grpc.RpcError as failure:
            return (failure.details() or "").partition(":")[0] or failure.code().name
    return "allowed" if answer.WhichOneof("outcome") == "allowed" else str(answer.error.code)


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--kind", choices=KINDS)
    chosen = options.parse_args()
    failed = False
    for kind in [chosen.kind] if chosen.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            figures = run(Path(folder), kind, seconds=chosen.seconds)
        failed |= not report(figures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
