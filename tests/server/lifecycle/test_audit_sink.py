"""The real server while its audit log fails: no ALLOW, blocks still answered, health follows, recovery."""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import grpc
import pytest
from admin_http import values
from grpc_health.v1 import health_pb2, health_pb2_grpc

from evalward.audit.files import LogFile, read_files
from evalward.audit.verification_result import Fault
from evalward.audit.verify import verify
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

EVALWARD = Path(sys.executable).with_name("evalward")
ALLOWED = b"document.title"
BLOCKED = b"process['exit'](0)"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

Serve = Callable[..., Any]


def request(code: bytes) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)


class Watched:
    """A server under test: its verdicts, and its health from a Watch stream."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._stub = GuardServiceStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=60
        )
        self.wait_for(SERVING)

    def wait_for(self, status: int) -> None:
        """Return when health has ``status``; gRPC's deadline ends the wait otherwise."""
        for said in self._health:
            if said.status == status:
                return

    def allows(self) -> bool:
        """Whether a benign payload is allowed; any denial except AUDIT_UNAVAILABLE is an error."""
        try:
            answer = self._stub.Validate(request(ALLOWED), timeout=20)
        except grpc.RpcError as failure:
            if (failure.details() or "").startswith("AUDIT_UNAVAILABLE"):
                return False
            raise
        assert json.loads(answer.envelope)["_meta"]["audited"] is True
        return True

    def audits_block(self) -> bool:
        """Whether its denial of a hostile payload is recorded."""
        answer = self._stub.Validate(request(BLOCKED), timeout=20)
        assert answer.error.code == "EVAL_BLOCKED_CONSTRUCT"
        return bool(json.loads(answer.envelope)["_meta"]["audited"])

    def close(self) -> None:
        self._health.cancel()
        self._channel.close()


@pytest.fixture
def watch() -> Iterator[Callable[[str], Watched]]:
    made: list[Watched] = []

    def begin(address: str) -> Watched:
        made.append(Watched(address))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def limit_size(pid: int, size: int) -> None:
    """Limit the size of the files of a process: it sees a full disk."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def fill(process: Any) -> Callable[[], None]:
    limit_size(process.popen.pid, process.log.stat().st_size + 100)
    return lambda: limit_size(process.popen.pid, resource.RLIM_INFINITY)


def delete(process: Any) -> Callable[[], None]:
    process.log.unlink()
    process.log.mkdir()  # so that no new file can take its place yet
    healed: Callable[[], None] = process.log.rmdir
    return healed


def replace(process: Any) -> Callable[[], None]:
    process.log.rename(process.log.with_name("aside"))
    process.log.symlink_to("elsewhere")
    healed: Callable[[], None] = process.log.unlink
    return healed


def make_read_only(process: Any) -> Callable[[], None]:
    process.log.chmod(0o400)
    return lambda: process.log.chmod(0o600)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("harm", "reasons"),
    [
        (fill, {"full"}),
        (delete, {"deleted", "replaced", "failed"}),
        (replace, {"replaced", "failed"}),
        (make_read_only, {"read-only"}),
    ],
)
def test_no_allow_without_a_record_and_recovery_by_itself(
    harm: Callable[[Any], Callable[[], None]],
    reasons: set[str],
    serve: Serve,
    watch: Callable[[str], Watched],
) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval")
    server = watch(process.listen[0])
    assert server.allows()
    assert server.audits_block()

    heal = harm(process)
    assert not server.allows()
    server.wait_for(NOT_SERVING)
    assert not server.audits_block()
    assert not server.allows()
    heal()
    server.wait_for(SERVING)
    assert server.allows()
    assert server.audits_block()

    gap = next(json.loads(line) for line in process.log.read_bytes().splitlines() if b'"gap"' in line)
    assert gap["unrecorded"] == 3
    assert gap["reason"] in reasons
    code, _ = process.terminate()
    assert code == 0
    if harm in {fill, make_read_only}:
        assert verify(read_files([process.log])).fault is None


def test_a_log_that_is_cut_short_while_serving_is_noticed_and_said(
    serve: Serve, watch: Callable[[str], Watched]
) -> None:
    """Truncate like logrotate's copytruncate: the next call is no ALLOW, and the log gives the reason."""
    process = serve("--listen", "127.0.0.1:0", "--allow-eval", "--admin-listen", "127.0.0.1:0")
    server = watch(process.listen[0])
    assert server.allows()
    os.truncate(process.log, 0)

    assert not server.allows()
    server.wait_for(NOT_SERVING)
    server.wait_for(SERVING)
    assert server.allows()

    gap, decision = process.log_lines()
    assert (gap["kind"], gap["reason"], gap["unrecorded"]) == ("gap", "truncated", 1)
    assert decision["seq"] == gap["seq"] + 1
    (gaps,) = values(process.ready["admin"], "evalward_audit_gaps_total").values()
    assert gaps == 1
    files = [*process.log.parent.glob("audit.jsonl*")]
    assert verify(read_files(files)).fault is Fault.REMOVED


