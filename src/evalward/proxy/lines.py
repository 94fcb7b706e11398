"""Lines of bounded length from a byte stream, and the characters that some readers take for the end of a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MOST_LINE_BYTES: Final = 16 * 1024 * 1024
"""The bytes of a client's line; MCP carries files as base64 within one."""
_CHUNK: Final = 1024 * 1024
# Node's readline ends a line at U+2028 and U+2029, Python's str.splitlines at U+0085, too. JSON has them in strings.
_LINE_ENDS: Final = {
    "\u0085".encode(): rb"\u0085",
    "\u2028".encode(): rb"\u2028",
    "\u2029".encode(): rb"\u2029",
}


class Line(NamedTuple):
    """A line with its end. Of one that is too long ``data`` is empty and ``is_too_long`` is true."""

    data: bytes
    is_too_long: bool = False


def lines(stream: BinaryIO, *, most_bytes: int = MOST_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines of ``stream``; the bytes of a longer one than ``most_bytes`` are read and dropped."""
    while data := stream.readline(most_bytes + 1):
        if len(data) <= most_bytes or data.endswith(b"\n"):
            yield Line(data)
            continue
        while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield Line(b"", is_too_long=True)


def one_line(data: bytes) -> bytes:
    """Return the JSON text ``data`` with each character escaped that some reader takes for the end of a line."""
    for raw, escape in _LINE_ENDS.items():
        if raw in data:
            data = data.replace(raw, escape)
    return data
