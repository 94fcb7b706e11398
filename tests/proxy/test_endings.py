"""The end of the client, of the server, of the guard and of the disk: no call passes unjudged, no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest
from recorded_session import MANIFEST, SECONDS, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


PAYLOAD = "() => document.title"
MOST_CALLS = 200


def tree(pid: int) -> list[psutil.Process]:
    own = psutil.Process(pid)
    return [own, *own.children(recursive=True)]


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=SECONDS)
    assert alive == []


def test_nothing_is_left_when_the_client_goes(guarded: Recorded) -> None:
    orphan = psutil.Process(guarded.request("test/orphan")["result"]["pid"])
    processes = [*tree(guarded.process.pid), orphan]
    assert guarded.end() == 0
    assert_gone(processes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(guarded: Recorded, number: signal.Signals) -> None:
    orphan = psutil.Process(guarded.request("test/orphan")["result"]["pid"])
    processes = [*tree(guarded.process.pid), orphan]
    guarded.process.send_signal(number)
    assert guarded.process.wait(SECONDS) == 0
    assert_gone(processes)


def test_the_server_ends_with_its_proxy_when_that_is_killed(guarded: Recorded) -> None:
    processes = tree(guarded.process.pid)
    guarded.process.kill()
    assert_gone(processes)


def test_the_proxy_ends_as_the_server_does(guarded: Recorded) -> None:
    guarded.send(b'{"jsonrpc":"2.0","id":1,"method":"test/exit","params":{"code":7}}\n')
    assert guarded.line() == b""
    assert guarded.process.wait(SECONDS) == 7


def test_a_killed_guard_denies_and_comes_back(guarded: Recorded) -> None:
    assert "isError" not in guarded.call("evaluate", {"code": PAYLOAD})
    server = [each for each in tree(guarded.process.pid) if "recorder.py" in " ".join(each.cmdline())]
    workers = [
        each for each in tree(guarded.process.pid) if each.pid != guarded.process.pid and each not in server
    ]
    assert workers
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    codes: list[str | None] = []
    while not codes or (codes[-1] is not None and len(codes) < MOST_CALLS):
        result = guarded.call("evaluate", {"code": f"() => document.title + {len(codes)}"})
        codes.append(result.get("structuredContent", {}).get("code"))
    assert codes[-1] is None
    arrived = [json.loads(line) for line in guarded.arrived()]
    # Each call that was not denied arrived, and no other.
    assert len([each for each in arrived if each.get("method") == "tools/call"]) == 2


def test_a_full_disk_denies_calls_with_code_alone(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'ulimit -f 64 && exec "$@"', "-"]
    session = Recorded(tmp_path, f"--manifest={MANIFEST}", "--allow-eval=renderer", prefix=limited)
    try:
        session.begin()
        codes = set()
        for number in range(MOST_CALLS):
            codes.add(
                session.call("evaluate", {"code": f"() => eval({number})"})["structuredContent"]["code"]
            )
        assert codes == {"EVAL_BLOCKED_KEYWORD"}
        assert session.call("evaluate", {"code": PAYLOAD})["structuredContent"]["code"] == "AUDIT_UNAVAILABLE"
        assert "isError" not in session.call("click", {})
    finally:
        session.kill()


def test_the_proxy_leaves_no_core_file(guarded: Recorded) -> None:
    """It holds payloads; the server keeps its own limit, since it has started before."""
    guarded.call("evaluate", {"code": PAYLOAD})
    own, *below = tree(guarded.process.pid)
    assert own.rlimit(psutil.RLIMIT_CORE) == (0, 0)
    server = next(each for each in below if "recorder.py" in " ".join(each.cmdline()))
    assert server.rlimit(psutil.RLIMIT_CORE) == psutil.Process().rlimit(psutil.RLIMIT_CORE)


def test_a_command_that_does_not_exist() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "evalward", "mcp", "--", "/nonexistent/server"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert "/nonexistent/server cannot be started" in ended.stderr


def test_a_policy_that_is_invalid(recorded: Callable[..., Recorded], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("profile: lax\n")
    session = recorded(f"--policy={policy}")
    assert session.process.wait(SECONDS) == 3
