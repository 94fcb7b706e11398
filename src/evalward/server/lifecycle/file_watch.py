"""Reload files when they change: one thread polls their stat at short intervals.

Polling detects what notifications miss: a ConfigMap that swaps a symbolic link, a network file system, a file that does
not exist yet.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from evalward.server.file_reload import TransientFileError
from evalward.thread_pool import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LOG = logging.getLogger("evalward.server")

INTERVAL_SECONDS: Final = 0.5
Stamp = tuple[int, int, int, int] | None


class _Followed:
    """Files that are loaded together, with their stamps at the last load and at the last check.

    They are loaded once at first, since their stamps at an earlier load are unknown.
    """

    def __init__(self, paths: Sequence[Path], take: Callable[[], bool]) -> None:
        self.paths = paths
        self.take = take
        self.taken: tuple[Stamp, ...] | None = None
        self.seen: tuple[Stamp, ...] | None = None
        self.failure = ""

    def look(self, *, at_once: bool) -> None:
        """Load the files if one has changed.

        With ``at_once`` immediately; otherwise after one interval without a change, so that no partial file is loaded.
        """
        now = tuple(stamp(path) for path in self.paths)
        stands, self.seen = now == self.seen, now
        if now != self.taken and (stands or at_once) and self.take():
            self.taken = now


class FileWatch:
    """Calls ``take`` of followed files after a change, until it returns True; call ``start`` once, then ``stop``.

    An exception of ``take`` is logged, and the call is repeated at the next check.
    """

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._followed: list[_Followed] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, paths: Sequence[Path], take: Callable[[], bool]) -> None:
        """Follow ``paths``, which are loaded together; ``take`` runs on the watching thread."""
        self._followed.append(_Followed(paths, take))

    def start(self) -> None:
        """Start to poll, if there are files to follow; raise NoThreadError."""
        if self._followed:
            self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
            start(self._thread)

    def stop(self) -> None:
        """Stop polling; return when the thread has ended."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def look(self, *, at_once: bool = False) -> None:
        """Check every file once; ``at_once`` also loads a file that has just changed."""
        with self._lock:
            for each in self._followed:
                try:
                    each.look(at_once=at_once)
                except Exception as failure:  # noqa: BLE001 - a failure must not affect other files
                    _log_once(
                        each,
                        str(failure) if isinstance(failure, TransientFileError) else type(failure).__name__,
                    )
                else:
                    each.failure = ""

    def _watch(self) -> None:
        while not self._ending.wait(self._interval):
            self.look()


def _log_once(followed: _Followed, failure: str) -> None:
    """Log a repeated failure once."""
    if failure != followed.failure:
        LOG.error("%s cannot be loaded now: %s; it is retried", followed.paths[0], failure)
    followed.failure = failure


def stamp(path: Path) -> Stamp:
    """Return what changes when the file behind ``path`` changes; None: it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)
