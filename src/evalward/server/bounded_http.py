"""An HTTP server with bounded threads, over TCP or a Unix socket: the oldest connection is closed for the newest.

Silent clients therefore block no others. All threads exist before the first connection.
"""

from __future__ import annotations

import errno
import socket
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from evalward.server.addresses import TcpAddress, UnixAddress
from evalward.thread_pool import PrestartedPool, start

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_SECONDS: Final = 0.2  # between checks for shutdown
_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class BoundedHttpServer(ThreadingHTTPServer):
    """Serves ``address`` with ``handler`` on ``threads`` threads, from ``begin`` to ``end``.

    The constructor binds the address and raises OSError. ``name`` begins the names of its threads.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False  # a second server on the port must fail
    request_queue_size = 64

    def __init__(
        self,
        address: TcpAddress | UnixAddress,
        handler: Callable[..., BaseHTTPRequestHandler],
        *,
        threads: int,
        name: str,
    ) -> None:
        self._most = threads
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        self.pool = PrestartedPool(threads, f"{name}-call")
        self._thread = threading.Thread(
            target=self.serve_forever, args=(POLL_SECONDS,), name=name, daemon=True
        )
        where: Any
        if isinstance(address, UnixAddress):
            self.address_family, where = socket.AF_UNIX, str(address.path)
            self.allow_reuse_address = False
        else:
            self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            where = (address.host, address.port)
        super().__init__(where, handler)
        self.address: TcpAddress | UnixAddress = (
            address
            if isinstance(address, UnixAddress)
            else TcpAddress(address.host, int(self.socket.getsockname()[1]))
        )

    def begin(self) -> None:
        """Start to serve; raise NoThreadError. The threads of ``pool`` must have been started."""
        start(self._thread)

    def end(self) -> None:
        """Stop serving and release the socket."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
        self.pool.shutdown(wait=False)

    def server_bind(self) -> None:
        """Bind without the library's DNS query for the host name."""
        socketserver.TCPServer.server_bind(self)

    def get_request(self) -> Any:
        """Accept a connection; without a free descriptor, wait briefly and let the caller retry."""
        try:
            return super().get_request()
        except OSError as failure:
            if failure.errno in _NO_ROOM:
                time.sleep(POLL_SECONDS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve ``request`` on a thread; close the oldest connection if none is free."""
        with self._lock:
            while len(self._open) >= self._most:
                oldest = next(iter(self._open))
                del self._open[oldest]
                _hang_up(oldest)
            self._open[request] = None
        self.pool.submit(self.process_request_thread, request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Unregister and close ``request``."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: the client has disconnected."""


def _hang_up(connection: socket.socket) -> None:
    """Shut ``connection`` down; the thread that waits on it then closes it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client has already disconnected
