"""The files of Unix sockets: a lock against a second server, the mode, and whether the file is still this server's.

A lock file next to a Unix socket makes a second server fail instead of silently replacing the first. The socket of a
dead server is removed, a live one never (service.md, "Sockets").
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalward.server.addresses import ListenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL_MODES = 0o777
_Inode = tuple[int, int] | None


class SocketPaths:
    """The Unix sockets of one listener, which have ``mode`` before anyone can connect."""

    def __init__(self, mode: int) -> None:
        self._mode = mode
        self._locks: list[int] = []
        self._sockets: dict[Path, _Inode] = {}

    @contextmanager
    def binding(self, path: Path) -> Iterator[None]:
        """Bind ``path`` in the block; raise ListenError when it is another server's."""
        self._lock(path)
        _clean_stale(path)
        previous = os.umask(ALL_MODES & ~self._mode)
        try:
            yield
        finally:
            os.umask(previous)
        self._sockets[path] = _inode(path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The bound sockets."""
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