def test_a_configuration_file_that_is_named_as_the_log_is_not_touched(tmp_path: Path) -> None:
    """``--audit-log policy.yaml`` instead of ``--policy policy.yaml`` once changed its mode and renamed it."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\n")
    policy.chmod(0o644)
    done = subprocess.run(
        [EVALWARD, "serve", "--listen", "127.0.0.1:0", "--audit-log", policy],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 3
    assert "it is no audit log" in done.stderr
    assert policy.read_text() == "api_version: evalward/v1\n"
    assert policy.stat().st_mode & 0o777 == 0o644
    assert [*tmp_path.iterdir()] == [policy]


def fill_up(path: Path) -> None:
    """Write to a file until its file system is full."""
    with path.open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(b"#" * 1024)


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a mount namespace")
def test_a_file_system_without_room_stops_allows_until_there_is_some(
    tmp_path: Path, watch: Callable[[str], Watched]
) -> None:
    """A file system of 64 KB that only the server sees, filled by another file."""
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=64k none "$1/small" && shift && exec "$@"'
    command = [str(EVALWARD), "serve", "--listen", "127.0.0.1:0", "--allow-eval"]
    command += ["--audit-log", str(tmp_path / "small" / "audit.jsonl")]
    with subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", tmp_path, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.skip("this machine gives no mount namespace to a user")
        try:
            inside = Path(f"/proc/{process.pid}/root{tmp_path}/small")
            server = watch(json.loads(line)["listen"][0])
            assert server.allows()
            fill_up(inside / "ballast")
            # The page of the log's last record still has room for some.
            while server.allows():
                pass
            server.wait_for(NOT_SERVING)
            assert not server.audits_block()
            (inside / "ballast").unlink()
            server.wait_for(SERVING)
            assert server.allows()
            found = verify(read_files([inside / "audit.jsonl"]))
            assert (found.fault, found.gaps) == (None, 1)
        finally:
            process.terminate()


@contextmanager
def on_a_pipe(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", str, int]]:
    """Run a server whose log is a pipe of one page without a reader; yield its address and the pipe's end."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    flags = ["--listen", "127.0.0.1:0", "--allow-eval", "--audit-log", "-", "--audit-timeout-ms", "500"]
    with subprocess.Popen(
        [EVALWARD, "serve", *flags], stdout=writer, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        os.close(writer)
        os.set_blocking(reader, False)
        try:
            assert process.stderr is not None
            ready = next(line for line in process.stderr if line.startswith("{"))
            yield process, json.loads(ready)["listen"][0], reader
        finally:
            process.kill()
            os.close(reader)


@pytest.mark.exhaustive
def test_a_reader_that_does_not_read_stops_allows_until_it_does(
    tmp_path: Path, watch: Callable[[str], Watched]
) -> None:
    """The log is on stdout, a pipe that no process reads: the write itself hangs."""
    with on_a_pipe(tmp_path) as (process, address, reader):
        server = watch(address)
        allowed = 0
        while server.allows():
            allowed += 1
        assert allowed > 1
        server.wait_for(NOT_SERVING)
        assert not server.audits_block()
        assert not server.allows()

        data = drained(reader)
        server.wait_for(SERVING)
        assert server.allows()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        data += drained(reader)
    found = verify([LogFile("stdout", BytesIO(data))])
    assert (found.fault, found.gaps) == (None, 1)
    kinds = [json.loads(line)["kind"] for line in data.splitlines()]
    assert (kinds[0], kinds[-1]) == ("start", "stop")


@pytest.mark.exhaustive
def test_a_stuck_log_does_not_keep_a_server_from_stopping(
    tmp_path: Path, watch: Callable[[str], Watched]
) -> None:
    with on_a_pipe(tmp_path) as (process, address, _):
        server = watch(address)
        while server.allows():
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def drained(descriptor: int) -> bytes:
    """Return the present content of the pipe."""
    data = b""
    while True:
        try:
            more = os.read(descriptor, 65536)
        except BlockingIOError:
            return data
        if not more:
            return data
        data += more
