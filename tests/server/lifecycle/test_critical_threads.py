"""A process exits with a reason when a critical thread ends, and liveness fails when no call is answered."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evalward.server.lifecycle.critical_threads import CRITICAL, EXIT_CODE, SERVING, exit_on_critical_failure
from evalward.server.observe import liveness
from evalward.server.observe.liveness import OK, Liveness
from evalward.thread_pool import NoThreadError, PrestartedPool, prestart

Start = Callable[..., Any]

# Threads that survive whatever is asked of them, and one that only saves time.
NOT_VITAL = ("admin-call", "sandbox-warm-up")

PROGRAM = """
import sys, threading
from evalward.server.lifecycle.critical_threads import exit_on_critical_failure

def fail():
    raise RuntimeError("a text that may hold payload")

with exit_on_critical_failure():
    thread = threading.Thread(target=fail, name=sys.argv[1])
    thread.start()
    thread.join()
    print("still running")
"""


@pytest.fixture
def nobody() -> Iterator[str]:
    """Return the address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_the_process_ends_with_a_vital_thread_and_no_other() -> None:
    ended = {}
    for name in (*CRITICAL, "somebody's"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=False, timeout=60
        )
        ended[name] = done.returncode
        assert f"the thread {name} failed: RuntimeError at " in done.stderr
        assert "payload" not in done.stderr
        assert (done.stdout == "still running\n") is (name not in CRITICAL)

    assert ended == {**dict.fromkeys(CRITICAL, EXIT_CODE), "somebody's": 0}


def test_every_thread_of_a_server_is_known(start: Start) -> None:
    before = {*threading.enumerate()}
    running = start()
    names = {thread.name for thread in threading.enumerate() if thread not in before}

    assert SERVING in names
    assert [name for name in names if not name.startswith((*CRITICAL, *NOT_VITAL))] == []
    assert running.server is not None


def test_a_thread_that_is_missing_is_no_life() -> None:
    pool = PrestartedPool(2, "rpc")
    pool.prestart()
    alive = Liveness([pool])
    assert alive.report() == OK

    pool.shutdown(wait=True)

    assert alive.report() == "failed: 2 of 2 threads of rpc have ended"


def test_a_serving_thread_that_has_ended_is_no_life() -> None:
    serving = threading.Thread(target=lambda: None)
    serving.start()
    serving.join()
    alive = Liveness([])

    alive.follow(serving, None)

    assert alive.report() == "failed: the serving thread has ended"


def test_a_server_that_answers_nobody_is_not_alive(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(liveness, "SILENT_SECONDS", 0.15)
    alive = Liveness([])
    alive.follow(threading.current_thread(), nobody)
    try:
        first = alive.report()
        while (second := alive.report()) == OK:
            pass
    finally:
        alive.close()

    assert (first, second) == (OK, "failed: no call has been answered for 0 s")


def test_a_server_that_cannot_be_reached_may_still_be_alive() -> None:
    alive = Liveness([])
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    alive.follow(threading.current_thread(), address)
    try:
        assert alive.report() == OK
    finally:
        alive.close()


def test_without_threads_there_is_no_crew(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 5
    really = threading.Thread.start

    def begin(thread: threading.Thread) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("can't start new thread")
        really(thread)

    monkeypatch.setattr(threading.Thread, "start", begin)
    pools = [PrestartedPool(2, "rpc"), PrestartedPool(2, "health")]

    with pytest.raises(NoThreadError, match="TasksMax"):
        prestart(pools, spare=2)

    assert [pool.missing() for pool in pools] == [2, 2]


def test_the_hook_is_taken_back() -> None:
    before = threading.excepthook
    with exit_on_critical_failure():
        assert threading.excepthook is not before
    assert threading.excepthook is before
