"""Find what was done to an audit log: the first line that is not what the service wrote, and why it is not.

The files are read a block at a time, so that a log of any size takes the same memory. Only a fault makes it look
again at what it has read, to say what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.audit.chain import GENESIS, Head, read_line
from evalward.audit.fingerprint import SHA256
from evalward.audit.record import Integrity, Kind
from evalward.audit.succession import ChainEnd, unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.audit.chain import Line
    from evalward.audit.files import LogFile
    from evalward.audit.key import AuditKey


class Fault(StrEnum):
    """What is wrong with a log."""

    EDITED = "edited"
    INSERTED = "inserted"
    REMOVED = "removed"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    UNFINISHED = "unfinished"  # a chain without a stop record, and another that follows it
    UNKEYED = "unkeyed"  # verified with a key, but written without one


class Place(NamedTuple):
    """A line of one of the files, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class Findings:
    """What a verification found; ``fault`` is None if and only if every record is the one that was written."""

    records: int = 0
    chains: list[Head] = field(default_factory=list)
    torn: int = 0
    gaps: int = 0
    integrity: Integrity = Integrity.PLAIN
    fault: Fault | None = None
    place: Place | None = None
    text: str = ""

    @property
    def head(self) -> Head | None:
        """The last record, None of an empty log."""
        return self.chains[-1] if self.chains else None


