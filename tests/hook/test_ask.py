"""The small client: it prints the service's answer, and blocks with exit code 2 whatever else happens."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from evalward.hook import ask, settings

CLIENT = [sys.executable, "-I", "-S", ask.__file__]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nEvalward-Exit: 0\r\n\r\n"
Serve = Callable[..., str]


def run(
    *arguments: str, stdin: bytes = b"{}", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*CLIENT, *arguments], input=stdin, capture_output=True, timeout=120, check=False, env=env
    )


def assert_blocked(done: subprocess.CompletedProcess[bytes], words: str) -> None:
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr.decode()
    assert '"ok":false' in done.stderr.decode()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that answers one connection with ``reply`` and returns the address."""
    with ExitStack() as stack:

        def begin(
            reply: bytes, *, seen: list[bytes] | None = None, reads: bool = True, wait: float = 0
        ) -> str:
            path = tmp_path / "hook.sock"
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen()

            def answer() -> None:
                connection, _ = listener.accept()
                with connection:
                    if reads:
                        received = connection.recv(65536)
                        if seen is not None:
                            seen.append(received)
                    time.sleep(wait)
                    with suppress(BrokenPipeError):
                        connection.sendall(reply)

            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            stack.callback(thread.join, 10)
            return f"unix:{path}"

        yield begin


def test_the_answer_is_printed(serve: Serve) -> None:
    seen: list[bytes] = []

    done = run("cursor", serve(OK + b"yes", seen=seen), stdin=b'{"a":1}')

    assert (done.returncode, done.stdout, done.stderr) == (0, b"yes", b"")
    assert seen[0].startswith(b"POST /hook/cursor HTTP/1.1\r\n")
    assert seen[0].endswith(b'\r\n\r\n{"a":1}')


def test_the_service_can_block(serve: Serve) -> None:
    done = run("cursor", serve(OK.replace(b"Exit: 0", b"Exit: 2") + b"no\n"))

    assert (done.returncode, done.stdout) == (2, b"no\n")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"", "no service for hooks"),
        (b"hello", "no service for hooks"),
        (OK.replace(b"200 OK", b"404 Not Found") + b"yes", "no service for hooks"),
        (OK.replace(b"200 OK", b"500 Oops") + b"yes", "no service for hooks"),
        (OK.replace(b"Evalward-Exit: 0\r\n", b"") + b"yes", "no service for hooks"),
        (OK, "not complete"),
        (OK + b"ye", "not complete"),
        (OK + b"yes!", "not complete"),
        (OK.replace(b"3", b"x") + b"yes", "ValueError"),
        (OK.replace(b"Content-Length: 3\r\n", b"") + b"yes", "KeyError"),
    ],
)
def test_any_other_reply_blocks(serve: Serve, reply: bytes, words: str) -> None:
    assert_blocked(run("cursor", serve(reply)), words)


def test_a_service_that_hangs_up_blocks(serve: Serve) -> None:
    assert_blocked(run("cursor", serve(b"", reads=False), stdin=b"x" * 1_000_000), "Evalward")


@pytest.mark.exhaustive
def test_a_silent_service_blocks_in_time(serve: Serve) -> None:
    started = time.monotonic()

    assert_blocked(run("cursor", serve(OK + b"yes", wait=ask.SECONDS + 1)), "in time")

    assert ask.SECONDS <= time.monotonic() - started < ask.SECONDS + 20


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["cursor"],
        ["cursor", "127.0.0.1:80"],
        ["../x", "unix:/tmp/x"],
        ["cursor", "unix:/tmp/x", "--token-file"],
        ["cursor", "unix:/tmp/x", "--other", "y"],
    ],
)
def test_wrong_usage_blocks(arguments: list[str]) -> None:
    assert_blocked(run(*arguments), "usage")


def test_no_service_blocks(tmp_path: Path) -> None:
    assert_blocked(run("cursor", f"unix:{tmp_path}/none.sock"), "No service answers")


def test_a_dead_socket_blocks(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{tmp_path}/dead.sock")

    assert_blocked(run("cursor", f"unix:{tmp_path}/dead.sock"), "No service answers")


def test_a_long_path_blocks(tmp_path: Path) -> None:
    assert_blocked(run("cursor", f"unix:{tmp_path}/{'x' * 200}"), "OSError")


def test_a_service_of_another_user_is_not_believed(serve: Serve) -> None:
    assert_blocked(run("cursor", serve(OK + b"yes", reads=False), "--peer-uid", "54321"), "another user")


def test_a_missing_token_file_blocks(serve: Serve, tmp_path: Path) -> None:
    address = serve(OK + b"yes", reads=False)

    assert_blocked(run("cursor", address, "--token-file", f"{tmp_path}/none"), "FileNotFoundError")


def test_the_token_is_sent(serve: Serve, tmp_path: Path) -> None:
    tmp_path.joinpath("token").write_text("# ours\n\n0123456789abcdef\nother\n")
    seen: list[bytes] = []

    done = run("cursor", serve(OK + b"yes", seen=seen), "--token-file", f"{tmp_path}/token")

    assert done.returncode == 0
    assert b"\r\nAuthorization: Bearer 0123456789abcdef\r\n" in seen[0]


@pytest.mark.parametrize(
    ("program", "code", "stdout"),
    [
        ("print(len(__import__('sys').stdin.read()), end='')", 0, b"2"),
        ("raise SystemExit(2)", 2, b""),
        ("print('yes'); raise SystemExit(1)", 2, b""),
        ("import os; os.kill(os.getpid(), 9)", 2, b""),
    ],
)
def test_without_a_service_it_judges_cold(tmp_path: Path, program: str, code: int, stdout: bytes) -> None:
    done = run("cursor", f"unix:{tmp_path}/none.sock", "--cold", sys.executable, "-c", program)

    assert (done.returncode, done.stdout) == (code, stdout)


def test_a_service_that_fails_is_not_judged_cold(serve: Serve) -> None:
    assert_blocked(run("cursor", serve(b"no"), "--cold", "/bin/echo", "yes"), "no service for hooks")


def catches(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_blocks(number: int, tmp_path: Path) -> None:
    with subprocess.Popen([*CLIENT, "cursor", f"unix:{tmp_path}/x"], stdin=subprocess.PIPE) as client:
        assert client.stdin is not None
        until = time.monotonic() + 60
        while not (catches(client.pid, number) and catches(client.pid, signal.SIGALRM)):
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(client.pid, number)
        assert client.wait(60) == 2


@pytest.mark.exhaustive
def test_an_input_that_never_ends_blocks_before_the_product_does(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*CLIENT, "cursor", f"unix:{tmp_path}/x"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as client:
        assert ask.LIMIT < settings.SECONDS
        assert ask.COLD_LIMIT < settings.COLD_SECONDS
        assert client.wait(ask.LIMIT + 20) == 2
        assert client.stderr is not None
        assert b"in time" in client.stderr.read()


def test_a_reader_that_is_gone_blocks(serve: Serve) -> None:
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run(
        [*CLIENT, "cursor", serve(OK + b"yes")],
        input=b"{}",
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)

    assert done.returncode == 2


def test_it_imports_nothing_large() -> None:
    show = "import sys; sys.argv = ['x']; before = {*sys.modules}\n" + Path(ask.__file__).read_text().replace(
        'if __name__ == "__main__":', "print(*sorted({*sys.modules} - before)); sys.exit()\nif True:"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", show], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["_socket"]
