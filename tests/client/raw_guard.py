"""A listener that breaks connections in the ways of ``data/client/denials.yaml``."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
                case "read":
                    connection.recv(65_536)
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
