"""Which connections stay when there are too many: of the host with the most, those that have asked nothing go first.

gRPC's core bounds how many there are, and refuses the newest: idle ones would keep all others out. It tells Python
nothing of a connection and takes no word on it. But its sockets are this process's own: a copy of each descriptor says
who is at the other end and since when nothing has come (tcp(7), TCP_INFO), and what is shut down there ends as if the
client had hung up. A look costs some 20 µs a connection, and there is none while the process has fewer descriptors
than it may have connections. Linux only; elsewhere the core's bound is all there is.
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
"""What one host, or one user of a Unix socket, may have of all connections."""
REMAINS: Final = 0.9
"""What is left of a number that was too large, so that the next look is not due at once."""
SAY_SECONDS: Final = 60.0
_REMEMBERED: Final = (
    2  # times as many peers as there may be connections: one that hung up is not forgotten at once
)
_DESCRIPTORS: Final = "/proc/self/fd"
_INFO_BYTES: Final = 104
_LAST_DATA: Final = struct.Struct("44xI4xI")  # tcpi_last_data_sent and tcpi_last_data_recv, in milliseconds
_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid


class Connection(NamedTuple):
    """One connection: ``peer`` as gRPC writes it, and how long nothing has come or gone, in milliseconds."""

    descriptor: int
    host: str
    peer: str
    idle_ms: int


class Connections:
    """Keeps the connections of one server to ``most``, and those of each host to its share of them."""

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
        """Take note of the TCP ports and Unix sockets on which the server listens."""
        self._ports.update(ports)
        self._paths.update(paths)

    def heard(self, peer: str) -> None:
        """Note that a call from ``peer`` has been let in."""
        with self._lock:
            self._heard[peer] = time.monotonic()
            self._heard.move_to_end(peer)
            # There are no more connections than that: those that asked longest ago have gone.
            if len(self._heard) > _REMEMBERED * self._most:
                self._heard.popitem(last=False)

    def sweep(self) -> None:
        """Hang up on as many as there are too many."""
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
            # Down to the next one, and in some fifty steps at most where many have as many.
            total -= self._hang_up(host, by_host[host], min(excess, max(most - next_most, excess // 50 + 1)))

    def _connections(self) -> Iterator[Connection]:
        """Yield the connections that clients have to this server."""
        for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208 - a Path for each of thousands takes as long again
            with _copied(int(name)) as sock:
                found = None if sock is None else self._read(int(name), sock)
            if found is not None:
                yield found

    def _read(self, descriptor: int, sock: socket.socket) -> Connection | None:
        """Return what the kernel knows of ``sock``; None when it is none of a client."""
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
            return None  # it listens, or has gone
        host = host.removeprefix("::ffff:")
        network = host if "." in host else _network(host)
        peer = f"ipv4:{host}:{port}" if "." in host else f"ipv6:%5B{host}%5D:{port}"
        return Connection(descriptor, network, peer, min(_LAST_DATA.unpack_from(told)))

    def _hang_up(self, host: str, connections: list[Connection], count: int) -> int:
        """Hang up on ``count`` of the ``connections`` of ``host``, which are fewer then; return how many."""
        # Who has asked something is the last to go, and of those who have, who asked longest ago the first. Of those
        # of a Unix socket nothing is known: chance is fair.
        random.shuffle(connections)
        with self._lock:
            heard = {each.peer: self._heard.get(each.peer, 0.0) for each in connections}
        connections.sort(key=lambda each: (heard[each.peer], -each.idle_ms))
        leaving, connections[:] = connections[:count], connections[count:]
        for each in leaving:
            with _copied(each.descriptor) as sock:
                now = None if sock is None else self._read(each.descriptor, sock)
                # The number may have been given to another connection since.
                if sock is not None and now is not None and now.peer == each.peer:
                    with suppress(OSError):
                        sock.shutdown(socket.SHUT_RDWR)
        self.ended += len(leaving)
        self._unsaid += len(leaving)
        now_is = time.monotonic()
        if now_is - self._said_at >= SAY_SECONDS:
            LOG.warning("%d connections of %s were too many and are closed", self._unsaid, host)
            self._said_at, self._unsaid = now_is, 0
        return len(leaving)


@contextmanager
def _copied(descriptor: int) -> Iterator[socket.socket | None]:
    """Give a socket of a copy of ``descriptor``, which is the same connection whatever becomes of the number."""
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
    """Return how many descriptors this process has; 0 where that cannot be asked."""
    try:
        # Since Linux 6.2 the size of the directory; before, it was 0.
        return os.stat(_DESCRIPTORS).st_size or len(os.listdir(_DESCRIPTORS))  # noqa: PTH116, PTH208 - as above
    except OSError:
        return 0


def _network(host: str) -> str:
    """Return the network of 64 bits that one IPv6 host usually has to itself."""
    return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))
