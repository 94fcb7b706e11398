"""Server-sent events, one at a time (WHATWG HTML, section 9.2): an event whose data stays keeps its bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
MOST_EVENT_BYTES: Final = 64 * 1024 * 1024


class EventTooLargeError(ValueError):
    """An event has more than ``MOST_EVENT_BYTES``."""


class EventReader:
    """Splits a stream into events, each with the blank line behind it."""

    def __init__(self) -> None:
        self._rest = b""

    def events(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the events that ``chunk`` completes; raise EventTooLargeError."""
        self._rest += chunk
        while (end := _END.search(self._rest)) is not None:
            event, self._rest = self._rest[: end.end()], self._rest[end.end() :]
            yield event
        if len(self._rest) > MOST_EVENT_BYTES:
            raise EventTooLargeError


def data_of(event: bytes) -> bytes:
    """Return the data of ``event``, empty for a comment."""
    return b"\n".join(_value(line) for line in event.splitlines() if _is_data(line))


def with_data(event: bytes, data: bytes) -> bytes:
    """Return ``event`` with other ``data``, one line; without data the client only takes its id."""
    kept = [line for line in event.splitlines() if line and not _is_data(line)]
    kept += [b"data: " + data] if data else []
    return b"".join(line + b"\n" for line in kept) + b"\n" if kept else b""


def _is_data(line: bytes) -> bool:
    return line == b"data" or line.startswith(b"data:")


def _value(line: bytes) -> bytes:
    return line.removeprefix(b"data").removeprefix(b":").removeprefix(b" ")
