"""The real ``evalward serve``: its sockets, its log, its signals, and the real guard."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.client import GuardClient
from evalward.v1 import evalward_pb2 as pb

EVALWARD = Path(sys.executable).with_name("evalward")
MARKER = "marker_c41d9e07_4b2f_8861_aa05_77"
BLOCKED = f"/* {MARKER} */ []['constr' + 'uctor']['constr' + 'uctor']('{MARKER}')()".encode()
ALLOWED = f"/* {MARKER} */ document.title + '{MARKER}'".encode()
Serve = Callable[..., Any]
StubAt = Callable[[str], Any]
Ask = Callable[..., pb.ValidateRequest]


def both(tmp_path: Path) -> tuple[str, ...]:
    return ("--listen", "127.0.0.1:0", "--listen", f"unix:{tmp_path}/e.sock", "--allow-eval")


def check(code: bytes, target: str) -> dict[str, Any]:
    """Return the envelope that ``evalward check`` prints."""
    done = subprocess.run(
        [EVALWARD, "check", "-", "--target", target, "--format", "json"],
        input=code,
        capture_output=True,
        check=False,
    )
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope


@pytest.mark.sampled(2)
@pytest.mark.parametrize("transport", [0, 1], ids=["tcp", "unix"])
def test_each_transport_gives_the_envelope_of_check_and_one_record(
    transport: int, serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path
) -> None:
    process = serve(*both(tmp_path))
    stub = stub_at(process.listen[transport])

    for code, outcome in ((ALLOWED, "allowed"), (BLOCKED, "error")):
        response = stub.Validate(ask(code, harden=pb.HARDEN_OFF))

        envelope = json.loads(response.envelope)
        expected = check(code, "renderer")
        meta, expected_meta = envelope.pop("_meta"), expected.pop("_meta")
        assert envelope == expected
        assert response.WhichOneof("outcome") == outcome
        assert meta["audited"] is True
        assert meta["provenance"]["ruleset_digest"] == expected_meta["provenance"]["ruleset_digest"]

    assert [record["outcome"] for record in process.records()] == ["allow", "deny"]
    code, stderr = process.terminate()
    assert code == 0
    traces = process.log.read_text() + stderr
    assert not [run for run in runs(MARKER) if run in traces]


def runs(text: str, length: int = 8) -> list[str]:
    return [text[start : start + length] for start in range(len(text) - length + 1)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("code", "error_code"),
    [
        (b"process['exit'](0)", "EVAL_BLOCKED_CONSTRUCT"),
        (b"process.exit(0)", "EVAL_BLOCKED_KEYWORD"),
        (b"\xed\xa0\x80", "EVAL_BAD_ENCODING"),
        (b"\xff\xfe", "EVAL_BAD_ENCODING"),
        (b"a\0b", "EVAL_BAD_ENCODING"),
        (b"const = 1", "EVAL_SYNTAX_ERROR"),
        (b"a" * (128 * 1024 + 1), "EVAL_PAYLOAD_TOO_LARGE"),
        (b"a" * (400 * 1024), "EVAL_PAYLOAD_TOO_LARGE"),
    ],
    ids=["construct", "keyword", "surrogate", "not utf-8", "nul", "syntax", "above the limit", "far above"],
)
def test_every_denial_is_an_outcome_with_a_record(
    code: bytes, error_code: str, serve: Serve, stub_at: StubAt
) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=main")

    response = stub_at(process.listen[0]).Validate(pb.ValidateRequest(code=code, target=pb.TARGET_MAIN))

    assert response.error.code == error_code
    (record,) = process.records()
    assert (record["code"], record["outcome"]) == (error_code, "deny")
    assert record["code_length"] == len(code)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        ([], set()),
        (["--allow-eval"], {pb.TARGET_MAIN, pb.TARGET_RENDERER, pb.TARGET_NODE, pb.TARGET_SANDBOX}),
        (["--allow-eval=renderer"], {pb.TARGET_RENDERER}),
        (["--allow-eval=main,sandbox"], {pb.TARGET_MAIN, pb.TARGET_SANDBOX}),
    ],
)
def test_only_what_the_operator_opts_in_is_allowed(
    flags: list[str], allowed: set[int], serve: Serve, stub_at: StubAt
) -> None:
    stub = stub_at(serve("--listen", "127.0.0.1:0", *flags).listen[0])

    outcomes = {
        target: stub.Validate(pb.ValidateRequest(code=b"1 + 1", target=target)).error.code
        for target in pb.Target.values()
        if target != pb.TARGET_UNSPECIFIED
    }

    assert outcomes == {target: "" if target in allowed else "EVAL_TARGET_DENIED" for target in outcomes}
    assert set(stub.GetPolicy(pb.GetPolicyRequest()).allowed_targets) == allowed


def test_the_client_asks_over_a_unix_socket_and_denies_once_the_server_is_killed(
    serve: Serve, tmp_path: Path
) -> None:
    process = serve("--listen", f"unix:{tmp_path}/e.sock", "--allow-eval=renderer")
    assert stat.S_IMODE((tmp_path / "e.sock").stat().st_mode) == 0o660

    with GuardClient(f"unix:{tmp_path}/e.sock", timeout=10, connect_timeout=1) as client:
        assert client.validate(ALLOWED, target="renderer").allowed
        assert client.validate(BLOCKED, target="renderer").code == "EVAL_BLOCKED_CONSTRUCT"
        process.popen.kill()
        process.popen.wait()
        assert not client.validate(ALLOWED, target="renderer").allowed

    assert [record["outcome"] for record in process.records()] == ["allow", "deny"]


@pytest.mark.exhaustive
def test_a_second_server_on_the_same_socket_is_refused_and_the_first_goes_on(
    serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path
) -> None:
    first = serve("--listen", f"unix:{tmp_path}/e.sock", "--allow-eval")

    second = refused("--listen", f"unix:{tmp_path}/e.sock", "--audit-log", str(tmp_path / "2.jsonl"))

    assert second.returncode == 3
    assert "another server" in second.stderr
    assert stub_at(first.listen[0]).Validate(ask()).WhichOneof("outcome") == "allowed"


@pytest.mark.exhaustive
def test_servers_that_say_so_share_a_port_and_no_log(serve: Serve, tmp_path: Path) -> None:
    first = serve(
        "--listen", "127.0.0.1:0", "--share-port", "--allow-eval=renderer", log=tmp_path / "first.jsonl"
    )
    place = first.listen[0]
    second = serve("--listen", place, "--share-port", "--allow-eval=renderer", log=tmp_path / "second.jsonl")
    assert refused("--listen", place, "--audit-log", str(tmp_path / "third.jsonl")).returncode == 3
    started = [process.log_lines()[0] for process in (first, second)]
    assert [record["weakened"] for record in started] == [["share-port"], ["share-port"]]
    assert started[0]["chain"] != started[1]["chain"]
    assert first.terminate()[0] == 0
    with GuardClient(place, timeout=60, connect_timeout=60) as guard:
        assert guard.validate(b"document.title", target="renderer").allowed
    assert second.terminate()[0] == 0
    assert len(second.records()) == 1


def test_a_socket_left_by_a_killed_server_is_taken_over(
    serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path
) -> None:
    first = serve("--listen", f"unix:{tmp_path}/e.sock")
    first.popen.kill()
    first.popen.wait()
    assert (tmp_path / "e.sock").exists()

    second = serve("--listen", f"unix:{tmp_path}/e.sock", "--allow-eval")

    assert stub_at(second.listen[0]).Validate(ask()).WhichOneof("outcome") == "allowed"


def test_sigterm_leaves_no_socket_a_stop_record_and_exit_code_0(serve: Serve, tmp_path: Path) -> None:
    process = serve(*both(tmp_path))

    code, _ = process.terminate()

    assert code == 0
    assert not (tmp_path / "e.sock").exists()
    assert [line["kind"] for line in process.log_lines()] == ["start", "stop"]


def test_sigint_stops_too(serve: Serve) -> None:
    process = serve("--listen", "127.0.0.1:0")

    process.popen.send_signal(signal.SIGINT)

    assert process.popen.wait(timeout=30) == 0


def test_the_ready_line_is_all_that_goes_to_stdout(serve: Serve) -> None:
    process = serve("--listen", "127.0.0.1:0")

    process.popen.send_signal(signal.SIGTERM)
    stdout, _ = process.popen.communicate(timeout=30)

    assert stdout == ""
    assert process.ready["type"] == "ready"
    assert process.ready["schema"]["errorCodes"] == 1


def test_a_full_disk_stops_allows_and_keeps_blocks(
    tmp_path: Path, serve: Serve, stub_at: StubAt, ask: Ask
) -> None:
    log = tmp_path / "audit.jsonl"
    process = serve("--listen", "127.0.0.1:0", "--allow-eval", log=log)
    stub = stub_at(process.listen[0])
    # The file may not grow any more: the process sees a full disk.
    size = log.stat().st_size
    resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE, (size, size))

    with pytest.raises(grpc.RpcError) as failure:
        stub.Validate(ask(ALLOWED))
    blocked = stub.Validate(ask(BLOCKED))

    assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
    assert (failure.value.details() or "").startswith("AUDIT_UNAVAILABLE")
    assert blocked.error.code == "EVAL_BLOCKED_CONSTRUCT"
    assert json.loads(blocked.envelope)["_meta"]["audited"] is False
    assert log.stat().st_size == size


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--listen", "0.0.0.0:0"], 3, "loopback"),
        (["--listen", "nonsense"], 2, "HOST:PORT"),
        (["--allow-eval=moon"], 2, "renderer"),
        (["--policy", "missing.yaml"], 3, "POLICY_INVALID"),
        (["--audit-log", "/dev/full"], 3, "AUDIT_UNAVAILABLE"),
        (["--audit-log", "missing/audit.jsonl"], 3, "AUDIT_UNAVAILABLE"),
    ],
)
def test_a_server_that_cannot_serve_as_told_does_not_start(
    flags: list[str], code: int, said: str, tmp_path: Path
) -> None:
    done = refused("--audit-log", str(tmp_path / "audit.jsonl"), *flags)

    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == ""


def test_without_a_flag_the_log_is_in_the_state_directory(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [EVALWARD, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.terminate()

    log = tmp_path / "state" / "evalward" / "audit.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert len(log.read_text().splitlines()) == 2


def refused(*flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [EVALWARD, "serve", *flags], capture_output=True, text=True, check=False, timeout=30
    )
