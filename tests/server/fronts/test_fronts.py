"""``serve --fronts``: several real servers on one port, as one service to its callers, probes and auditors."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from admin_http import fetch, values
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.client import GuardClient

EVALWARD = Path(sys.executable).with_name("evalward")
SECONDS = 60
CONNECTIONS = 32
FLAGS = ("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--allow-eval=renderer")

Serve = Callable[..., Any]


def logs(process: Any) -> list[Path]:
    return [process.log, process.log.with_name(f"{process.log.name}.front-2")]


def decisions(log: Path) -> list[str]:
    records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [record["decision_id"] for record in records if record["kind"] == "decision"]


def verified(process: Any) -> str:
    """Verify the logs together, as the default log of the service, which names none of its fronts."""
    default = {"XDG_STATE_HOME": str(process.log.parent)}
    place = process.log.parent / "evalward"
    place.mkdir(exist_ok=True)
    for log in logs(process):
        log.rename(place / log.name)
    done = CliRunner().invoke(app, ["audit", "verify"], env=default)
    assert done.exit_code == 0, done.output
    return done.stdout


def ask(address: str, connections: int) -> list[str]:
    """Ask once over each of so many connections; return the ids of the decisions."""
    ids = []
    for _ in range(connections):
        with GuardClient(address, timeout=SECONDS, connect_timeout=SECONDS) as guard:
            decision = guard.validate(b"document.title", target="renderer")
        assert decision.allowed, decision.envelope
        ids.append(decision.decision_id)
    return ids


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


def readiness(process: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(fetch(process.ready["admin"], "/readyz").body)
    return body


def until(is_so: Callable[[], bool]) -> None:
    """Return when ``is_so``; each attempt asks the service or the kernel again."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        os.sched_yield()


def test_two_fronts_are_one_service(serve: Serve) -> None:
    process = serve(*FLAGS, "--fronts", "2")

    asked = ask(process.listen[0], CONNECTIONS)

    assert process.ready["fronts"] == 2
    in_logs = [decisions(log) for log in logs(process)]
    assert all(in_logs), "the kernel has sent all connections to one front"
    assert sorted(each for log in in_logs for each in log) == sorted(asked)
    counted = {}

    def is_counted() -> bool:
        counted.update(values(process.ready["admin"], "evalward_requests_total"))
        return sum(counted.values()) == CONNECTIONS

    until(is_counted)
    assert {key.partition('front="')[2][0] for key in counted} == {"1", "2"}
    report = readiness(process)
    assert report["ready"] is True
    assert {front["policy_digest"] for front in report["fronts"].values()} == {
        report["fronts"]["1"]["policy_digest"]
    }
    assert fetch(process.ready["admin"], "/livez").body == b"front 1: ok\nfront 2: ok\n"
    assert process.terminate()[0] == 0
    assert "in 2 chains" in verified(process)


@pytest.mark.exhaustive
def test_a_killed_front_loses_nothing_that_was_acknowledged_and_is_replaced(serve: Serve) -> None:
    process = serve(*FLAGS, "--fronts", "2")
    address, acknowledged, ending = process.listen[0], [], threading.Event()

    def call() -> None:
        while not ending.is_set():
            with GuardClient(address, timeout=SECONDS, connect_timeout=SECONDS) as guard:
                decision = guard.validate(b"document.title", target="renderer")
            if decision.allowed:
                acknowledged.append(decision.decision_id)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    until(lambda: len(acknowledged) >= CONNECTIONS)
    killed = children(process.popen.pid)[0]
    os.kill(killed, signal.SIGKILL)
    process.says("front")
    until(lambda: len(children(process.popen.pid)) == 2 and killed not in children(process.popen.pid))
    until(
        lambda: all(
            isinstance(front, dict) and front["ready"] for front in readiness(process)["fronts"].values()
        )
    )
    ending.set()
    for caller in callers:
        caller.join(SECONDS)

    assert readiness(process)["ready"] is True
    assert process.terminate()[0] == 0
    logged = {each for log in logs(process) for each in decisions(log)}
    assert not [each for each in acknowledged if each not in logged]
    verified(process)


@pytest.mark.exhaustive
def test_a_new_policy_reaches_every_front(serve: Serve, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\nprofile: balanced\n")
    process = serve(*FLAGS, "--fronts", "2", "--policy", str(policy))
    before = readiness(process)["fronts"]["1"]["policy_digest"]

    policy.write_text("api_version: evalward/v1\nprofile: strict\n")
    process.popen.send_signal(signal.SIGHUP)

    until(lambda: before not in {front["policy_digest"] for front in readiness(process)["fronts"].values()})
    assert len({front["policy_digest"] for front in readiness(process)["fronts"].values()}) == 1


@pytest.mark.exhaustive
def test_fronts_end_with_their_supervisor(serve: Serve) -> None:
    process = serve(*FLAGS, "--fronts", "2")
    fronts = children(process.popen.pid)
    assert len(fronts) == 2

    process.popen.kill()
    process.popen.wait()

    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() and runs(pid) for pid in fronts))
    verified(process)


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.exhaustive
def test_the_token_of_a_parent_reaches_every_front(tmp_path: Path) -> None:
    token = "t" * 32
    flags = ["--fronts", "2", "--parent", "--listen", "127.0.0.1:0", "--allow-eval=renderer"]
    popen = subprocess.Popen(
        [EVALWARD, "serve", "--audit-log", tmp_path / "audit.jsonl", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with popen:
        assert popen.stdin is not None
        assert popen.stdout is not None
        popen.stdin.write(f"{token}\n")
        popen.stdin.flush()
        address = json.loads(popen.stdout.readline())["listen"][0]
        for _ in range(8):
            with GuardClient(address, token=token, timeout=SECONDS, connect_timeout=SECONDS) as guard:
                assert guard.validate(b"document.title", target="renderer").allowed
            with GuardClient(address, timeout=SECONDS, connect_timeout=SECONDS) as guard:
                assert guard.validate(b"document.title", target="renderer").code == "UNAUTHENTICATED"
        popen.stdin.close()
        assert popen.wait(SECONDS) == 0


def serve_once(*flags: str, log: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EVALWARD, "serve", "--audit-log", log, "--listen", "127.0.0.1:0", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.mark.exhaustive
def test_what_makes_a_front_fail_is_said_once(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\nprofile: brave\n")

    done = serve_once("--fronts", "3", "--policy", str(policy), log=tmp_path / "audit.jsonl")

    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("POLICY_INVALID") == 1
    assert done.stderr.endswith("evalward serve: front 1 has ended (exit code 3)\n")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("flags", "log", "says"),
    [
        (["--fronts", "0"], "audit.jsonl", "a number from 1 to 256, or auto"),
        (["--fronts", "many"], "audit.jsonl", "a number from 1 to 256, or auto"),
        (["--fronts", "2", "--listen", "unix:e.sock"], "audit.jsonl", "has one server"),
        (["--fronts", "2"], "-", "needs a file for each audit log"),
    ],
)
def test_what_several_fronts_cannot_share_is_a_usage_error(
    flags: list[str], log: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    done = serve_once(*flags, log=log)

    assert done.returncode == 2
    assert says in " ".join(done.stderr.replace("│", " ").split())


def test_only_a_supervisor_makes_a_front(tmp_path: Path) -> None:
    done = subprocess.run(
        [EVALWARD, "serve", "--audit-log", tmp_path / "audit.jsonl", "--listen", "127.0.0.1:0"],
        env={**os.environ, "EVALWARD_FRONT": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )

    assert done.returncode == 3
    assert "only --fronts sets it" in done.stderr
