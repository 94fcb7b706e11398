"""Close surplus connections: of the host with the most connections, those without a call go first.

gRPC's core bounds the number of connections and rejects the newest, so idle ones would keep all others out. It exposes
no connection to Python and no way to close one. But its sockets belong to this process: a duplicate of each descriptor
tells the peer and the time since the last data (tcp(7), TCP_INFO), and a shutdown there ends the connection as if the
client had closed it. A check costs about 20 µs per connection, and is skipped while the process has fewer descriptors
than a host may have connections. Linux only; elsewhere only the core's bound applies.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import random
import socket
import struct
import sys
import threading
import time
from collections import OrderedDict, defaultdict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOG: Final = logging.getLogger("evalward.server")

HOST_SHARE: Final = 0.75
"""The share of all connections for one host, or one user of a Unix socket."""
REMAINS: Final = 0.9
"""The share that remains after closing connections, so that the next sweep is not due at once."""
SAY_SECONDS: Final = 60.0
_REMEMBERED: Final = (
    2  # times as many peers as there may be connections: a disconnected peer is forgotten later
)
_DESCRIPTORS: Final = "/proc/self/fd"
_INFO_BYTES: Final = 104
_LAST_DATA: Final = struct.Struct("44xI4xI")  # tcpi_last_data_sent and tcpi_last_data_recv, in milliseconds
_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid


class Connection(NamedTuple):
    """One connection: ``peer`` as gRPC writes it, and milliseconds since the last data."""

    descriptor: int
    host: str
    peer: str
    idle_ms: int


class Connections:
    """Keeps one server's connections at ``most``, and those of each host at its share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_host = max(1, int(HOST_SHARE * most))
        self._heard: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()
        self._ports: set[int] = set()
        self._paths: set[str] = set()
        self._said_at = -SAY_SECONDS
        self._unsaid = 0
        self.ended = 0

    def serves(self, *, ports: Iterable[int] = (), paths: Iterable[str] = ()) -> None:
        """Register the TCP ports and Unix sockets on which the server listens."""
        self._ports.update(ports)
        self._paths.update(paths)

    def heard(self, peer: str) -> None:
        """Register a permitted call from ``peer``."""
        with self._lock:
            self._heard[peer] = time.monotonic()
            self._heard.move_to_end(peer)
            # There are fewer connections than entries, so the least recent peers have disconnected.
            if len(self._heard) > _REMEMBERED * self._most:
                self._heard.popitem(last=False)

    def sweep(self) -> None:
        """Close the surplus connections."""
        if sys.platform != "linux" or open_descriptors() <= self._of_host:
            return
        by_host: dict[str, list[Connection]] = defaultdict(list)
        for each in self._connections():
            by_host[each.host].append(each)
        total = sum(map(len, by_host.values()))
        for host, some in by_host.items():
            if len(some) > self._of_host:
                total -= self._hang_up(host, some, len(some) - int(REMAINS * self._of_host))
        while total > self._most:
            sizes = sorted((len(some), host) for host, some in by_host.items())
            most, host = sizes[-1]
            excess = total - int(REMAINS * self._most)
            next_most = sizes[-2][0] if len(sizes) > 1 else 0
            # Down to the next largest host, in at most about fifty steps where many hosts have as many.
            total -= self._hang_up(host, by_host[host], min(excess, max(most - next_most, excess // 50 + 1)))

    def _connections(self) -> Iterator[Connection]:
        """Yield the connections of clients to this server."""
        for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208 - a Path per entry doubles the time
            with _copied(int(name)) as sock:
                found = None if sock is None else self._read(int(name), sock)
            if found is not None:
                yield found

    def _read(self, descriptor: int, sock: socket.socket) -> Connection | None:
        """Return what the kernel reports about ``sock``; None when it is not a client connection."""
        try:
            if sock.family == socket.AF_UNIX:
                if sock.getsockname() not in self._paths:
                    return None
                sock.getpeername()
                credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                _, uid, _ = _CREDENTIALS.unpack(credentials)
                return Connection(descriptor, f"uid {uid}", "unix:", 0)
            if (
                sock.family not in {socket.AF_INET, socket.AF_INET6}
                or sock.getsockname()[1] not in self._ports
            ):
                return None
            host, port = sock.getpeername()[:2]
            told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        except OSError:
            return None  # a listening socket, or disconnected
        host = host.removeprefix("::ffff:")
        network = host if "." in host else _network(host)
        peer = f"ipv4:{host}:{port}" if "." in host else f"ipv6:%5B{host}%5D:{port}"
        return Connection(descriptor, network, peer, min(_LAST_DATA.unpack_from(told)))

    def _hang_up(self, host: str, connections: list[Connection], count: int) -> int:
        """Close ``count`` of the ``connections`` of ``host`` and remove them from the list; return the number."""
        # Connections without a call go first, then those with the least recent call. Unix peers cannot be
        # distinguished, so they are chosen at random.
        random.shuffle(connections)
        with self._lock:
            heard = {each.peer: self._heard.get(each.peer, 0.0) for each in connections}
        connections.sort(key=lambda each: (heard[each.peer], -each.idle_ms))
        leaving, connections[:] = connections[:count], connections[count:]
        for each in leaving:
            with _copied(each.descriptor) as sock:
                now = None if sock is None else self._read(each.descriptor, sock)
                # The descriptor may have been reused for another connection.
                if sock is not None and now is not None and now.peer == each.peer:
                    with suppress(OSError):
                        sock.shutdown(socket.SHUT_RDWR)
        self.ended += len(leaving)
        self._unsaid += len(leaving)
        now_is = time.monotonic()
        if now_is - self._said_at >= SAY_SECONDS:
            LOG.warning("%d surplus connections of %s are closed", self._unsaid, host)
            self._said_at, self._unsaid = now_is, 0
        return len(leaving)


@contextmanager
def _copied(descriptor: int) -> Iterator[socket.socket | None]:
    """Yield a socket on a duplicate of ``descriptor``: the same connection even if the number is reused."""
    try:
        copy = os.dup(descriptor)
    except OSError:
        yield None
        return
    try:
        sock = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        yield None
        return
    with sock:
        yield sock


def open_descriptors() -> int:
    """Return the number of descriptors of this process; 0 where it is not available."""
    try:
        # Since Linux 6.2 the size of the directory; before, it was 0.
        return os.stat(_DESCRIPTORS).st_size or len(os.listdir(_DESCRIPTORS))  # noqa: PTH116, PTH208 - as above
    except OSError:
        return 0


def _network(host: str) -> str:
    """Return the /64 network, which an IPv6 host usually has to itself."""
    return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))
