"""The chains that processes write one after another, and files with their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from log_lines import ALLOW, START, STOP

from evalward.audit import AuditKey, AuditLog
from evalward.audit.files import read_files
from evalward.audit.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.audit.chain import Head
    from evalward.audit.verification_result import Findings

SECRET = bytes(range(32))
KEY = AuditKey(SECRET)
SECOND = 1_000_000_000
NOON = 1_780_000_000 * SECOND


class Chain(NamedTuple):
    lines: list[bytes]
    head: Head


class Clock:
    """One record per second, from ``now`` on."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += SECOND
        return self.now


def chain(folder: Path, clock: Clock, *, decisions: int = 5, stops: bool = True) -> Chain:
    """Return the chain of one process."""
    path = folder / f"made-{len(list(folder.iterdir()))}"
    with AuditLog.open(path, key=KEY, clock=clock) as log:
        for record in [START, *[ALLOW] * decisions, *[STOP] * stops]:
            log.append(record)
        head = log.head
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    return Chain(lines, head)


def written(folder: Path, *files: list[bytes]) -> list[Path]:
    paths = [folder / f"log-{number}" for number in range(len(files))]
    for path, lines in zip(paths, files, strict=True):
        path.write_bytes(b"".join(lines))
    return paths


def verified(paths: list[Path], *expect_heads: Head) -> Findings:
    return verify(read_files(paths), key=KEY, expect_heads=expect_heads)
