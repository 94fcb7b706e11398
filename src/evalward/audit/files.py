"""The files of an audit log: read in blocks, in the order of their chains and sequence numbers.

Clocks do not decide the order of records, since one that is set back would reorder an intact log. Times only order
two chains that share no file.
"""

from __future__ import annotations

import heapq
import os
import re
import shutil
import stat
import tempfile
import weakref
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from evalward.audit.chain import read_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from evalward.audit.chain import Head, Line

LONGEST_LINE: Final = 64 * 1024
_BLOCK: Final = 256 * 1024
_TIME: Final = re.compile(rb'"ts":"([0-9TZ:.-]{20,32})"')


class Piece(NamedTuple):
    """A line without its newline, or a part of one that exceeds the length limit.

    ``number`` counts lines from 1; ``begins`` and ``ends``: whether the line begins and ends in this piece.
    """

    number: int
    data: bytes
    begins: bool
    ends: bool

    @property
    def is_line(self) -> bool:
        """Whether it is a line with its newline."""
        return self.begins and self.ends


class LogFile:
    """One file with its size at opening: later additions are not read."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        """Own ``stream``, which must be seekable; it is closed with the last reference to this file."""
        self.name = name
        self._stream = stream
        weakref.finalize(self, stream.close)
        self.size = stream.seek(0, os.SEEK_END)

    @classmethod
    def open(cls, path: Path) -> LogFile:
        """Open the file at ``path``; the data of a pipe is copied to a temporary file. Raise OSError."""
        stream = path.open("rb", buffering=0)
        try:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return cls(str(path), stream)
            with stream:
                kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the LogFile
                shutil.copyfileobj(stream, kept)
            return cls(str(path), kept)
        except BaseException:
            stream.close()
            raise

    def pieces(self) -> Iterator[Piece]:
        """Yield the contents of the file; several readers of one file are independent."""
        position, number, rest, begins = 0, 1, b"", True
        while position < self.size:
            block = self._read(position, _BLOCK)
            if not block:
                break
            position += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield Piece(number, line, begins, ends=True)
                number, begins = number + 1, True
            if len(rest) > LONGEST_LINE:
                yield Piece(number, rest, begins, ends=False)
                rest, begins = b"", False
        if rest:
            yield Piece(number, rest, begins, ends=False)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are no longer than a record can be; the last one may be unfinished."""
        return (piece.data for piece in self.pieces() if piece.begins)

    def first(self) -> Line | None:
        """Return the first line that is a record."""
        return next((line for line in map(read_line, self.lines()) if line is not None), None)

    def last(self) -> Line | None:
        """Return the last line that is a record, if it is near the end."""
        tail = self._read(max(0, self.size - _BLOCK), _BLOCK)
        lines = map(read_line, reversed(tail.split(b"\n")))
        return next((line for line in lines if line is not None), None)

    def first_time(self) -> bytes:
        """Return the first ``ts`` near the beginning, empty without one."""
        found = _TIME.search(self._read(0, LONGEST_LINE))
        return b"" if found is None else found[1]

    def _read(self, position: int, size: int) -> bytes:
        self._stream.seek(position)
        return self._stream.read(max(0, min(size, self.size - position)))


def read_files(paths: Iterable[Path]) -> list[LogFile]:
    """Open each file once, even under several names, and return them in the order of their records; raise OSError."""
    files: dict[tuple[int, int], LogFile] = {}
    for path in paths:
        status = path.stat()
        identity = (status.st_dev, status.st_ino)
        if identity not in files:
            files[identity] = LogFile.open(path)
    return in_order([*files.values()])


class _Ends(NamedTuple):
    first: Head | None
    last: Head | None
    time: bytes


def in_order(files: Sequence[LogFile]) -> list[LogFile]:
    """Return ``files`` ordered so that the records of each chain follow each other, where whole files allow it."""
    ends = [_ends(file) for file in files]
    behind, waits_for = _neighbours(ends)
    by_time = sorted(range(len(files)), key=lambda index: (ends[index].time, index))
    rank = {index: place for place, index in enumerate(by_time)}
    ready = [rank[index] for index in by_time if not waits_for[index]]
    in_a_circle = iter(by_time)  # only in a log that was assembled by hand
    ordered: dict[int, LogFile] = {}
    follower: int | None = None
    while len(ordered) < len(files):
        if follower is not None:
            chosen = follower
        elif ready:
            chosen = by_time[heapq.heappop(ready)]
        else:
            chosen = next(index for index in in_a_circle if index not in ordered)
        follower = None
        if chosen in ordered:
            continue
        ordered[chosen] = files[chosen]
        for index in behind[chosen]:
            waits_for[index] -= 1
            if not waits_for[index] and index not in ordered:
                heapq.heappush(ready, rank[index])
                follower = index if follower is None else follower
    return [*ordered.values()]


def _ends(file: LogFile) -> _Ends:
    first, last = file.first(), file.last()
    return _Ends(
        None if first is None else first.head, None if last is None else last.head, file.first_time()
    )


def _neighbours(ends: Sequence[_Ends]) -> tuple[list[list[int]], list[int]]:
    """Return for each file its successors and its number of predecessors, in the chains that it begins or ends with."""
    chains: dict[str, list[tuple[int, int]]] = {}
    for index, (first, last, _) in enumerate(ends):
        if first is not None:
            chains.setdefault(first.chain, []).append((first.seq, index))
        if last is not None and (first is None or last.chain != first.chain):
            chains.setdefault(last.chain, []).append((last.seq, index))
    behind: list[list[int]] = [[] for _ in ends]
    waits_for = [0] * len(ends)
    for places in chains.values():
        for (_, earlier), (_, later) in pairwise(sorted(places)):
            behind[earlier].append(later)
            waits_for[later] += 1
    return behind, waits_for
