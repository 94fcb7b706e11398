"""Settings of all tests: no time limit on hypothesis examples, and no process that outlives its test."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def stop_process() -> Iterator[Callable[[int], None]]:
    """Stop processes (SIGSTOP), and kill those that still exist at the end of the test.

    A process that was stopped before it set its parent-death signal would stay forever: while stopped, it does not
    notice that its socket was closed.
    """
    with ExitStack() as stack:

        def stop(pid: int) -> None:
            handle = os.pidfd_open(pid)
            stack.callback(os.close, handle)
            stack.callback(_killed, handle)
            signal.pidfd_send_signal(handle, signal.SIGSTOP)

        yield stop


def _killed(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
