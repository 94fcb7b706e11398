"""The listening sockets: TCP, and Unix sockets that have their mode before anyone can connect.

A lock file next to a Unix socket makes a second server fail instead of silently replacing the first. The socket of a
dead server is removed, a live one never (service.md, "Sockets").
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from typing import TYPE_CHECKING

from evalward.server.addresses import ListenError, TcpAddress, UnixAddress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import grpc

UNIX_MODE = 0o660
ALL_MODES = 0o777


_Inode = tuple[int, int] | None


class Listener:
    """The sockets of one server: call ``bind`` for each address before it starts and ``close`` after it stopped.

    With ``credentials``, called once per socket, all TCP sockets use TLS. Without, an address beyond loopback is
    rejected, since payloads and verdicts would cross the network in plain text; ``insecure_remote`` states that another
    layer protects them. Unix sockets have ``unix_mode`` before anyone can connect.
    """

    def __init__(
        self,
        server: grpc.Server,
        *,
        credentials: Callable[[], grpc.ServerCredentials] | None = None,
        insecure_remote: bool = False,
        unix_mode: int = UNIX_MODE,
    ) -> None:
        self._server = server
        self._credentials = credentials
        self._insecure_remote = insecure_remote
        self._unix_mode = unix_mode
        self._locks: list[int] = []
        self._sockets: dict[Path, _Inode] = {}
        self.ports: set[int] = set()
        """The bound TCP ports."""

    def bind(self, address: TcpAddress | UnixAddress) -> str:
        """Bind one address and return it as clients write it, with its actual port; raise ListenError."""
        if isinstance(address, TcpAddress):
            if not (address.is_loopback or self._credentials or self._insecure_remote):
                raise ListenError(
                    f"{address} can be reached from other machines and has no TLS: give --tls-cert and --tls-key, "
                    "listen on loopback or a Unix socket, or say --insecure-remote",
                )
            port = self._add_port(address)
            self.ports.add(port)
            return str(TcpAddress(address.host, port))
        self._lock(address.path)
        _clean_stale(address.path)
        previous = os.umask(ALL_MODES & ~self._unix_mode)
        try:
            self._add_port(address)
        finally:
            os.umask(previous)
        self._sockets[address.path] = _inode(address.path)
        return str(address)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The bound Unix sockets."""
        return tuple(self._sockets)

    def lost(self) -> list[Path]:
        """Return the sockets that clients can no longer reach, since the file was removed or replaced."""
        return [path for path, inode in self._sockets.items() if _inode(path) != inode]

    def close(self) -> None:
        """Remove the sockets that still belong to this server, then release their locks."""
        lost = self.lost()
        for path in self._sockets:
            if path not in lost:
                path.unlink()
        for descriptor in self._locks:
            os.close(descriptor)
        self._sockets.clear()
        self._locks.clear()

    def _add_port(self, address: TcpAddress | UnixAddress) -> int:
        try:
            if isinstance(address, TcpAddress) and self._credentials is not None:
                port: int = self._server.add_secure_port(str(address), self._credentials())
            else:
                port = self._server.add_insecure_port(str(address))
        except RuntimeError as refusal:
            raise ListenError(f"cannot bind {address}: in use, or not permitted") from refusal
        return port

    def _lock(self, path: Path) -> None:
        lock = path.with_name(f"{path.name}.lock")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as failure:
            raise ListenError(f"cannot open the lock file {lock}: {failure.strerror}") from failure
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as held:
            os.close(descriptor)
            raise ListenError(f"unix:{path} is served by another server, which holds {lock}") from held
        self._locks.append(descriptor)


def _inode(path: Path) -> _Inode:
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _clean_stale(path: Path) -> None:
    """Remove a socket without a listener; raise ListenError when the path is live or not a socket."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ListenError(f"{path} exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        answer = probe.connect_ex(str(path))
    if answer != errno.ECONNREFUSED:
        raise ListenError(f"unix:{path} is served by another server")
    path.unlink()
