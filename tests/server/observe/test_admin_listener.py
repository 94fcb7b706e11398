"""``--admin-listen``: probes and metrics of the real server, and nothing else."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from admin_http import fetch, names, samples
from grpc_health.v1 import health_pb2, health_pb2_grpc

from evalward.audit import AuditLog, NullAuditLog
from evalward.errors import Code
from evalward.judging.self_test import CASES, SelfTestError, self_test
from evalward.policy import Policy
from evalward.server.addresses import ListenError, TcpAddress, parse_admin_listen
from evalward.server.observe.admin_listener import MAX_CONNECTIONS
from evalward.server.observe.readiness import Readiness
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

EVALWARD = Path(sys.executable).with_name("evalward")
ADMIN = ("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
BY_DEFAULT = Policy.default()

Serve = Callable[..., Any]
Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]


def admin_settings(**changes: Any) -> Settings:
    return Settings(admin=TcpAddress("127.0.0.1", 0), **changes)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "127.0.0.1:7480"),
        ("0.0.0.0", "0.0.0.0:7480"),
        ("localhost:0", "localhost:0"),
        ("0.0.0.0:9000", "0.0.0.0:9000"),
        ("::1", "[::1]:7480"),
        ("[::]", "[::]:7480"),
        ("[::1]:9", "[::1]:9"),
    ],
)
def test_the_port_is_7480_unless_another_is_given(text: str, address: str) -> None:
    assert str(parse_admin_listen(text)) == address


@pytest.mark.parametrize("text", ["", "unix:/run/x.sock", "example.org:80", "127.0.0.1:", "127.0.0.1:x"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ListenError):
        parse_admin_listen(text)


def test_probes_of_a_server_that_serves(serve: Serve) -> None:
    process = serve(*ADMIN, "--allow-eval=renderer")
    admin = process.ready["admin"]

    assert fetch(admin, "/livez").body == b"ok\n"
    ready = fetch(admin, "/readyz")
    assert ready.status == 200
    body = json.loads(ready.body)
    assert body["ready"] is True
    assert set(body["checks"].values()) == {"ok"}
    assert body["enforcement"] == {"renderer": "enforce"}
    assert fetch(admin, "/metrics").headers["Content-Type"].startswith("text/plain; version=0.0.4")
    openmetrics = fetch(admin, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert openmetrics.body.endswith(b"# EOF\n")


def test_without_the_option_there_is_no_listener(serve: Serve) -> None:
    assert "admin" not in serve("--listen", "127.0.0.1:0").ready


def test_nothing_but_three_pages_is_served(serve: Serve) -> None:
    admin = serve(*ADMIN).ready["admin"]
    for path in ("/livez", "/readyz", "/metrics"):
        head = fetch(admin, path, "HEAD")
        assert (head.status, head.body) == (200, b"")
        for method in ("POST", "PUT", "DELETE", "TRACE", "OPTIONS"):
            refused = fetch(admin, path, method)
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")
    for path in ("/", "/livez/", "/evalward.v1.GuardService/Validate", "/marker_5d1c"):
        assert fetch(admin, path).status == 404
        assert b"marker_5d1c" not in fetch(admin, path).body


def test_it_speaks_no_grpc(serve: Serve, ask: Ask) -> None:
    admin = serve(*ADMIN).ready["admin"]
    with grpc.insecure_channel(admin) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/evalward.v1.GuardService/Validate", bytes, bytes)(
            ask().SerializeToString(), timeout=30
        )


def test_it_may_bind_beyond_loopback_where_the_service_may_not(serve: Serve) -> None:
    process = serve("--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0")
    port = process.ready["admin"].rpartition(":")[2]
    assert fetch(f"127.0.0.1:{port}", "/livez").status == 200


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [EVALWARD, "serve", *ADMIN[:2], "--admin-listen", address, "--audit-log", tmp_path / "a.jsonl"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 3
    assert f"cannot bind the admin listener to {address}" in done.stderr
    assert done.stdout == ""


def test_a_failing_sink_makes_it_unready_and_leaves_it_alive(serve: Serve, tmp_path: Path, ask: Ask) -> None:
    log = tmp_path / "audit.jsonl"
    process = serve(*ADMIN, "--allow-eval=renderer")
    admin = process.ready["admin"]
    log.unlink()
    log.mkdir()  # nothing can be appended to it

    with grpc.insecure_channel(process.listen[0]) as channel:
        call = channel.unary_unary("/evalward.v1.GuardService/Validate", bytes, bytes)
        with pytest.raises(grpc.RpcError):
            call(ask().SerializeToString(), timeout=30)

    unready = fetch(admin, "/readyz")
    assert unready.status == 503
    checks = json.loads(unready.body)["checks"]
    assert checks.pop("audit").startswith("failed: ")
    assert set(checks.values()) == {"ok"}
    assert str(tmp_path) not in unready.body.decode()
    assert fetch(admin, "/livez").status == 200
    found = samples(admin)
    assert found["evalward_audit_healthy"] == 0
    assert found["evalward_ready"] == 0
    assert found["evalward_audit_gaps_total"] == 1
    assert found["evalward_audit_unrecorded_total"] >= 1
    assert found['evalward_requests_total{code="AUDIT_UNAVAILABLE",outcome="error",rpc="Validate"}'] == 1


def test_a_socket_that_is_replaced_while_serving_is_told_to_every_probe(
    serve: Serve, tmp_path: Path, ask: Ask, stub_at: Callable[[str], GuardServiceStub]
) -> None:
    path = tmp_path / "e.sock"
    process = serve(*ADMIN, "--listen", f"unix:{path}", "--allow-eval=renderer")
    admin, stub = process.ready["admin"], stub_at(process.listen[0])
    with grpc.insecure_channel(process.listen[0]) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        watched = health.Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert next(watched).status == health_pb2.HealthCheckResponse.SERVING

        path.unlink()
        with socket.socket(socket.AF_UNIX) as impostor:
            impostor.bind(str(path))
            assert next(watched).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert f"{path} no longer belongs to this server" in process.says("no longer belongs")
        unready = fetch(admin, "/readyz")
        assert (unready.status, json.loads(unready.body)["checks"]["sockets"]) == (503, "failed: lost")
        assert fetch(admin, "/livez").status == 200
        assert stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
    code, _ = process.terminate()
    assert code == 0


def test_probes_are_answered_while_every_place_is_taken(start: Start, gate: Any, ask: Ask) -> None:
    running = start(gate.judge, admin_settings(max_concurrent=1, queue=1))
    admin = running.server.admin_address
    pending = [running.stub.Validate.future(ask(b"one"))]
    assert gate.entered.wait(30)
    pending.append(running.stub.Validate.future(ask(b"two")))
    asked = 0
    while samples(admin)["evalward_queued"] < 1:  # each answer proves the condition
        asked += 1
        assert asked < 10_000
    refused = running.stub.Validate.future(ask(b"three"))
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    found = samples(admin)
    assert (found["evalward_running"], found["evalward_queued"]) == (1, 1)
    assert found['evalward_limit_refusals_total{limit="queue"}'] == 1
    assert found['evalward_limit{limit="queue"}'] == 1
    assert fetch(admin, "/readyz").status == 200
    gate.leave.set()
    assert [each.result(30).WhichOneof("outcome") for each in pending] == ["allowed", "allowed"]


def test_silent_connections_keep_no_probe_out(start: Start) -> None:
    admin = start(settings=admin_settings()).server.admin_address
    host, _, port = admin.rpartition(":")
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            for _ in range(3 * MAX_CONNECTIONS)
        ]
        assert fetch(admin, "/livez").status == 200
        assert silent[0].recv(1) == b""  # the oldest was closed for a newer one


def test_a_request_that_is_none_is_not_repeated(start: Start) -> None:
    admin = start(settings=admin_settings()).server.admin_address
    host, _, port = admin.rpartition(":")
    for sent in (b"marker_77 marker_77 marker_77 marker_77\r\n\r\n", b"GET /" + b"a" * 70_000 + b"\r\n\r\n"):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.makefile("rb").read()
        assert b"marker" not in answer
        assert re.match(rb"HTTP/1.0 4\d\d |Bad Request", answer), answer[:80]


def test_a_draining_server_is_alive_and_unready(start: Start, gate: Any, ask: Ask) -> None:
    running = start(gate.judge, admin_settings(drain_seconds=60))
    admin = running.server.admin_address
    pending = running.stub.Validate.future(ask())
    assert gate.entered.wait(30)
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    asked = 0
    while (unready := fetch(admin, "/readyz")).status == 200:
        asked += 1
        assert asked < 10_000
    assert json.loads(unready.body)["checks"]["serving"] == "draining"
    assert fetch(admin, "/livez").status == 200
    gate.leave.set()
    stopping.join(60)
    assert pending.result(30).WhichOneof("outcome") == "allowed"


def test_audit_mode_is_named_by_readiness_and_a_metric(start: Start) -> None:
    policy = Policy.model_validate(
        {
            "targets": {"renderer": {"allowed": True, "enforcement": "audit"}, "main": {"allowed": True}},
            "tools": {"measure": {"enforcement": "audit"}},
        }
    )
    admin = start(settings=admin_settings(), policy=policy).server.admin_address
    body = json.loads(fetch(admin, "/readyz").body)
    assert body["ready"] is True
    assert body["enforcement"] == {"renderer": "audit", "main": "enforce", "tool measure": "audit"}
    found = samples(admin)
    assert found['evalward_enforcement_audit{scope="renderer"}'] == 1
    assert found['evalward_enforcement_audit{scope="main"}'] == 0
    assert found['evalward_enforcement_audit{scope="tool measure"}'] == 1


def test_a_server_without_a_log_is_never_ready() -> None:
    readiness = Readiness(policy=lambda: BY_DEFAULT, audit=NullAuditLog().state)
    readiness.open()
    assert readiness.report().checks["audit"] == "failed: no log is kept"


@pytest.mark.parametrize("failure", [SelfTestError("case 1"), RuntimeError("marker_31")])
def test_a_parser_that_fails_its_test_is_named(failure: Exception, tmp_path: Path) -> None:
    def broken() -> None:
        raise failure

    with AuditLog.open(tmp_path / "a.jsonl") as log:
        readiness = Readiness(policy=lambda: BY_DEFAULT, audit=log.state, test=broken)
        readiness.open()
        report = readiness.report()
    assert not report.is_ready
    assert report.checks["parser"] in {"case 1", "RuntimeError"}


def allow_everything(_payload: bytes, **_rest: Any) -> Any:
    return type("Allowed", (), {"code": None})


def test_the_self_test_finds_a_judge_that_allows_everything() -> None:
    self_test()
    with pytest.raises(SelfTestError, match="case 1 gives None, not EVAL_BLOCKED_CONSTRUCT"):
        self_test(allow_everything)
    assert {code for _, code in CASES} >= {None, Code.EVAL_BLOCKED_CONSTRUCT, Code.EVAL_SYNTAX_ERROR}


def test_a_server_whose_guard_is_wrong_does_not_start(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    def wrong() -> None:
        raise SelfTestError("case 1")

    monkeypatch.setattr("evalward.server.lifecycle.sidecar.self_test", wrong)
    with pytest.raises(SelfTestError):
        start()


def test_two_servers_of_one_process_count_apart(start: Start, ask: Ask) -> None:
    one = start(settings=admin_settings())
    one.stub.Validate(ask())
    counted = 'evalward_requests_total{code="OK",outcome="allow",rpc="Validate"}'
    assert samples(one.server.admin_address)[counted] == 1
    one.stop()
    two = start(settings=admin_settings())
    assert counted not in samples(two.server.admin_address)
    assert "evalward_requests_total" not in names(two.server.admin_address)
