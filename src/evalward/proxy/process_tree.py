"""The server's process and all that it starts: a browser that it leaves behind would run on.

On POSIX the server leads a session of its own. A browser often leads one, too, so that the tree is ended and not the
process group alone; on Linux this process adopts what the server orphans (PR_SET_CHILD_SUBREAPER, prctl(2)).
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence

_SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
TERMINATE_SECONDS: Final = 3.0


def adopt_orphans() -> None:
    """Become the parent of every process that a descendant leaves behind; does nothing where the system cannot."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - not in every build of Python elsewhere

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class ServerProcess:
    """The process of ``command``, with pipes as its standard input and output; raises OSError when it cannot start."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - the command is the user's own
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the server has no pipes")
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def kill(self) -> None:
        """Kill the server itself, at once."""
        self._process.kill()

    def close_input(self) -> None:
        """Tell the server that no more messages come."""
        with suppress(OSError, ValueError):
            self.stdin.close()

    def end(self, *, seconds: float) -> int:
        """End the server and every process that it started, and return its exit code.

        It gets ``seconds`` to end by itself after ``close_input``; then all get SIGTERM, and after
        ``TERMINATE_SECONDS`` SIGKILL. No other child of this process may be left: it would be ended, too.
        """
        before = _tree()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        for end in (psutil.Process.terminate, psutil.Process.kill):
            left = {*_tree(), *(each for each in before if _runs(each))}
            if not left:
                break
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    end(process)
            psutil.wait_procs(left, timeout=TERMINATE_SECONDS)
        return self._process.wait()


def _tree() -> list[psutil.Process]:
    """Return the running processes below this one."""
    return [each for each in psutil.Process().children(recursive=True) if _runs(each)]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
