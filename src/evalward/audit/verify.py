"""Verify an audit log: find the first line that the service did not write, and classify the fault.

The files are read in blocks, so that memory does not grow with the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.audit.chain import GENESIS, read_line
from evalward.audit.fault_diagnosis import NOWHERE, FaultDiagnosis, FaultError
from evalward.audit.log_rows import UnfinishedLines, rows_of
from evalward.audit.record_values import Integrity, Kind
from evalward.audit.succession import ChainEnd, unfinished
from evalward.audit.verification_result import Fault, Findings, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.audit.chain import Head, Line
    from evalward.audit.files import LogFile
    from evalward.audit.key import AuditKey
    from evalward.audit.log_rows import Row


def verify(
    files: Sequence[LogFile],
    *,
    key: AuditKey | None = None,
    expect_heads: Sequence[Head] = (),
    start_head: Head | None = None,
    seen: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Findings:
    """Verify the ``files``, in their order, as one log.

    Each of ``expect_heads`` must be in it, ``start_head`` is the head of what came before it. ``seen`` is called with
    each record that is as it was written, up to the first fault. Raise KeyMissingError.
    """
    findings = Findings(integrity=Integrity.PLAIN if key is None else Integrity.KEYED)
    try:
        _Verification(files, key, start_head, findings, seen).run(expect_heads)
    except FaultError as fault:
        findings.fault, findings.place, findings.text = fault.fault, fault.place, str(fault)
    return findings


class _Verification:
    def __init__(
        self,
        files: Sequence[LogFile],
        key: AuditKey | None,
        start_head: Head | None,
        findings: Findings,
        seen: Callable[[dict[str, Any]], None],
    ) -> None:
        self._files = files
        self._key = key
        self._diagnosis = FaultDiagnosis(files, key)
        self._findings = findings
        self._head = start_head
        self._seen = seen
        self._pieces = UnfinishedLines()
        self._chains: list[ChainEnd] = []
        self._last: Row | None = None

    def run(self, expected: Sequence[Head]) -> None:
        missing = {*expected}
        for row in rows_of(self._files):
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
            raise self._diagnosis.missing(min(missing), self._chains, self._last)
        self._look_at_ends(expected)

    def _take(self, row: Row, line: Line) -> None:
        if not line.is_signed([self._key]):
            raise self._bad_mac(row, line)
        if self._pieces.first is not None:
            if not self._pieces.are_those_of(line):
                raise self._unreadable(self._pieces.first)
            self._findings.torn += 1
            self._pieces = UnfinishedLines()
        elif line.record.get("kind") == Kind.TORN:
            raise FaultError(
                Fault.REMOVED, row.place, "the unfinished line that this record closes is missing"
            )
        if self._head is None or self._begins_chain(line):
            if line.prev != GENESIS or line.head.seq != 1:
                raise FaultError(
                    Fault.REMOVED,
                    row.place,
                    f"the log begins with record {line.head.seq}: give the older files, or the head before them",
                )
            self._chains.append(ChainEnd.at(line, row.file, row.place))
        elif line.prev != self._head.mac or line.head[:2] != (self._head.chain, self._head.seq + 1):
            raise self._diagnosis.out_of_place(row, line, self._head)
        elif self._chains:
            self._chains[-1].go_on(line, row.file, row.place)
        else:
            self._chains.append(ChainEnd.at(line, row.file, row.place))
        self._head = line.head
        self._findings.records += 1
        self._findings.gaps += line.record.get("kind") == Kind.GAP
        self._seen(line.record)

    def _begins_chain(self, line: Line) -> bool:
        """Whether a process began its own chain here, as each one does on standard output."""
        if line.head.seq != 1 or line.prev != GENESIS:
            return False
        before = (head for head in (self._head, *(chain.head for chain in self._chains)) if head is not None)
        return all(line.head.chain != head.chain for head in before)

    def _look_at_ends(self, expected: Sequence[Head]) -> None:
        """Detect truncation, which an intact chain does not show by itself."""
        found = unfinished(self._chains, expected)
        if found is not None:
            raise FaultError(Fault.UNFINISHED, Place(*found.chain.place), str(found))
        for file in self._files:
            if not file.size:
                raise FaultError(
                    Fault.TRUNCATED,
                    Place(file.name, 1),
                    "the file is empty: nothing was written to it yet, or all records were removed",
                )
        if not self._findings.records:
            raise FaultError(Fault.TRUNCATED, NOWHERE, "there is no record")

    def _unreadable(self, first: Row) -> FaultError:
        is_all = self._pieces.rows == 1 and first is self._last
        return self._diagnosis.unreadable(first, self._head, is_all=is_all)

    def _bad_mac(self, row: Row, line: Line) -> Exception:
        fault = self._diagnosis.bad_mac(row, line, self._head)
        if (
            isinstance(fault, FaultError)
            and fault.fault is not Fault.UNKEYED
            and self._pieces.first is not None
        ):
            return self._unreadable(self._pieces.first)
        return fault
