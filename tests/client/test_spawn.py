"""A real child guard: its token, its end with its parent, and the denials while it is down."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fake_guard import Requester, assert_denied, question

from evalward.client import GuardClient, SpawnedGuard, SpawnError, spawn
from evalward.server.lifecycle.parent_pipe import NoTokenError, read_token

CODE = b"document.title"
TOKEN = "a-token-of-the-test"


@pytest.fixture
def spawned(tmp_path: Path) -> Iterator[SpawnedGuard]:
    with spawn(allow_eval=["renderer"], audit_log=tmp_path / "audit.jsonl") as guard:
        yield guard


def test_it_judges_for_both_clients(spawned: SpawnedGuard, requester: Requester) -> None:
    for code, allowed in ((CODE, True), (b"process.exit()", False)):
        (reply,) = requester(spawned, question("Validate", code), timeout=10)

        assert reply.allowed is allowed
        assert reply.envelope["_meta"]["audited"] is True


def test_nobody_without_the_token_is_answered(spawned: SpawnedGuard) -> None:
    address = spawned.address
    assert address.token
    for token in (None, TOKEN, f"{address.token}x"):
        with GuardClient(address.target, token=token, timeout=10) as stranger:
            for method, args, rest in (question("Validate"), question("ValidateCall"), question("Evaluate")):
                reply = getattr(stranger, method)(*args, **rest)

                assert_denied(reply, code="UNAUTHENTICATED")
                assert address.token not in str(reply.envelope)


def test_nobody_else_can_enter_its_directory(spawned: SpawnedGuard) -> None:
    socket = Path(spawned.address.target.removeprefix("unix:"))

    assert socket.is_socket()
    assert socket.parent.stat().st_mode & 0o077 == 0


@pytest.mark.sampled(2)
def test_while_it_is_down_everything_is_denied_and_then_it_is_back(
    spawned: SpawnedGuard, requester: Requester
) -> None:
    first, token = spawned.pid, spawned.address.token
    assert first is not None
    with spawned.client(timeout=10) as client:
        assert client.validate(CODE, target="renderer").allowed

        os.kill(first, signal.SIGKILL)
        while spawned.pid == first:
            assert_either(client.validate(CODE, target="renderer"))
        if spawned.absence() is not None:
            assert_either(client.validate(CODE, target="renderer"), says="is being started again")

        assert spawned.wait_ready(60, run=2)
        assert client.validate(CODE, target="renderer").allowed
    assert spawned.pid not in (None, first)
    assert spawned.address.token != token
    assert requester(spawned, question("Validate", CODE), timeout=10)[0].allowed


def assert_either(reply: Any, says: str = "") -> None:
    """Assert that ``reply`` is an answer of the guard or the denial for its absence."""
    if not reply.allowed and reply.code != "INTERNAL":
        assert_denied(reply, code="SERVICE_UNREACHABLE")
        assert says in reply.envelope["error"] or reply.envelope["details"]["grpc_status"] == "UNAVAILABLE"


@pytest.mark.sampled(2)
def test_a_guard_that_cannot_start_again_is_a_denial_that_says_so(
    tmp_path: Path, requester: Requester
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\n")
    with spawn(allow_eval=["renderer"], policy=policy, audit_log=tmp_path / "a.jsonl") as guard:
        policy.write_text("no: policy")
        assert guard.pid is not None
        os.kill(guard.pid, signal.SIGKILL)
        while guard.absence() is None:
            os.sched_yield()

        (reply,) = requester(guard, question("Validate"))

        assert_denied(reply, says="signal 9", code="SERVICE_UNREACHABLE")
        assert reply.envelope["retryable"] is True
        policy.write_text("api_version: evalward/v1\n")
        assert guard.wait_ready(60, run=2)


def test_a_closed_guard_has_ended_and_denies(tmp_path: Path, requester: Requester) -> None:
    guard = spawn(allow_eval=["renderer"], audit_log=tmp_path / "a.jsonl")
    pid = guard.pid
    assert pid is not None

    guard.close()
    guard.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not Path(guard.address.target.removeprefix("unix:")).parent.exists()
    assert '"kind":"stop"' in (tmp_path / "a.jsonl").read_text()
    assert_denied(requester(guard, question("Validate"))[0], says="closed")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options", [{"allow_eval": ["moon"]}, {"policy": Path("/no/policy.yaml")}, {"interpreter": "/no/python"}]
)
def test_a_guard_that_does_not_start_is_an_error(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SpawnError, match=r"exit code|No such file"):
        spawn(audit_log=tmp_path / "a.jsonl", **options)


@pytest.mark.exhaustive
def test_by_default_each_guard_has_a_log_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    with spawn(allow_eval=["renderer"]), spawn(allow_eval=["renderer"]):
        logs = [*(tmp_path / "evalward").glob(f"audit.{os.getpid()}.*.jsonl")]

    assert len(logs) == 2


PARENT = """
import sys
from evalward.client import spawn
guard = spawn(allow_eval=["renderer"], audit_log=sys.argv[1])
print(guard.pid, flush=True)
sys.stdin.read()
"""


def test_it_ends_with_its_parent_even_when_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path / "a.jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0

        parent.kill()

        # The guard holds the other end of stderr, so the end of stderr means that the guard has ended.
        parent.communicate(timeout=60)
    assert '"kind":"stop"' in (tmp_path / "a.jsonl").read_text()


def serve_parent(tmp_path: Path, first: bytes, *flags: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "evalward", "serve", "--parent", "--listen", "127.0.0.1:0", *flags],
        input=first,
        capture_output=True,
        check=False,
        timeout=60,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
    )


@pytest.mark.exhaustive
def test_stdout_has_the_ready_line_and_nothing_else(tmp_path: Path) -> None:
    done = serve_parent(tmp_path, f"{TOKEN}\n".encode())

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith(b'{"type":"ready"')
    assert TOKEN.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "first",
    [b"", b"\n", b"short\n", TOKEN.encode(), b"two words of a token\n", b"\xff" * 20 + b"\n", b"x" * 600],
)
def test_what_is_no_token_is_refused(first: bytes) -> None:
    with pytest.raises(NoTokenError):
        read_token(BytesIO(first))


@pytest.mark.exhaustive
def test_without_a_token_it_does_not_start(tmp_path: Path) -> None:
    done = serve_parent(tmp_path, b"")

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.exhaustive
def test_the_audit_log_does_not_mix_with_the_ready_line(tmp_path: Path) -> None:
    done = serve_parent(tmp_path, f"{TOKEN}\n".encode(), "--audit-log", "-")

    assert (done.returncode, done.stdout) == (2, b"")
