"""Classify the fault at a line of an audit log that does not verify: edited, inserted, removed, reordered, truncated.

A diagnosis reads the files again, which a log without a fault does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.audit.chain import read_line
from evalward.audit.fingerprint import SHA256
from evalward.audit.log_rows import rows_after, rows_of
from evalward.audit.verification_result import Fault, KeyMissingError, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.audit.chain import Head, Line
    from evalward.audit.files import LogFile
    from evalward.audit.key import AuditKey
    from evalward.audit.log_rows import Row
    from evalward.audit.succession import ChainEnd

NOWHERE: Final = Place("(no file)", 1)


class FaultError(Exception):
    """The log is not what the service wrote: the message says what was done at ``place``."""

    def __init__(self, fault: Fault, place: Place, text: str) -> None:
        super().__init__(text)
        self.fault = fault
        self.place = place


class FaultDiagnosis:
    """Reads ``files`` again, with ``key``, to classify the fault at a line."""

    def __init__(self, files: Sequence[LogFile], key: AuditKey | None) -> None:
        self._files = files
        self._key = key

    def unreadable(self, first: Row, head: Head | None, *, is_all: bool) -> FaultError:
        """Return the fault of lines that are no records, of which ``first`` is the first.

        ``is_all``: ``first`` is the only one, and the last line of the log.
        """
        if is_all and not first.is_line:
            return FaultError(
                Fault.TRUNCATED, first.place, f"the last line is unfinished ({len(first.data)} bytes)"
            )
        return FaultError(
            self._edited_or_inserted(first, head), first.place, "the line is not a record of this log"
        )

    def bad_mac(self, row: Row, line: Line, head: Head | None) -> Exception:
        """Return the fault of a line with a wrong digest, or KeyMissingError if only the key is missing."""
        if self._key is None:
            key_id = self._key_id_of_chain()
            if key_id is not None:
                return KeyMissingError(key_id)
        elif line.is_signed([None]):
            return FaultError(
                Fault.UNKEYED,
                row.place,
                "the record is not under a key: it proves nothing about who wrote it",
            )
        return FaultError(
            self._edited_or_inserted(row, head), row.place, "the mac is not that of the line's bytes"
        )

    def _key_id_of_chain(self) -> str | None:
        """Return the id of the key that the keyed records name, None if every record has a plain digest."""
        for row in rows_of(self._files):
            line = read_line(row.data)
            if line is not None and not line.is_signed([None]):
                named = line.record.get("key_id") or line.record.get("hash_alg")
                if isinstance(named, str) and named != SHA256:
                    return named.removeprefix("hmac-sha256:")
        return None

    def _edited_or_inserted(self, row: Row, head: Head | None) -> Fault:
        """Return INSERTED if the next line follows ``head`` directly, so that the chain is whole without ``row``."""
        after = next(rows_after(self._files, row), None)
        line = None if after is None else read_line(after.data)
        if line is not None and head is not None and line.prev == head.mac:
            return Fault.INSERTED
        return Fault.EDITED

    def out_of_place(self, row: Row, line: Line, head: Head | None) -> FaultError:
        """Return the fault of a record that does not follow ``head``, the one before it."""
        copied = self._place_before(row, line.head)
        if copied is not None:
            return FaultError(Fault.INSERTED, row.place, f"record {line.head.seq} is a copy of {copied}")
        if head is None or line.head.chain != head.chain:
            return FaultError(Fault.INSERTED, row.place, "the record is of another chain")
        seq = head.seq
        if line.head.seq > seq + 1:
            if self._comes_later(row, head, line.head.seq):
                return FaultError(
                    Fault.REORDERED,
                    row.place,
                    f"record {line.head.seq} is in the place of record {seq + 1}, which comes later",
                )
            missing = line.head.seq - seq - 1
            return FaultError(
                Fault.REMOVED,
                row.place,
                f"{missing} record{'s' * (missing > 1)} before this line are missing: after record {seq} comes "
                f"record {line.head.seq}",
            )
        return FaultError(
            Fault.INSERTED, row.place, f"record {line.head.seq} does not follow record {seq} before it"
        )

    def _place_before(self, row: Row, head: Head) -> Place | None:
        """Return the place of ``head`` before ``row``."""
        for each in rows_of(self._files):
            if each.place == row.place and each.file == row.file:
                return None
            line = read_line(each.data)
            if line is not None and line.head == head:
                return each.place
        return None

    def _comes_later(self, row: Row, head: Head, seq: int) -> bool:
        """Whether a record between ``head`` and ``seq`` follows ``row``."""
        lines = (read_line(each.data) for each in rows_after(self._files, row))
        return any(
            line is not None and line.head.chain == head.chain and head.seq < line.head.seq < seq
            for line in lines
        )

    def missing(self, expected: Head, chains: Sequence[ChainEnd], last: Row | None) -> FaultError:
        """Return the fault of a log without the record that ``expected`` names; ``last`` is its last line."""
        end = next((chain for chain in chains if chain.head.chain == expected.chain), None)
        if end is not None and end.head.seq < expected.seq:
            return FaultError(
                Fault.TRUNCATED,
                Place(*end.place),
                f"the log ends with record {end.head.seq}, the expected head is record {expected.seq}",
            )
        return FaultError(
            Fault.TRUNCATED,
            NOWHERE if last is None else last.place,
            f"the expected head, record {expected.seq}, is not in the log",
        )
