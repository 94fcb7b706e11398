"""How the chains of a log follow each other, and which of them lack a STOP record.

On standard output each process has its own chain, and ends it with a STOP record when it stops regularly. A chain
that ends without one, and is followed by another, was cut short, or its process was killed. The log alone cannot
distinguish the two cases; a head that was kept elsewhere can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.audit.record_values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.audit.chain import Head, Line


@dataclass(slots=True)
class ChainEnd:
    """Where a chain begins and ends: files by their number, ``place`` as name and line of the last record."""

    head: Head
    place: tuple[str, int]
    first_file: int
    last_file: int
    first_time: str
    last_time: str
    is_stopped: bool

    @classmethod
    def at(cls, line: Line, file: int, place: tuple[str, int]) -> ChainEnd:
        """Return a chain that begins, and so far ends, with ``line``."""
        time = str(line.record.get("ts", ""))
        return cls(line.head, place, file, file, time, time, _is_stop(line))

    def go_on(self, line: Line, file: int, place: tuple[str, int]) -> None:
        """Take ``line`` as the last one."""
        self.head, self.place, self.last_file = line.head, place, file
        self.last_time = str(line.record.get("ts", ""))
        self.is_stopped = _is_stop(line)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A chain without a STOP record; ``follower`` is the later chain because of which it must have one."""

    chain: ChainEnd
    follower: ChainEnd | None

    def __str__(self) -> str:
        head = self.chain.head
        said = f"chain {head.chain} ends with record {head.seq}, which is no stop record"
        if self.follower is None:
            return f"{said}, and no head was expected of it"
        return (
            f"{said}, and chain {self.follower.head.chain} follows: it was cut short, or its process was killed; "
            "pass its own kept head as another --expect-head to distinguish the two"
        )


def unfinished(chains: Sequence[ChainEnd], expected: Iterable[Head]) -> Unfinished | None:
    """Return the first chain that must have an end, and ends neither with a STOP record nor with an expected head.

    A chain must have an end if another one follows it. Once a head is expected of some chain, so must every chain
    that has no expected head and is not the last: then a clock that was set back cannot hide a truncation.
    """
    heads = {*expected}
    asked = {head.chain for head in heads}
    for number, chain in enumerate(chains):
        if chain.is_stopped or chain.head in heads:
            continue
        others = [(other, each) for other, each in enumerate(chains) if each is not chain]
        for other, each in others:
            if _follows(chain, each, is_later=other > number):
                return Unfinished(chain, each)
        is_last = all(_follows(each, chain, is_later=number > other) for other, each in others)
        if asked and chain.head.chain not in asked and not is_last:
            return Unfinished(chain, None)
    return None


def _follows(chain: ChainEnd, other: ChainEnd, *, is_later: bool) -> bool:
    """Whether ``other`` begins after the end of ``chain``, by position if they share a file, else by its clock."""
    return (is_later and other.first_file == chain.last_file) or chain.last_time < other.first_time


def _is_stop(line: Line) -> bool:
    return line.record.get("kind") == Kind.STOP