class KeyMissingError(Exception):
    """The log is keyed, so that nothing can be said of it without the key with ``key_id``."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"the log is keyed (key id {key_id}); verify it with that key")
        self.key_id = key_id


class _FaultError(Exception):
    def __init__(self, fault: Fault, place: Place, text: str) -> None:
        super().__init__(text)
        self.fault = fault
        self.place = place


class _Row(NamedTuple):
    """A line, or a part of one that no record is long enough for: ``is_line`` is False of that and of a torn one."""

    file: int
    place: Place
    data: bytes
    begins: bool
    is_line: bool


_NOWHERE: Final = Place("(no file)", 1)


def verify(
    files: Sequence[LogFile],
    *,
    key: AuditKey | None = None,
    expect_heads: Sequence[Head] = (),
    start_head: Head | None = None,
) -> Findings:
    """Verify the ``files``, in their order, as one log.

    Each of ``expect_heads`` must be in it, ``start_head`` is the head of what came before it. Raise KeyMissingError.
    """
    findings = Findings(integrity=Integrity.PLAIN if key is None else Integrity.KEYED)
    try:
        _Verification(files, key, start_head, findings).run(expect_heads)
    except _FaultError as fault:
        findings.fault, findings.place, findings.text = fault.fault, fault.place, str(fault)
    return findings


class _Pieces:
    """Lines that are no records, until a TORN record accounts for them."""

    def __init__(self) -> None:
        self.rows = 0
        self.first: _Row | None = None
        self._size = 0
        self._digest = sha256()

    def add(self, row: _Row) -> None:
        text = row.data if self.first is None or not row.begins else b"\n" + row.data
        self.first = self.first or row
        self.rows += 1
        self._size += len(text)
        self._digest.update(text)

    def are_those_of(self, line: Line) -> bool:
        record = line.record
        return (
            record.get("kind") == Kind.TORN
            and record.get("torn_bytes") == self._size
            and record.get("torn_hash") == self._digest.hexdigest()
        )


class _Verification:
    def __init__(
        self, files: Sequence[LogFile], key: AuditKey | None, start_head: Head | None, findings: Findings
    ) -> None:
        self._files = files
        self._key = key
        self._findings = findings
        self._head = start_head
        self._pieces = _Pieces()
        self._chains: list[ChainEnd] = []
        self._last: _Row | None = None

    def run(self, expected: Sequence[Head]) -> None:
        missing = {*expected}
        for row in self._rows():
            self._last = row
            line = read_line(row.data) if row.is_line else None
            if line is None:
                self._pieces.add(row)
                continue
            self._take(row, line)
            missing.discard(line.head)
        if self._pieces.first is not None:
            raise self._unreadable(self._pieces.first)
        self._findings.chains = [chain.head for chain in self._chains]
        if missing:
            raise self._missing(min(missing))
        self._look_at_ends(expected)

    def _rows(self, first_file: int = 0) -> Iterator[_Row]:
        for number, file in enumerate(self._files[first_file:], first_file):
            for piece in file.pieces():
                place = Place(file.name, piece.number)
                yield _Row(number, place, piece.data, piece.begins, piece.is_line)

    def _rows_after(self, row: _Row) -> Iterator[_Row]:
        return (
            each for each in self._rows(row.file) if each.file > row.file or each.place.line > row.place.line
        )

    def _take(self, row: _Row, line: Line) -> None:
        if not line.is_signed([self._key]):
            raise self._bad_mac(row, line)
        if self._pieces.first is not None:
            if not self._pieces.are_those_of(line):
                raise self._unreadable(self._pieces.first)
            self._findings.torn += 1
            self._pieces = _Pieces()
        elif line.record.get("kind") == Kind.TORN:
            raise _FaultError(
                Fault.REMOVED, row.place, "the unfinished line that this record closes is missing"
            )
        if self._head is None or self._begins_chain(line):
            if line.prev != GENESIS or line.head.seq != 1:
                raise _FaultError(
                    Fault.REMOVED,
                    row.place,
                    f"the log begins with record {line.head.seq}: give the older files, or the head before them",
                )
            self._chains.append(ChainEnd.at(line, row.file, row.place))
        elif line.prev != self._head.mac or line.head[:2] != (self._head.chain, self._head.seq + 1):
            raise self._out_of_place(row, line)
        elif self._chains:
            self._chains[-1].go_on(line, row.file, row.place)
        else:
            self._chains.append(ChainEnd.at(line, row.file, row.place))
        self._head = line.head
        self._findings.records += 1
        self._findings.gaps += line.record.get("kind") == Kind.GAP

    def _begins_chain(self, line: Line) -> bool:
        """Whether a process began its own chain here, as each one does on standard output."""
        if line.head.seq != 1 or line.prev != GENESIS:
            return False
        before = (head for head in (self._head, *(chain.head for chain in self._chains)) if head is not None)
        return all(line.head.chain != head.chain for head in before)

    def _look_at_ends(self, expected: Sequence[Head]) -> None:
        """Find what a whole chain of records does not show: that there were more of them."""
        found = unfinished(self._chains, expected)
        if found is not None:
            raise _FaultError(Fault.UNFINISHED, Place(*found.chain.place), str(found))
        for file in self._files:
            if not file.size:
                raise _FaultError(
                    Fault.TRUNCATED,
                    Place(file.name, 1),
                    "the file is empty: nothing was written to it yet, or all of it was taken out",
                )
        if not self._findings.records:
            raise _FaultError(Fault.TRUNCATED, _NOWHERE, "there is no record")

    def _unreadable(self, first: _Row) -> _FaultError:
        if self._pieces.rows == 1 and not first.is_line and first is self._last:
            return _FaultError(
                Fault.TRUNCATED, first.place, f"the last line is unfinished ({len(first.data)} bytes)"
            )
        return _FaultError(self._edited_or_inserted(first), first.place, "the line is no record of this log")

    def _bad_mac(self, row: _Row, line: Line) -> Exception:
        if self._key is None:
            key_id = self._key_id_of_chain()
            if key_id is not None:
                return KeyMissingError(key_id)
        elif line.is_signed([None]):
            return _FaultError(
                Fault.UNKEYED,
                row.place,
                "the record is not under a key: it proves nothing about who wrote it",
            )
        if self._pieces.first is not None:
            return self._unreadable(self._pieces.first)
        return _FaultError(
            self._edited_or_inserted(row), row.place, "the mac is not that of the line's bytes"
        )

    def _key_id_of_chain(self) -> str | None:
        """Return the key that records name which no plain digest covers."""
        for row in self._rows():
            line = read_line(row.data)
            if line is not None and not line.is_signed([None]):
                named = line.record.get("key_id") or line.record.get("hash_alg")
                if isinstance(named, str) and named != SHA256:
                    return named.removeprefix("hmac-sha256:")
        return None

    def _edited_or_inserted(self, row: _Row) -> Fault:
        """Without ``row`` the chain is whole again: then it was put in."""
        after = next(self._rows_after(row), None)
        line = None if after is None else read_line(after.data)
        if line is not None and self._head is not None and line.prev == self._head.mac:
            return Fault.INSERTED
        return Fault.EDITED

    def _out_of_place(self, row: _Row, line: Line) -> _FaultError:
        head = self._head
        copied = self._place_before(row, line.head)
        if copied is not None:
            return _FaultError(Fault.INSERTED, row.place, f"record {line.head.seq} is a copy of {copied}")
        if head is None or line.head.chain != head.chain:
            return _FaultError(Fault.INSERTED, row.place, "the record is of another chain")
        seq = head.seq
        if line.head.seq > seq + 1:
            if self._comes_later(row, head, line.head.seq):
                return _FaultError(
                    Fault.REORDERED,
                    row.place,
                    f"record {line.head.seq} stands where record {seq + 1} belongs, which comes later",
                )
            missing = line.head.seq - seq - 1
            return _FaultError(
                Fault.REMOVED,
                row.place,
                f"{missing} record{'s' * (missing > 1)} before this line are missing: after record {seq} comes "
                f"record {line.head.seq}",
            )
        return _FaultError(
            Fault.INSERTED, row.place, f"record {line.head.seq} does not follow record {seq} before it"
        )

    def _place_before(self, row: _Row, head: Head) -> Place | None:
        """Return where ``head`` stands before ``row``."""
        for each in self._rows():
            if each.place == row.place and each.file == row.file:
                return None
            line = read_line(each.data)
            if line is not None and line.head == head:
                return each.place
        return None

    def _comes_later(self, row: _Row, head: Head, seq: int) -> bool:
        """Whether a record between ``head`` and ``seq`` stands after ``row``."""
        lines = (read_line(each.data) for each in self._rows_after(row))
        return any(
            line is not None and line.head.chain == head.chain and head.seq < line.head.seq < seq
            for line in lines
        )

    def _missing(self, expected: Head) -> _FaultError:
        last = _NOWHERE if self._last is None else self._last.place
        end = next((chain for chain in self._chains if chain.head.chain == expected.chain), None)
        if end is not None and end.head.seq < expected.seq:
            return _FaultError(
                Fault.TRUNCATED,
                Place(*end.place),
                f"the log ends with record {end.head.seq}, the expected head is record {expected.seq}",
            )
        return _FaultError(
            Fault.TRUNCATED, last, f"the expected head, record {expected.seq}, is not in the log"
        )
