"""The threads without which the process would be half alive: when one of them fails, the process ends and says why.

An exception that leaves a thread ends that thread alone. A server whose serving thread has gone answers nobody, while
its sockets accept and its probes say that all is well. Ended, it is started again by whoever runs it: systemd, the
kubelet, a container's restart policy, ``spawn()``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOG = logging.getLogger("evalward.server")

SERVING: Final = "serving"
VITAL: Final = (
    SERVING,  # hands every call over (gRPC's own)
    "rpc_",  # answers calls
    "health",  # answers health checks and watches
    "audit",  # writes the log
    "worker-",  # starts the guard's workers
    "rounds",  # ends streams that are idle
    "watch",  # follows the policy, the tokens and the certificates
    "admin",  # accepts probes
    "parent",  # waits for the end of whoever spawned this process
    "evalward-epoch",  # interrupts runs in the sandbox
)
"""How the names of the vital threads begin. Any other that fails is logged, and costs what it was doing."""

EXIT_CODE: Final = 3  # an infrastructure failure, as the command line's others


def failure_site(failure: BaseException) -> str:
    """Return the type of ``failure`` and where it happened, without its text, which may hold payload."""
    frames = traceback.extract_tb(failure.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(failure).__name__}{where}"


def exit_process(why: str) -> None:
    """End this process at once. What was acknowledged is in the log already; workers end with their front."""
    try:
        LOG.critical("the process ends, to be started again: %s", why)
    finally:
        os._exit(EXIT_CODE)


@contextlib.contextmanager
def exit_on_critical_failure(end: Callable[[str], object] = exit_process) -> Iterator[None]:
    """Have ``end`` called when a vital thread fails."""

    def failed(args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread else "unknown"
        place = failure_site(args.exc_value) if args.exc_value else args.exc_type.__name__
        if name.startswith(VITAL):
            end(f"the thread {name} failed: {place}")
        elif args.exc_type is not SystemExit:
            LOG.error("the thread %s failed: %s", name, place)

    previous, threading.excepthook = threading.excepthook, failed
    try:
        yield
    finally:
        threading.excepthook = previous
