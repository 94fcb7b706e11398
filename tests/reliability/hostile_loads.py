"""The hostile loads of ``hostile_mix.py``: each runs until its end and counts what it sent.

``slow_texts`` sends every slow or deep text of guard.md, section 4, one after the other without a pause. The others
send malformed frames, oversized messages, requests whose answer is never read, requests that are never completed, and
connections that are reset in the middle.
"""

from __future__ import annotations

import random
import socket
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import yaml
from benign import TIMEOUT
from raw_http2 import PREFACE, asking, connected, frame
from sidecar import outcome

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator

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
# Valid code that is long and harmless: it may be allowed if its limits hold.
HARMLESS = {
    "arrays",
    "else if",
    "functions",
    "head-in-order",
    "joined letters",
    "parentheses",
    "semicolons",
    "sum",
    "templates",
    "ternaries",
    "thens",
    "unresolved keys",
    "words",
}
HALF_SENT = 300
HALF_SENT_PACE = 1 / 160
RESET = struct.pack("ii", 1, 0)


@dataclass
class Hostile:
    """What the hostile side sent, and the answers: each load adds its own."""

    hostile_texts: int = 0
    hostile_texts_judged: int = 0
    hostile: dict[str, int] = field(default_factory=dict)
    hostile_allowed: list[str] = field(default_factory=list)
    malformed: int = 0
    oversized: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    half_sent: int = 0
    reset: int = 0


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


def slow_texts(address: str, end: float, figures: Hostile) -> None:
    """Send the most expensive payloads without a pause."""
    codes: Counter[str] = Counter()
    all_of_them = texts()
    figures.hostile_texts = len(all_of_them)
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        for (name, code), _ in zip(cycle(all_of_them), rounds(end), strict=False):
            request = pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)
            answer = outcome(stub, request, timeout=TIMEOUT)
            codes[answer] += 1
            if answer == "allowed" and name not in HARMLESS:
                figures.hostile_allowed.append(name)
    figures.hostile = dict(codes)
    figures.hostile_texts_judged = min(codes.total(), len(all_of_them))


def malformed_frames(place: tuple[str, int], end: float, figures: Hostile) -> None:
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


def oversized_messages(address: str, end: float, figures: Hostile) -> None:
    """Send messages above every limit of the transport and of the guard."""
    codes: Counter[str] = Counter()
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)
        for size, _ in zip(cycle((128 * 1024 + 1, 400 * 1024, 4 * 1024 * 1024)), rounds(end), strict=False):
            request = pb.ValidateRequest(code=b" " * size, target=pb.TARGET_RENDERER)
            codes[outcome(stub, request, timeout=TIMEOUT)] += 1
            time.sleep(0.02)
    figures.oversized = dict(codes)


def unread_answers(place: tuple[str, int], end: float, figures: Hostile) -> None:
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


def half_sent_requests(place: tuple[str, int], end: float, figures: Hostile) -> None:
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


def abrupt_resets(place: tuple[str, int], end: float, figures: Hostile) -> None:
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
