"""Settings of all tests: untimed hypothesis examples, samples, the order, and no process that outlives its test."""

import argparse
import gc
import json
import os
import signal
import zlib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from evalward.audit import AuditLog
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.harden import Hardened, NotHardenable
from evalward.guard.target import Shape, Target
from evalward.policy import parse_policy
from evalward.server.addresses import parse_listen
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_xdist_auto_num_workers() -> int:
    """Run half as many tests again at once as there are cores: many wait for a process, a socket or a browser."""
    return len(os.sched_getaffinity(0)) * 3 // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn",
        metavar="K/N",
        type=_turn,
        default=(1, 1),
        help="run only the K-th of N parts of the exhaustive tests; .ci/run takes another part with each commit",
    )


def _turn(text: str) -> tuple[int, int]:
    turn, _, turns = text.partition("/")
    if not (turn.isdecimal() and turns.isdecimal() and 1 <= int(turn) <= int(turns)):
        msg = f"{text!r} is not K/N with 1 <= K <= N, such as 2/4"
        raise argparse.ArgumentTypeError(msg)
    return int(turn), int(turns)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Choose the samples before ``-m`` deselects, then leave out other turns, and order the rest."""
    _mark_samples(items)
    yield
    turn, turns = config.getoption("turn")
    others = {
        item for item in items if item.get_closest_marker("exhaustive") and _number(item) % turns != turn - 1
    }
    if others:
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]
    items[:] = _dealt(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _number(item: pytest.Item) -> int:
    """Return the checksum of a test's name, which says to what sample or turn it belongs."""
    return zlib.crc32(item.nodeid.encode())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None]:
    """Keep the collected tests, which are thousands, from the garbage collector: it would walk them again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _mark_samples(items: list[pytest.Item]) -> None:
    """Mark the cases of each test with ``sampled(share)`` as exhaustive, except for one in ``share``.

    The checksums of the cases' names choose, so that each run takes the same ones, and at least one of each test.
    """
    families: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            families[item.nodeid.partition("[")[0]].append(item)
    for cases in families.values():
        cases.sort(key=_number)
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        (share,) = marker.args
        for item in cases[-(-len(cases) // share) :]:
            item.add_marker("exhaustive")


def _dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return ``items`` so that every worker begins with some of the tests that last long, and none ends with one.

    ``--dist worksteal`` gives each worker a part of the list, one after another, all of nearly the same length.
    """
    if workers == 1:
        return items
    lasting = sorted((item for item in items if _seconds(item)), key=_seconds, reverse=True)
    others = [item for item in items if not _seconds(item)]
    dealt: list[pytest.Item] = []
    for worker in range(workers):
        mine = lasting[worker::workers]
        room = max(0, (len(items) - len(dealt)) // (workers - worker) - len(mine))
        dealt += mine + others[:room]
        others = others[room:]
    return dealt + others


def _seconds(item: pytest.Item) -> int:
    marker = item.get_closest_marker("lasts")
    return int(marker.args[0]) if marker else 0


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


class Service:
    """A real server in this process: ``address`` is where it listens, ``log`` its audit log."""

    def __init__(self, folder: Path, targets: tuple[str, ...], settings: Settings) -> None:
        self.log = folder / "audit.jsonl"
        allowed = {target: {"allowed": True} for target in targets}
        policy = parse_policy({"api_version": "evalward/v1", "targets": allowed}, source="policy.yaml")
        self.server = Server(
            judge,
            policy=policy,
            provenance=Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0"),
            audit_log=AuditLog.open(self.log),
            settings=settings,
        )
        self.address = self.server.start([parse_listen("127.0.0.1:0")])[0]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records of one kind."""
        records = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [record for record in records if record["kind"] == kind]


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[Service]]:
    """Start a service in a folder, for ``targets`` and with other ``Settings``, and stop it."""

    @contextmanager
    def started(folder: Path, targets: tuple[str, ...] = ("renderer",), **settings: Any) -> Iterator[Service]:
        service = Service(folder, targets, Settings(**settings))
        try:
            yield service
        finally:
            service.server.stop()

    return started


def _killed(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
