"""System calls on files under one name on every system: Windows lacks some of POSIX's, and macOS ``fdatasync``.

What a system lacks is left out where it only hardens (a link is followed), and replaced where it counts (the lock).
Run on Linux alone; a test hides what the others lack.
"""

from __future__ import annotations

import os
from typing import Final

CLOSE_ON_EXEC: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0)
BINARY: Final[int] = getattr(os, "O_BINARY", 0)
# Of Windows, where a lock keeps others from reading: this byte is behind the end of every log.
_LOCKED_BYTE: Final = 2**31 - 2


def flush_data(descriptor: int) -> None:
    """Flush the file's data to the disk."""
    flush = getattr(os, "fdatasync", os.fsync)
    flush(descriptor)


def flush_directory(path: str | os.PathLike[str]) -> None:
    """Flush the entries of the directory ``path`` to the disk; Windows has no call for it."""
    only_directories = getattr(os, "O_DIRECTORY", None)
    if only_directories is None:
        return
    descriptor = os.open(path, os.O_RDONLY | only_directories | CLOSE_ON_EXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_own(status: os.stat_result) -> bool:
    """Whether the file belongs to the user of this process; true where files have no numeric owner."""
    own = getattr(os, "geteuid", None)
    return own is None or status.st_uid == own()


def make_private(descriptor: int, mode: int) -> None:
    """Set the mode of the file; on Windows the directory's access list protects it."""
    change = getattr(os, "fchmod", None)
    if change is not None:
        change(descriptor, mode)


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Return up to ``count`` bytes at ``offset``. The position of the file may change: writers append."""
    read = getattr(os, "pread", None)
    if read is not None:
        found: bytes = read(descriptor, count, offset)
        return found
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)


def lock(descriptor: int) -> None:
    """Lock the file until the descriptor is closed; raise BlockingIOError when another process has locked it."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        _lock_on_windows(descriptor)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(descriptor: int) -> None:
    import msvcrt  # noqa: PLC0415 - only there

    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # unknown to mypy on Linux
    except OSError as error:
        raise BlockingIOError(error.errno, "locked by another process") from None
