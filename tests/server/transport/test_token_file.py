"""The tokens of ``--token-file``: admitted callers, rejected files, and rotation while the server runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.client import GuardClient
from evalward.errors import CodedError
from evalward.server.transport.token_file import load_tokens
from evalward.v1 import evalward_pb2 as pb

Serve = Callable[..., Any]
StubAt = Callable[[str], Any]
Ask = Callable[..., pb.ValidateRequest]
EVALWARD = Path(sys.executable).with_name("evalward")
OLD, NEW = "an-old-token-of-the-test", "a-new-token-of-the-test"


def private(path: Path, *tokens: str, mode: int = 0o600) -> Path:
    """Write a file of tokens as an operator would: a new file under the old name."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text("".join(f"{token}\n" for token in tokens))
    fresh.chmod(mode)
    return fresh.rename(path)


def status(stub: Any, request: pb.ValidateRequest, *headers: str) -> grpc.StatusCode:
    try:
        stub.Validate(request, metadata=[("authorization", header) for header in headers])
    except grpc.RpcError as failure:
        code: grpc.StatusCode = failure.code()
        return code
    return grpc.StatusCode.OK


def test_only_a_token_of_the_file_lets_in_and_rotation_needs_no_restart(
    serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path
) -> None:
    file = private(tmp_path / "tokens", OLD)
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer", "--token-file", str(file))
    stub = stub_at(process.listen[0])

    def let_in() -> list[bool]:
        return [status(stub, ask(), f"Bearer {token}") is grpc.StatusCode.OK for token in (OLD, NEW)]

    assert let_in() == [True, False]
    for headers in ((), ("Bearer ",), (OLD,), (f"bearer {OLD}",), (f"Bearer {OLD}", f"Bearer {OLD}")):
        assert status(stub, ask(), *headers) is grpc.StatusCode.UNAUTHENTICATED

    private(file, OLD, "", NEW)
    process.says("2 tokens of")
    assert let_in() == [True, True]

    private(file, NEW)
    process.popen.send_signal(signal.SIGHUP)
    process.says("1 tokens of")
    assert let_in() == [False, True]

    private(file, OLD, mode=0o640)
    said = process.says("the previous tokens stay in force")
    assert "its mode is 0640" in said
    assert let_in() == [False, True]

    code, rest = process.terminate()
    assert code == 0
    kinds = [(line["kind"], line.get("count"), line.get("code")) for line in process.log_lines()]
    assert [kind for kind in kinds if kind[0].startswith("token")] == [
        ("token_load", 2, None),
        ("token_load", 1, None),
        ("token_reject", None, "CONFIG_INVALID"),
    ]
    traces = process.log.read_text() + said + rest
    assert not [token for token in (OLD, NEW) if token in traces]


def test_a_client_shows_its_token(serve: Serve, tmp_path: Path) -> None:
    file = private(tmp_path / "tokens", OLD)
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer", "--token-file", str(file))
    with GuardClient(process.listen[0]) as client:
        assert client.validate(b"1", target="renderer").code == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"", 0o600, "it has no token"),
        (b"\n \n", 0o600, "line 2 is not 16 to 512"),
        (b"\n\n", 0o600, "it has no token"),
        (b"short\n", 0o600, "line 1 is not 16 to 512"),
        (b"a token with a space\n", 0o600, "line 1 is not 16 to 512"),
        (b"a-token-of-the-test\n\xff\xfe-token-of-the-test\n", 0o600, "line 2 is not 16 to 512"),
        (b"t" * 513, 0o600, "line 1 is not 16 to 512"),
        (b"\n".join(b"a-token-of-the-test-%d" % number for number in range(17)), 0o600, "more than 16"),
        (b"a-token-of-the-test\n", 0o640, "its mode is 0640 and must be 0600"),
        (b"a-token-of-the-test\n", 0o604, "its mode is 0604 and must be 0600"),
    ],
)
def test_a_file_that_could_not_be_meant_is_refused(
    content: bytes, mode: int, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(content)
    file.chmod(mode)

    with pytest.raises(CodedError) as refusal:
        load_tokens(file)

    assert refusal.value.code == "CONFIG_INVALID"
    assert why in refusal.value.message
    assert "a-token-of" not in refusal.value.message


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name in ("fifo", "missing", "."):
        with pytest.raises(CodedError, match="cannot be used"):
            load_tokens(tmp_path / name)


@pytest.mark.exhaustive
def test_a_file_that_is_refused_stops_the_start(tmp_path: Path) -> None:
    file = private(tmp_path / "tokens", OLD, mode=0o644)
    command = [str(EVALWARD), "serve", "--audit-log", str(tmp_path / "a"), "--token-file", str(file)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (3, "")
    assert "CONFIG_INVALID" in done.stderr
    assert OLD not in done.stderr


@pytest.mark.exhaustive
def test_a_parent_has_its_own_token(tmp_path: Path) -> None:
    file = private(tmp_path / "tokens", OLD)

    done = subprocess.run(
        [EVALWARD, "serve", "--parent", "--token-file", file], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "--token-file" in done.stderr
