"""A listener that breaks connections in the ways of ``data/client/denials.yaml``."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# RFC 9113, sections 3.4, 4.1 and 6.2.
PREFACE_BYTES, FRAME_HEAD_BYTES, HEADERS = 24, 9, 1

SENDS = {
    "settings": bytes.fromhex("000000040000000000"),
    "goaway": bytes.fromhex("0000080700000000000000000000000000"),
    "garbage": b"\xff" * 64,
    "http1": b"HTTP/1.1 200 OK\r\n\r\n",
}


@contextmanager
def serving_raw(does: list[str]) -> Iterator[str]:
    """Apply the actions of ``does`` to each connection; yield the address."""
    held: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):  # the listener's end
            while True:
                connection, _ = listener.accept()
                held.append(connection)
                threading.Thread(target=_act, args=(connection, does), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in held:
            connection.close()
        thread.join(30)


def _act(connection: socket.socket, does: list[str]) -> None:
    connection.settimeout(30)
    with suppress(OSError):  # the client closed the connection first
        for step in does:
            match step:
                case "request":
                    _read_request(connection)
                case "reset":
                    # Without lingering, close() sends RST.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()
                case "close":
                    connection.close()
                case "hold":
                    return
                case _:
                    connection.sendall(SENDS[step])


def _read_request(connection: socket.socket) -> None:
    """Read up to the frame with the headers of a request (RFC 9113, sections 3.4 and 4.1), or to the client's end."""
    with connection.makefile("rb") as stream:
        stream.read(PREFACE_BYTES)
        while len(head := stream.read(FRAME_HEAD_BYTES)) == FRAME_HEAD_BYTES:
            stream.read(int.from_bytes(head[:3]))
            if head[3] == HEADERS:
                return
