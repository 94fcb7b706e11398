"""End a worker with its parent process in any state: a stopped process does not notice a closed socket."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def end_with(parent: int) -> bool:
    """Have the kernel kill this process when ``parent`` ends; return False when it has already ended.

    On Linux, PR_SET_PDEATHSIG (prctl(2)): the signal is sent when the thread that started this process ends, and not
    for a parent that ended before the call. Elsewhere a worker ends when it reads that its socket is closed.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - not there in every build of Python elsewhere

        # A sandbox around the service may forbid it; then the closed socket ends the worker.
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent
