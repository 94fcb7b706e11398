"""Critical threads: when one of them fails, the process logs why and exits.

An exception in a thread ends only that thread. A server without its serving thread answers no call, while its sockets
accept connections and its probes succeed. After an exit the supervisor restarts it: systemd, the kubelet, a container's
restart policy, ``spawn()``.
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
CRITICAL: Final = (
    SERVING,  # gRPC's dispatcher of calls
    "rpc_",  # runs RPC handlers
    "health",  # answers health checks and watches
    "audit",  # writes the log
    "worker-",  # starts the guard workers
    "rounds",  # ends idle streams
    "watch",  # reloads the policy, the tokens and the certificates
    "admin",  # accepts probes
    "hook",  # answers hooks
    "parent",  # waits for the end of the parent process
    "evalward-epoch",  # interrupts runs in the sandbox
)
"""The name prefixes of critical threads. The failure of another thread is logged, and only its task is lost."""

EXIT_CODE: Final = 3  # an infrastructure failure, as elsewhere in the CLI


def failure_site(failure: BaseException) -> str:
    """Return the type of ``failure`` and its location, without its text, which may contain payload."""
    frames = traceback.extract_tb(failure.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(failure).__name__}{where}"


def exit_process(why: str) -> None:
    """Exit immediately. Acknowledged records are already in the log; workers end with their parent process."""
    try:
        LOG.critical("the process exits and has to be restarted: %s", why)
    finally:
        os._exit(EXIT_CODE)


@contextlib.contextmanager
def exit_on_critical_failure(end: Callable[[str], object] = exit_process) -> Iterator[None]:
    """Call ``end`` when a critical thread fails."""

    def failed(args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread else "unknown"
        place = failure_site(args.exc_value) if args.exc_value else args.exc_type.__name__
        if name.startswith(CRITICAL):
            end(f"the thread {name} failed: {place}")
        elif args.exc_type is not SystemExit:
            LOG.error("the thread %s failed: %s", name, place)

    previous, threading.excepthook = threading.excepthook, failed
    try:
        yield
    finally:
        threading.excepthook = previous
