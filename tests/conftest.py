"""Settings of all tests: untimed hypothesis examples, samples of many cases, and no process that outlives its test."""

import os
import signal
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from hypothesis import settings

from evalward.guard.harden import Hardened, NotHardenable
from evalward.guard.target import Shape, Target

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_xdist_auto_num_workers() -> int:
    """Run half as many tests again at once as there are cores: many wait for a process, a socket or a browser."""
    return len(os.sched_getaffinity(0)) * 3 // 2


@pytest.hookimpl(tryfirst=True)  # before ``-m`` deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of each test with ``sampled(share)`` as exhaustive, except for one in ``share``.

    The checksums of the cases' names choose, so that each run takes the same ones, and at least one of each test.
    """
    families: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            families[item.nodeid.partition("[")[0]].append(item)
    for cases in families.values():
        cases.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        (share,) = marker.args
        for item in cases[-(-len(cases) // share) :]:
            item.add_marker("exhaustive")


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


@pytest.fixture
def emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Harden payloads in this process with a print of the payload, and refuse those with ``import(``."""

    def emit(
        payload: bytes, *, target: Target, shape: Shape | None, prefix: str, **_rest: object
    ) -> Hardened | NotHardenable:
        at = payload.find(b"import(")
        if at >= 0:
            return NotHardenable("import() is never hardened", start=at, end=at + len(b"import("))
        text = b"(%sv=>(%s))(0)" % (prefix.encode(), payload)
        return Hardened(text, text, shape or Shape.EXPRESSION, target, "1.2.3")

    monkeypatch.setattr("evalward.guard.harden.harden_payload", emit)


def _killed(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
