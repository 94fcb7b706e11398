"""Files that are taken anew when they change: a stat at short intervals, on one thread for all of them.

Polling sees what notifications miss: a ConfigMap that swaps a symbolic link, a network file system, a file that is
not there yet.
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
    """Files that belong together: what they were when they were last taken, and when they were last looked at.

    They are taken once at first: what they were when somebody read them before is not known.
    """

    def __init__(self, paths: Sequence[Path], take: Callable[[], bool]) -> None:
        self.paths = paths
        self.take = take
        self.taken: tuple[Stamp, ...] | None = None
        self.seen: tuple[Stamp, ...] | None = None
        self.failure = ""

    def look(self, *, at_once: bool) -> None:
        """Take the files if one has changed, ``at_once`` or when all stood still for a round: half a file is none."""
        now = tuple(stamp(path) for path in self.paths)
        stands, self.seen = now == self.seen, now
        if now != self.taken and (stands or at_once) and self.take():
            self.taken = now


class FileWatch:
    """Calls ``take`` of followed files when one has changed, until it says True; ``start`` once, then ``stop``.

    What ``take`` raises is logged, and it is called again at the next look.
    """

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._followed: list[_Followed] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, paths: Sequence[Path], take: Callable[[], bool]) -> None:
        """Follow ``paths``, which are taken together; ``take`` runs on the watching thread."""
        self._followed.append(_Followed(paths, take))

    def start(self) -> None:
        """Begin to look, if there is anything to look at; raise NoThreadError."""
        if self._followed:
            self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
            start(self._thread)

    def stop(self) -> None:
        """Look no more; return when the thread has ended."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def look(self, *, at_once: bool = False) -> None:
        """Look at every file once; ``at_once`` takes one that has just changed, too."""
        with self._lock:
            for each in self._followed:
                try:
                    each.look(at_once=at_once)
                except Exception as failure:  # noqa: BLE001 - one file must not keep the others from being followed
                    _complain(
                        each,
                        str(failure) if isinstance(failure, TransientFileError) else type(failure).__name__,
                    )
                else:
                    each.failure = ""

    def _watch(self) -> None:
        while not self._ending.wait(self._interval):
            self.look()


def _complain(followed: _Followed, failure: str) -> None:
    """Log once what is tried twice a second."""
    if failure != followed.failure:
        LOG.error("%s cannot be taken now: %s; it is tried again", followed.paths[0], failure)
    followed.failure = failure


def stamp(path: Path) -> Stamp:
    """Return what changes when the file behind ``path`` does; None: it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)
