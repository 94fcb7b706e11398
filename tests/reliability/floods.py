"""Floods by a caller without a token, while one with a token makes calls: resets, pings, metadata, rejected calls.

For each kind: how many frames or calls were sent, the server's processor time, the answers of the ordinary caller, the
growth of stderr and of the audit log, and whether they contain any text of the flooding caller.

    python tests/reliability/floods.py                     10 seconds of each kind, one JSON object a kind
    python tests/reliability/floods.py --kind rapid_reset --seconds 3
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benign import Caller, Experience
from raw_http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    OPENING,
    PING,
    RST_STREAM,
    SETTINGS,
    connected,
    drained,
    failure_site,
    frame,
    header_block,
    message_frames,
)
from script import parser, report
from sidecar import sidecar

from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

TOKEN = "a-token-of-the-floods"
MARKER = "PlantedByStranger"
STDERR_KB = 64
P99_MS = 150.0
_CANCEL = (8).to_bytes(4, "big")
_CALLS = 20_000  # on one connection
_PAUSE = 0.001
_MESSAGE = pb.ValidateRequest(code=b"document.title", target=pb.TARGET_RENDERER).SerializeToString()
_UNDECODABLE = MARKER.encode() + b"A" * 1_900 + b"\xff"


@dataclass
class Figures:
    """What one flood showed."""

    kind: str
    seconds: float
    sent: int = 0
    connections: int = 0
    processor_share: float = 0.0
    benign: Experience = field(default_factory=Experience)
    stderr_kb: float = 0.0
    log_kb_beyond_benign: float = 0.0
    markers: dict[str, int] = field(default_factory=dict)
    rss_grown_mb: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether everything held that does not depend on the speed of the machine."""
        quiet = self.stderr_kb <= STDERR_KB and not any(self.markers.values())
        return self.benign.asked > 0 and not self.benign.lost and self.sent > 0 and quiet

    @property
    def passed(self) -> bool:
        """Whether the ordinary caller was answered in time as well."""
        return self.is_sound and self.benign.p99_ms <= P99_MS


