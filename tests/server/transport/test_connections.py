"""Connections without a call: they are bounded, are closed for new ones, and leave descriptors for other uses."""

import json
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from admin_http import fetch

from evalward.server.settings import Settings
from evalward.server.transport.connections import Connections
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

Start = Callable[..., Any]
Serve = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]
OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
MANY = 64


def silent(address: str) -> socket.socket:
    """Connect and send only the preface that every client sends."""
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(60)
        sock.connect(address.removeprefix("unix:"))
    else:
        host, _, port = address.rpartition(":")
        sock = socket.create_connection((host.strip("[]"), int(port)), timeout=60)
    sock.sendall(OPENING)
    return sock


def is_closed(sock: socket.socket) -> bool:
    """Read to the end of the stream, if it arrives within the timeout."""
    try:
        while sock.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked as Linux answers")
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "unix"])
def test_idle_connections_give_way_and_who_asks_keeps_its_own(
    host: str, serve: Serve, ask: Ask, tmp_path: Path
) -> None:
    address = f"unix:{tmp_path}/socket" if host == "unix" else f"{host}:0"
    process = serve(
        *("--listen", address, "--allow-eval=renderer", "--max-connections", str(MANY)),
        *("--admin-listen", "127.0.0.1:0"),
    )
    (address,) = process.listen
    changes: list[grpc.ChannelConnectivity] = []
    with ExitStack() as stack:
        channel = stack.enter_context(grpc.insecure_channel(address))
        stub = GuardServiceStub(channel)
        assert stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
        channel.subscribe(changes.append)

        idle = [stack.enter_context(silent(address)) for _ in range(3 * MANY)]

        said = process.says("surplus connections")
        assert ("uid" if host == "unix" else "::/64" if "::" in host else host) in said
        for sock in idle:
            sock.settimeout(0.05)
        assert sum(map(is_closed, idle)) >= 2 * MANY
        # New connections are accepted at once, and the admin listener always had descriptors.
        fresh = stack.enter_context(grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]))
        answer = GuardServiceStub(fresh).Validate(ask(b"1"), timeout=60, wait_for_ready=True)
        assert answer.WhichOneof("outcome") == "allowed"
        assert stub.Validate(ask(b"2"), timeout=60, wait_for_ready=True).WhichOneof("outcome") == "allowed"
        page = fetch(process.ready["admin"], "/metrics").body.decode()
        (ended,) = [
            line for line in page.splitlines() if line.startswith("evalward_connections_closed_total")
        ]
        assert float(ended.split()[1]) > 0
        assert f'evalward_limit{{limit="connections"}} {MANY}.0' in page
        if host != "unix":
            # Connections with a call are closed last.
            assert grpc.ChannelConnectivity.TRANSIENT_FAILURE not in changes
            assert changes.count(grpc.ChannelConnectivity.READY) <= 1


def test_a_low_limit_of_descriptors_leaves_some_for_all_else(tmp_path: Path, ask: Ask) -> None:
    program = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 400))
from evalward.cli.app import main
sys.argv[0] = "evalward"
main()
"""
    command = [
        sys.executable,
        "-c",
        program,
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
    ]
    command += ["--allow-eval=renderer", "--audit-log", str(tmp_path / "audit.jsonl")]
    command += ["--audit-rotate-bytes", "2000"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        channel = stack.enter_context(grpc.insecure_channel(ready["listen"][0]))
        stub = GuardServiceStub(channel)
        assert stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
        _ = [stack.enter_context(silent(ready["listen"][0])) for _ in range(1_000)]

        assert fetch(ready["admin"], "/readyz").status == 200
        for number in range(20):
            asked = ask(b"%d" % number)
            assert stub.Validate(asked, timeout=60, wait_for_ready=True).WhichOneof("outcome") == "allowed"
        assert len(list(tmp_path.glob("audit.jsonl*"))) > 2
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "descriptor limit raised from 200 to 400, of at most 400" in said
    assert "File descriptor limit reached" not in said


def test_a_connection_without_a_call_is_closed(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(connection_idle=1))
    with silent(running.address) as sock:
        assert is_closed(sock)
    assert running.stub.Validate(ask(), timeout=60, wait_for_ready=True).WhichOneof("outcome") == "allowed"


def test_the_tests_own_limit_is_only_ever_raised(start: Start) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    start()
    after = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert after[0] >= before[0]
    assert after[1] == before[1]


def test_peers_that_have_gone_are_forgotten_however_few_connections_there_are() -> None:
    connections = Connections(8)

    for port in range(1_000):
        connections.heard(f"ipv4:192.0.2.1:{port}")

    assert remembered(connections) <= 16


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked as Linux answers")
def test_a_peer_that_asks_while_others_are_looked_at_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections = Connections(8)
    connections.heard("ipv4:192.0.2.1:1")
    # It connected and sent a call after the descriptors were listed.
    monkeypatch.setattr(connections, "_connections", lambda: iter(()))

    connections.sweep()

    assert remembered(connections) == 1


def remembered(connections: Connections) -> int:
    return len(connections._heard)  # noqa: SLF001 - what it keeps is what the test is about
