"""What the tests of a log's recovery ask of it."""

import threading
from pathlib import Path

from evalward.audit import AuditLog
from evalward.audit.files import read_files
from evalward.audit.verify import verify


class Health:
    """The reports of a log about its sink, and a way to wait for the next."""

    def __init__(self, log: AuditLog) -> None:
        self.said: list[bool] = []
        self._changed = threading.Condition()
        log.watch(self._hear)

    def _hear(self, is_healthy: bool) -> None:  # noqa: FBT001 - the signature is the log's
        with self._changed:
            self.said.append(is_healthy)
            self._changed.notify_all()

    def wait_until_back(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.said[-1:] == [True], timeout=30)


def is_whole(*paths: Path) -> bool:
    return verify(read_files(paths)).fault is None
