"""Checks the owner of a Unix socket before each call, if ``peer_uid`` is set.

gRPC connects by path and does not expose the peer. So the check uses the same path: the socket belongs to ``peer_uid``,
the process that listens there runs as that user (SO_PEERCRED, if the system has it), and only root, that user and the
present one can replace the socket. Without the last condition the socket could change between check and call.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred of socket(7): pid, uid, gid
_CONNECT_SECONDS: Final = 0.25
_OTHERS_WRITE: Final = 0o022


class WrongPeer(Exception):  # noqa: N818 - becomes a denial, never raised to the caller
    """The socket does not belong to the expected user; the text says why."""


class SocketOwner:
    """Checks that the Unix socket at ``path`` belongs to ``uid``."""

    def __init__(self, path: str, uid: int) -> None:
        self._path = Path(path).absolute()
        self._uid = uid
        self._checked: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raise WrongPeer unless the socket belongs to ``uid``, and OSError when there is none or nothing listens."""
        entry = self._path.lstat()
        if not stat.S_ISSOCK(entry.st_mode):
            raise WrongPeer(f"{self._path} is not a socket")
        if entry.st_uid != self._uid:
            raise WrongPeer(f"{self._path} belongs to the user {entry.st_uid}, not to {self._uid}")
        self._check_folders()
        seen = (entry.st_dev, entry.st_ino, entry.st_ctime_ns)
        if seen != self._checked:
            self._check_listener()
            self._checked = seen

    def _check_folders(self) -> None:
        trusted = {0, os.geteuid(), self._uid}
        for folder in self._path.parents:
            found = folder.stat()
            is_open = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
            if found.st_uid not in trusted or is_open:
                raise WrongPeer(f"others can replace {self._path}, since they may write to {folder}")

    def _check_listener(self) -> None:
        if not hasattr(socket, "SO_PEERCRED"):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            probe.connect(str(self._path))
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(credentials)
        if uid != self._uid:
            raise WrongPeer(f"the process that listens at {self._path} runs as user {uid}, not {self._uid}")
