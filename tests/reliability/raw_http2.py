"""HTTP/2 frames (RFC 9113) that no client library sends."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING = 0, 1, 3, 4, 6
END_STREAM, END_HEADERS, ACKNOWLEDGED = 1, 4, 1
VALIDATE = "evalward.v1.GuardService/Validate"
_FRAME_BYTES = 16_384


def connected(place: tuple[str, int]) -> socket.socket:
    """Return a connection that gives up rather than wait."""
    return socket.create_connection(place, timeout=30)


def failure_site(address: str) -> tuple[str, int]:
    """Return the host and the port of ``HOST:PORT``."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def frame(kind: int, body: bytes, *, flags: int = 0, stream: int = 0) -> bytes:
    """Return an HTTP/2 frame (RFC 9113, section 4.1)."""
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def header_block(method: str = VALIDATE, extra: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """Return the headers of a call, as literals without an index (RFC 7541, section 6.2.2)."""
    headers = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", f"/{method}".encode()),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    ]
    given = dict(extra)
    fixed = [(name, given.pop(name, value)) for name, value in headers]
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in (*fixed, *given.items()))


def message_frames(message: bytes, *, stream: int = 1) -> bytes:
    """Return the only message of a call, in as many frames as it needs."""
    body = b"\0" + len(message).to_bytes(4, "big") + message
    parts = [body[start : start + _FRAME_BYTES] for start in range(0, len(body), _FRAME_BYTES)]
    return b"".join(
        frame(DATA, part, flags=END_STREAM * (number == len(parts)), stream=stream)
        for number, part in enumerate(parts, start=1)
    )


def asking(
    message: bytes, method: str = VALIDATE, *, stream: int = 1, extra: Iterable[tuple[bytes, bytes]] = ()
) -> bytes:
    """Return the frames of one call."""
    block = header_block(method, extra)
    return frame(HEADERS, block, flags=END_HEADERS, stream=stream) + message_frames(message, stream=stream)


def streamed_message(message: bytes, *, stream: int = 1) -> bytes:
    """Return a message that others may follow."""
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return frame(DATA, body, stream=stream)


def drained(sock: socket.socket, until: bytes = b"") -> threading.Thread:
    """Read and forget what the other side says, on a thread that is returned, until it hangs up or says ``until``."""

    def drain() -> None:
        with suppress(OSError):
            while (told := sock.recv(65_536)) and not (until and until in told):
                pass

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    return thread


def _text(text: bytes) -> bytes:
    """Return a string literal, its length as an integer with a prefix of seven bits (RFC 7541, section 5)."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, length = len(text) - 127, b"\x7f"
    while rest >= 128:
        length += bytes([rest % 128 + 128])
        rest //= 128
    return length + bytes([rest]) + text


OPENING = PREFACE + frame(SETTINGS, b"")
"""What a client says first."""
