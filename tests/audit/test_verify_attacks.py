"""Thousands of random changes to logs of several chains and files: which may verify, and which must."""

from __future__ import annotations

import random
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pytest
from log_lines import ALLOW, START, STOP

from evalward.audit import AuditKey, AuditLog
from evalward.audit.files import LogFile, in_order
from evalward.audit.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.audit.chain import Head

KEY = AuditKey(bytes(32))
SECOND = 1_000_000_000
ATTACKS = 2_000


class Chain(NamedTuple):
    lines: list[bytes]
    head: Head


def harmed(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Return ``lines`` after one change by an attacker without the key."""
    lines = [*lines]
    if not lines:
        return lines
    begin, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    end = begin + chance.randint(1, 6)
    match chance.choice(["remove", "cut", "swap", "copy", "edit", "move"]):
        case "remove":
            del lines[begin:end]
        case "cut":
            del lines[begin:]
        case "swap":
            lines[begin], lines[other] = lines[other], lines[begin]
        case "copy":
            lines.insert(other, lines[begin])
        case "edit":
            line = bytearray(lines[begin])
            line[chance.randrange(len(line) - 1)] ^= 1
            lines[begin] = bytes(line)
        case "move":
            block = lines[begin:end]
            del lines[begin:end]
            lines[other:other] = block
    return lines


def split(lines: list[bytes], chance: random.Random) -> list[LogFile]:
    """Return the lines in one to four files, in any order."""
    cuts = sorted(chance.randint(0, len(lines)) for _ in range(chance.randint(0, 3)))
    parts = [lines[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    chance.shuffle(parts)
    return [LogFile(str(number), BytesIO(b"".join(part))) for number, part in enumerate(parts) if part]


def is_hidden(lines: list[bytes], chains: list[Chain], *, heads: set[Head]) -> bool:
    """Whether a record is missing, added or altered, where the log or a head shows it.

    A chain that was removed completely and the end of the last one show only in a head that was kept.
    """
    here = {*lines}
    left = [here & {*chain.lines} for chain in chains]
    if here - {line for chain in chains for line in chain.lines} or len(lines) != len(here):
        return True
    if any({*chain.lines[: len(some)]} != some for chain, some in zip(chains, left, strict=True)):
        return True
    last = max((number for number, some in enumerate(left) if some), default=-1)
    return any(
        len(some) < len(chain.lines) and (chain.head in heads or (some and number < last))
        for number, (chain, some) in enumerate(zip(chains, left, strict=True))
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("steps", [False, True], ids=["", "the clock is set back"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_nothing_that_shows_is_called_whole_and_nothing_whole_is_not(
    tmp_path: Path, count: int, *, steps: bool
) -> None:
    chance = random.Random(count)
    now = 1_780_000_000 * SECOND

    def clock() -> int:
        nonlocal now
        now += SECOND
        return now

    chains = []
    for number in range(count):
        with AuditLog.open(tmp_path / str(number), key=KEY, clock=clock) as log:
            for record in (START, *[ALLOW] * chance.randint(1, 6), STOP):
                log.append(record)
            chains.append(Chain((tmp_path / str(number)).read_bytes().splitlines(keepends=True), log.head))
        now -= chance.randint(0, 20) * SECOND * steps
    written = [line for chain in chains for line in chain.lines]
    called_whole = 0
    for attack in range(ATTACKS):
        lines = written
        for _ in range(attack % 3):
            lines = harmed(lines, chance)
        # Where clocks do not order the chains, the head of each chain is expected instead.
        heads = {chain.head for chain in chains if steps} or ({chains[-1].head} if attack % 2 else set())
        found = verify(in_order(split(lines, chance)), key=KEY, expect_heads=[*heads])
        if lines and found.fault is None:
            called_whole += 1
            assert not is_hidden(lines, chains, heads=heads), (attack, found)
        if lines == written:
            assert found.fault is None, (attack, found)
    assert called_whole > ATTACKS / 3 - 1
