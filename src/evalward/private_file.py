"""Read a file that holds a secret: the audit key, bearer tokens, the private key of TLS.

Only the owner may have access. Group access is rejected too, since callers are in the service's group to reach its
Unix socket (docs/how-to/deployment.md).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from evalward.file_calls import BINARY, CLOSE_ON_EXEC, NO_FOLLOW, NO_WAIT

if TYPE_CHECKING:
    from pathlib import Path

OTHERS: Final = 0o077


class NotPrivateError(Exception):
    """The file must not hold a secret; the message says why, without the file's name."""


def read_private(path: str | os.PathLike[str] | Path, *, most: int, follow_links: bool = True) -> bytes:
    """Return at most ``most`` bytes of the file at ``path``.

    Raise OSError for one that cannot be read, and NotPrivateError for anything but a regular file and for one that
    others than its owner may read, write or run. Does not block on a pipe without a writer.
    """
    flags = os.O_RDONLY | CLOSE_ON_EXEC | NO_WAIT | BINARY | (0 if follow_links else NO_FOLLOW)
    with open(os.open(path, flags), "rb") as stream:  # noqa: PTH123 - a descriptor
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotPrivateError("it is not a regular file")
        if status.st_mode & OTHERS:
            raise NotPrivateError(f"its mode is {stat.S_IMODE(status.st_mode):04o} and must be 0600")
        return stream.read(most)
