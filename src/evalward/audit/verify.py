"""Find what was done to an audit log: the first line that is not what the service wrote, and why it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from evalward.audit.chain import GENESIS, Head, read_line
from evalward.audit.fingerprint import SHA256
from evalward.audit.record import Integrity, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.audit.chain import Line
    from evalward.audit.key import AuditKey


class Fault(StrEnum):
    """What is wrong with a log."""

    EDITED = "edited"
    INSERTED = "inserted"
    REMOVED = "removed"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
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
    place: Place
    data: bytes
    is_whole: bool


def verify(
    files: Iterable[tuple[str, bytes]],
    *,
    key: AuditKey | None = None,
    expect_head: Head | None = None,
    start_head: Head | None = None,
) -> Findings:
    """Verify the ``files`` (name and contents, oldest first) as one log.

    ``expect_head`` must be in it, ``start_head`` is the head of what came before it. Raise KeyMissingError.
    """
    rows = [row for name, data in files for row in _rows(name, data)]
    findings = Findings(integrity=Integrity.PLAIN if key is None else Integrity.KEYED)
    try:
        _Verification(rows, key, start_head, findings).run(expect_head)
    except _FaultError as fault:
        findings.fault, findings.place, findings.text = fault.fault, fault.place, str(fault)
    return findings


class _Verification:
    def __init__(
        self, rows: Sequence[_Row], key: AuditKey | None, start_head: Head | None, findings: Findings
    ) -> None:
        self._rows = rows
        self._key = key
        self._findings = findings
        self._head = start_head
        self._pieces: list[_Row] = []  # lines that are no records, until a TORN record accounts for them
        self._seen: dict[Head, Place] = {}

    def run(self, expect_head: Head | None) -> None:
        for number, row in enumerate(self._rows):
            line = read_line(row.data) if row.is_whole else None
            if line is None:
                self._pieces.append(row)
            else:
                self._take(number, row, line)
        if self._pieces:
            raise self._unreadable()
        if self._head is not None:
            self._findings.chains.append(self._head)
        if expect_head is not None and expect_head not in self._seen:
            self._explain_missing(expect_head)

    def _take(self, number: int, row: _Row, line: Line) -> None:
        if not line.is_signed([self._key]):
            raise self._bad_mac(number, row, line)
        if self._pieces:
            self._account_for_pieces(line)
        elif line.record.get("kind") == Kind.TORN:
            raise _FaultError(
                Fault.REMOVED, row.place, "the unfinished line that this record closes is missing"
            )
        if self._head is None or self._begins_chain(line):
            if self._head is not None:
                self._findings.chains.append(self._head)
            if line.prev != GENESIS or line.head.seq != 1:
                raise _FaultError(
                    Fault.REMOVED,
                    row.place,
                    f"the log begins with record {line.head.seq}: give the older files, or the head before them",
                )
        elif line.prev != self._head.mac or line.head[:2] != (self._head.chain, self._head.seq + 1):
            raise self._out_of_place(number, row, line)
        self._head = line.head
        self._seen[line.head] = row.place
        self._findings.records += 1
        self._findings.gaps += line.record.get("kind") == Kind.GAP

    def _begins_chain(self, line: Line) -> bool:
        """Whether a process began its own chain here, as each one does on standard output."""
        is_other = self._head is not None and line.head.chain != self._head.chain
        return is_other and line.head.seq == 1 and line.prev == GENESIS

    def _account_for_pieces(self, line: Line) -> None:
        torn = b"\n".join(row.data for row in self._pieces)
        record = line.record
        if (
            record.get("kind") != Kind.TORN
            or record.get("torn_bytes") != len(torn)
            or record.get("torn_hash") != sha256(torn).hexdigest()
        ):
            raise self._unreadable()
        self._findings.torn += 1
        self._pieces.clear()

    def _unreadable(self) -> _FaultError:
        first = self._pieces[0]
        if len(self._pieces) == 1 and not first.is_whole and first is self._rows[-1]:
            return _FaultError(
                Fault.TRUNCATED, first.place, f"the last line is unfinished ({len(first.data)} bytes)"
            )
        return _FaultError(self._edited_or_inserted(first), first.place, "the line is no record of this log")

    def _bad_mac(self, number: int, row: _Row, line: Line) -> Exception:
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
        if self._pieces:
            return self._unreadable()
        return _FaultError(
            self._edited_or_inserted(self._rows[number]), row.place, "the mac is not that of the line's bytes"
        )

    def _key_id_of_chain(self) -> str | None:
        """Return the key that records name which no plain digest covers."""
        for row in self._rows:
            line = read_line(row.data)
            if line is not None and not line.is_signed([None]):
                named = line.record.get("key_id") or line.record.get("hash_alg")
                if isinstance(named, str) and named != SHA256:
                    return named.removeprefix("hmac-sha256:")
        return None

    def _edited_or_inserted(self, row: _Row) -> Fault:
        """Without ``row`` the chain is whole again: then it was put in."""
        after = self._rows[self._rows.index(row) + 1 :][:1]
        line = read_line(after[0].data) if after else None
        if line is not None and self._head is not None and line.prev == self._head.mac:
            return Fault.INSERTED
        return Fault.EDITED

    def _out_of_place(self, number: int, row: _Row, line: Line) -> _FaultError:
        head = self._head
        if head is None or line.head.chain != head.chain:
            return _FaultError(Fault.INSERTED, row.place, "the record is of another chain")
        seq = head.seq
        later = self._seqs_from(number + 1)
        if line.head in self._seen:
            return _FaultError(
                Fault.INSERTED, row.place, f"record {line.head.seq} is a copy of {self._seen[line.head]}"
            )
        if line.head.seq > seq + 1 and later.isdisjoint(range(seq + 1, line.head.seq)):
            missing = line.head.seq - seq - 1
            return _FaultError(
                Fault.REMOVED,
                row.place,
                f"{missing} record{'s' * (missing > 1)} before this line are missing: after record {seq} comes "
                f"record {line.head.seq}",
            )
        if line.head.seq > seq + 1:
            return _FaultError(
                Fault.REORDERED,
                row.place,
                f"record {line.head.seq} stands where record {seq + 1} belongs, which comes later",
            )
        return _FaultError(
            Fault.INSERTED, row.place, f"record {line.head.seq} does not follow record {seq} before it"
        )

    def _seqs_from(self, number: int) -> set[int]:
        lines = (read_line(row.data) for row in self._rows[number:])
        return {line.head.seq for line in lines if line is not None and self._is_same_chain(line)}

    def _is_same_chain(self, line: Line) -> bool:
        return self._head is not None and line.head.chain == self._head.chain

    def _explain_missing(self, expected: Head) -> None:
        last = self._rows[-1].place if self._rows else Place("(no file)", 1)
        head = self._head
        if head is not None and head.chain == expected.chain and head.seq < expected.seq:
            text = f"the log ends with record {head.seq}, the expected head is record {expected.seq}"
        else:
            text = f"the expected head, record {expected.seq}, is not in the log"
        raise _FaultError(Fault.TRUNCATED, last, text)


def _rows(name: str, data: bytes) -> Iterable[_Row]:
    *whole, rest = data.split(b"\n")
    for number, line in enumerate(whole, start=1):
        yield _Row(Place(name, number), line, is_whole=True)
    if rest:
        yield _Row(Place(name, len(whole) + 1), rest, is_whole=False)
