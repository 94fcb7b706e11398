"""The result of verifying an audit log: counts, the heads of its chains, and the first fault with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from evalward.audit.record_values import Integrity

if TYPE_CHECKING:
    from evalward.audit.chain import Head


class Fault(StrEnum):
    """A fault of a log."""

    EDITED = "edited"
    INSERTED = "inserted"
    REMOVED = "removed"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    UNFINISHED = "unfinished"  # a chain without a stop record that another chain follows
    UNKEYED = "unkeyed"  # verified with a key, but written without one


class Place(NamedTuple):
    """A line of one of the files, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class Findings:
    """The result of a verification; ``fault`` is None if and only if every record is the one that was written."""

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
    """The log is keyed, and can only be verified with the key that ``key_id`` names."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"the log is keyed (key id {key_id}); verify it with that key")
        self.key_id = key_id
