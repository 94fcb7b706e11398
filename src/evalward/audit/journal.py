"""One chain and its sink: how it begins, continues in another file (rotation), and recovers from a failure.

Used by one thread at a time. Every method raises AuditUnavailable when the sink fails.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from evalward.audit.chain import GENESIS, Head, link, members, read_line
from evalward.audit.file_sink import FileSink, set_aside, sync_directory
from evalward.audit.record import AuditRecord
from evalward.audit.record_values import Durability, Kind, Reason
from evalward.audit.sink import AuditUnavailable, Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.audit.key import AuditKey
    from evalward.audit.sink import Sink

LOG = logging.getLogger("evalward.audit")
_RETRY_ROTATION_SECONDS: Final = 60
_SPOILT: Final = b"-"  # after a line it makes that line invalid JSON


@dataclass(frozen=True, slots=True)
class Rotation:
    """When a new file is begun: above a size in bytes, or an age in seconds; None: no such limit."""

    max_bytes: int | None = None
    max_seconds: float | None = None


class Journal:
    """The chain's head, the sink that holds it, and the unfinished line that a short write left there."""

    def __init__(
        self,
        sink: Sink,
        *,
        key: AuditKey | None,
        durability: Durability,
        rotation: Rotation,
        clock: Callable[[], int],
    ) -> None:
        """Own ``sink``. A file that this chain cannot continue is set aside, and ``reset`` says why."""
        self.reset: Reason | None = None
        self._sink = sink
        self._key = key
        self._durability = durability
        self._rotation = rotation
        self._clock = clock
        self.boot_id = uuid.uuid4().hex
        self._torn = b""
        self._no_rotation_before = 0.0
        tail = sink.tail()
        head = self._head_of(tail)
        if head is None and sink.size and sink.path is not None:
            self.reset = Reason.UNVERIFIED if read_line(tail.line) is None else Reason.OTHER_KEY
            self._replace_file(sink.path, self.reset)
        elif head is not None:
            self._torn = tail.unfinished
        self.head = head or Head(uuid.uuid4().hex, 0, GENESIS)
        if self._torn:
            self._recovered([])

    def write(self, texts: Sequence[tuple[Kind, str]]) -> int:
        """Write the records with one ``write``; return how many of them, from the first, are whole.

        If that is not all of them, the sink is full, and the line that was cut is closed later.
        """
        lead = self._rotated()
        return max(0, self._put([*lead, *texts]) - len(lead))

    def sync(self) -> None:
        """Flush the written data to the disk, at durability ``disk``."""
        if self._durability is Durability.DISK:
            self._sink.sync()

    def recover(self, gap: AuditRecord) -> None:
        """Reopen the sink, close an unfinished line in it, and write ``gap``."""
        if not self._sink.is_in_place() and self._sink.path is not None:
            self._replace_file(self._sink.path)
        self._recovered([(gap.kind, members(gap))])

    def reopen(self) -> None:
        """Continue in the file that has the log's name now, after the old one was renamed."""
        if self._sink.path is None or self._sink.is_in_place():
            return
        changed = self._sink.changed()
        if changed is not None:
            raise AuditUnavailable("the file was cut short, or written to, in its place", changed)
        self._replace_file(self._sink.path)
        self._recovered([self._rotation_record(Reason.REOPENED)])

    def close(self) -> None:
        """Release the sink."""
        self._sink.close()

    def _head_of(self, tail: Tail) -> Head | None:
        line = read_line(tail.line)
        return line.head if line is not None and line.is_signed([self._key]) else None

    def _put(self, texts: Sequence[tuple[Kind, str]], before: bytes = b"") -> int:
        """Chain the records, write them after ``before`` and move the head; return how many are complete."""
        head, heads, lines = self.head, [], []
        for kind, text in texts:
            line, head = link(
                head,
                f'{text},"head":"{head}"' if kind is Kind.STOP else text,
                boot_id=self.boot_id,
                key=self._key,
                nanoseconds=self._clock(),
            )
            lines.append(line)
            heads.append(head)
        data = before + b"".join(lines)
        written = self._sink.write(data)
        if written == len(data):
            self.head, self._torn = head, b""
            return len(lines)
        whole, end = 0, len(before)
        while end + len(lines[whole]) <= written:
            end += len(lines[whole])
            whole += 1
        if whole:
            self.head, self._torn = heads[whole - 1], data[end:written]
        else:
            # An unfinished line that needed no closing here is in another file.
            self._torn += (b"" if before or not self._torn else b"\n") + data[:written]
        return whole

    def _recovered(self, texts: Sequence[tuple[Kind, str]]) -> None:
        """Close an unfinished line, record that, and then ``texts``; raise AuditUnavailable for less than all."""
        before = b""
        if self._torn:
            before, unfinished = b"", self._torn
            if self._sink.size:
                # A line that lacks only its newline would become a record that is not counted.
                spoilt = b"" if read_line(unfinished.rpartition(b"\n")[2]) is None else _SPOILT
                before, unfinished = spoilt + b"\n", unfinished + spoilt
            torn = AuditRecord(
                kind=Kind.TORN,
                torn_bytes=len(unfinished),
                torn_hash=sha256(unfinished).hexdigest(),
            )
            texts = [(Kind.TORN, members(torn)), *texts]
        if self._put(texts, before) < len(texts):
            raise AuditUnavailable("the records of the recovery were cut short", Reason.FULL)
        self.sync()

    def _replace_file(self, path: str, reason: Reason | None = None) -> None:
        """Open the file that has the log's name, or a new one.

        It is set aside for ``reason``, or without one if it is not this chain's own or another process changed it.
        """
        reason = reason or self._sink.changed()
        if reason is None:
            found = FileSink.open(path, any_contents=True)
            if not found.size or self._head_of(found.tail()) == self.head:
                self._take(found, path)
                return
            found.close()
        aside = set_aside(path, nanoseconds=self._clock())
        LOG.warning("the audit log is set aside as %s: %s", aside, reason or Reason.REPLACED)
        self._take(FileSink.open(path), path)

    def _take(self, sink: Sink, path: str) -> None:
        self._sink.close()
        self._sink = sink
        if self._durability is Durability.DISK:
            sync_directory(path)

    def _rotated(self) -> list[tuple[Kind, str]]:
        """Begin a new file if one is due; return what it begins with."""
        path, reason = self._sink.path, self._due()
        if path is None or reason is None or not self._sink.is_in_place():
            return []
        try:
            set_aside(path, nanoseconds=self._clock())
        except AuditUnavailable as failure:
            # The log continues in its file: a failed rotation must not deny requests.
            LOG.error("the audit log is not rotated: %s", failure)  # noqa: TRY400 - the cause is in the text
            self._no_rotation_before = time.monotonic() + _RETRY_ROTATION_SECONDS
            return []
        self._take(FileSink.open(path), path)
        return [self._rotation_record(reason)]

    def _due(self) -> Reason | None:
        size, seconds = self._rotation.max_bytes, self._rotation.max_seconds
        if not self._sink.size or time.monotonic() < self._no_rotation_before:
            return None
        if size is not None and self._sink.size >= size:
            return Reason.SIZE
        if seconds is not None and self._clock() / 1e9 - self._sink.born >= seconds:
            return Reason.AGE
        return None

    def _rotation_record(self, reason: Reason) -> tuple[Kind, str]:
        key_id = None if self._key is None else self._key.id
        return Kind.ROTATE, members(AuditRecord(kind=Kind.ROTATE, reason=reason, key_id=key_id))
