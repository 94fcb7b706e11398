"""How a worker ends with its front whatever its own state: a stopped process does not see that a socket was closed."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def end_with(parent: int) -> bool:
    """Have the kernel kill this process with ``parent``; return False when that process has gone already.

    On Linux, PR_SET_PDEATHSIG (prctl(2)): the signal comes when the thread that started this process ends, and
    nothing comes for one that ended before. Elsewhere a worker ends when it reads that its socket was closed.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - not there in every build of Python elsewhere

        # A sandbox around the service may forbid it, and then it is as elsewhere.
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent
