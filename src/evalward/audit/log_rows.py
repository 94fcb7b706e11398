"""The lines of all files of an audit log as one sequence, and the lines in it that are no records."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from evalward.audit.record_values import Kind
from evalward.audit.verification_result import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.audit.chain import Line
    from evalward.audit.files import LogFile


class Row(NamedTuple):
    """A line, or a part of one that is too long for a record; ``is_line`` is False for a part and a torn line."""

    file: int
    place: Place
    data: bytes
    begins: bool
    is_line: bool


def rows_of(files: Sequence[LogFile], first_file: int = 0) -> Iterator[Row]:
    """Yield every line of ``files``, from the file with the index ``first_file`` on."""
    for number, file in enumerate(files[first_file:], first_file):
        for piece in file.pieces():
            yield Row(number, Place(file.name, piece.number), piece.data, piece.begins, piece.is_line)


def rows_after(files: Sequence[LogFile], row: Row) -> Iterator[Row]:
    """Yield every line of ``files`` after ``row``."""
    return (
        each for each in rows_of(files, row.file) if each.file > row.file or each.place.line > row.place.line
    )


class UnfinishedLines:
    """Consecutive lines that are no records, which a TORN record has to account for."""

    def __init__(self) -> None:
        self.rows = 0
        self.first: Row | None = None
        self._size = 0
        self._digest = sha256()

    def add(self, row: Row) -> None:
        """Add a line, or a part of one, that is not a record."""
        text = row.data if self.first is None or not row.begins else b"\n" + row.data
        self.first = self.first or row
        self.rows += 1
        self._size += len(text)
        self._digest.update(text)

    def are_those_of(self, line: Line) -> bool:
        """Return whether ``line`` is the TORN record that accounts for exactly these lines."""
        record = line.record
        return (
            record.get("kind") == Kind.TORN
            and record.get("torn_bytes") == self._size
            and record.get("torn_hash") == self._digest.hexdigest()
        )