def call(stream: int, extra: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return a call that has no message."""
    block = header_block(extra=(extra or {}).items())
    return frame(HEADERS, block, flags=END_HEADERS | END_STREAM, stream=stream)


def reset(stream: int) -> bytes:
    """Return a whole call and its cancellation (CVE-2023-44487)."""
    begun = frame(HEADERS, header_block(), flags=END_HEADERS, stream=stream)
    return begun + message_frames(_MESSAGE, stream=stream) + frame(RST_STREAM, _CANCEL, stream=stream)


def undecodable(stream: int) -> bytes:
    """Return a call whose metadata is no UTF-8."""
    return call(stream, {b"x%d" % number: _UNDECODABLE for number in range(3)})


def marked(stream: int) -> bytes:
    """Return a call that carries the marker wherever text can be, decodable or not."""
    odd, even = _UNDECODABLE[:200] + b"\xff", MARKER.encode()
    block = header_block(
        method=f"{MARKER}/{MARKER}" if stream % 4 == 1 else f"evalward.v1.GuardService/{MARKER}",
        extra={
            b":authority": odd if stream % 8 == 1 else even,
            b"user-agent": odd,
            b"x-marked": odd,
            b"x-marked-bin": b"!" + even,
            MARKER.lower().encode(): odd,
            b"traceparent": odd,
            b"authorization": b"Bearer " + odd,
            b"grpc-timeout": even,
            b"grpc-encoding": even,
        }.items(),
    )
    return frame(HEADERS, block, flags=END_HEADERS | END_STREAM, stream=stream)


KINDS: Mapping[str, tuple[Callable[[int], bytes], int, int]] = {
    # A frame or a call, how many of them go out between two pauses, and how many over one connection.
    "rapid_reset": (reset, 20, _CALLS),
    "begun_and_reset": (
        lambda stream: (
            frame(HEADERS, header_block(), flags=END_HEADERS, stream=stream)
            + frame(RST_STREAM, _CANCEL, stream=stream)
        ),
        20,
        _CALLS,
    ),
    "pings": (lambda _stream: frame(PING, bytes(8)), 100, _CALLS),
    "settings": (lambda _stream: frame(SETTINGS, b""), 100, _CALLS),
    "empty_data": (lambda stream: frame(DATA, b"", stream=stream), 100, _CALLS),
    "no_token": (call, 20, _CALLS),
    "no_token_anew": (call, 20, 20),
    "undecodable": (undecodable, 5, _CALLS),
    "marked": (marked, 5, _CALLS),
}


BOUNDED = [kind for kind in KINDS if kind != "no_token_anew"]
"""All but calls over ever new connections, which nothing here can bound (docs/explanation/reliability.md, "Floods")."""


def flood(address: str, kind: str, seconds: float, connections: int) -> None:
    """Send for ``seconds`` over so many connections at a time; print how much was sent over how many in all."""
    end = time.perf_counter() + seconds
    floods = [_Flood(failure_site(address), *KINDS[kind]) for _ in range(connections)]
    while time.perf_counter() < end:
        for each in floods:
            each.send()
        time.sleep(_PAUSE)
    sys.stdout.write(json.dumps([sum(each.sent for each in floods), sum(each.opened for each in floods)]))


class _Flood:
    """Sends over one connection, and over the next when the server has hung up."""

    def __init__(self, place: tuple[str, int], make: Callable[[int], bytes], at_once: int, most: int) -> None:
        self._place = place
        self._make = make
        self._at_once = at_once
        self._most = most
        self._sock: socket.socket | None = None
        self.sent = self.opened = 0

    def send(self) -> None:
        try:
            if self._sock is None or not self._hung_up.is_alive() or self._stream > 2 * self._most:
                self._connect()
            assert self._sock is not None
            streams = [self._stream + 2 * number for number in range(self._at_once)]
            self._sock.sendall(b"".join(map(self._make, streams)))
        except OSError:
            self._sock = None
            return
        self._stream += 2 * self._at_once
        self.sent += self._at_once

    def _connect(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = connected(self._place)
        self._sock.sendall(OPENING)
        self._hung_up = drained(self._sock)
        self._stream = 1
        self.opened += 1


def run(folder: Path, kind: str, *, seconds: float, connections: int = 1) -> Figures:
    """Flood a server for ``seconds``."""
    figures = Figures(kind, seconds)
    tokens = folder / "tokens"
    tokens.touch(0o600)
    tokens.write_text(TOKEN)
    with sidecar(folder, "--allow-eval=renderer", "--token-file", str(tokens), name=kind) as served:
        memory, before = served.rss_mb()["server"], served.processor_seconds()
        attack = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "--flood",
                served.address,
                "--kind",
                kind,
                "--seconds",
                str(seconds),
                "--connections",
                str(connections),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        figures.benign = Caller(served.address, seconds * 0.8, token=TOKEN).experience()
        told, _ = attack.communicate()
        figures.sent, figures.connections = json.loads(told)
        figures.processor_share = round((served.processor_seconds() - before) / seconds, 2)
        figures.rss_grown_mb = round(served.rss_mb()["server"] - memory, 1)
    said, log = served.stderr.read_text(errors="replace"), served.log.read_text(encoding="utf-8")
    lines = [line for line in log.splitlines(keepends=True) if '"decision"' not in line]
    figures.stderr_kb, figures.log_kb_beyond_benign = (
        round(len(said) / 1024, 1),
        round(sum(map(len, lines)) / 1024, 1),
    )
    figures.markers = {
        "stderr": said.lower().count(MARKER.lower()),
        "audit log": log.lower().count(MARKER.lower()),
    }
    return figures


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--kind", choices=KINDS)
    options.add_argument("--connections", type=int, default=1, help="over how many at a time")
    options.add_argument("--flood", metavar="ADDRESS", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.flood:
        flood(chosen.flood, chosen.kind, chosen.seconds, chosen.connections)
        return
    failed = False
    for kind in [chosen.kind] if chosen.kind else BOUNDED:
        with tempfile.TemporaryDirectory() as folder:
            figures = run(Path(folder), kind, seconds=chosen.seconds, connections=chosen.connections)
        failed |= not report(figures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
