"""The listener of hooks: what it answers, whom it refuses, and what it records."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from evalward.guard import judge
from evalward.hook import ask
from evalward.hook.products import PRODUCTS
from evalward.server.addresses import ListenError, parse_listen
from evalward.server.settings import Settings
from evalward.server.transport.door_calls import DoorCalls
from evalward.server.transport.hook_listener import SILENT_SECONDS, HookListener
from evalward.tools.servers import Servers

if TYPE_CHECKING:
    from pathlib import Path

Start = Callable[..., Any]
TOKEN = "a-token-of-this-test"
SERVERS = Servers.parse(["playwright=playwright-mcp"])
ESCAPE = "() => globalThis['ev' + 'al'](1)"


def call(code: str = "() => 1", tool: str = "browser_evaluate", **more: Any) -> bytes:
    body = {"hook_event_name": "beforeMCPExecution", "tool_name": tool, "tool_input": {"function": code}}
    return json.dumps(body | more).encode()


def post(
    path: Path, body: bytes, *headers: str, target: str = "/hook/cursor"
) -> tuple[int, dict[str, str], bytes]:
    """Send one request over a Unix socket; return status, headers and body."""
    head = [f"POST {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return sent(path, "\r\n".join([*head, "", ""]).encode() + body)


def sent(path: Path, request: bytes) -> tuple[int, dict[str, str], bytes]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        connection.sendall(request)
        received = b""
        while part := connection.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines), body


@pytest.fixture
def listening(start: Start, tmp_path: Path) -> Callable[..., tuple[Any, Path]]:
    def begin(**more: Any) -> tuple[Any, Path]:
        path = tmp_path / "hook.sock"
        return start(judge, Settings(hooks=(parse_listen(f"unix:{path}"),)), servers=SERVERS, **more), path

    return begin


def permission(body: bytes) -> tuple[str, str]:
    answer = json.loads(body)
    return answer["permission"], answer.get("user_message", "")


def test_a_call_is_judged_answered_and_recorded(listening: Any) -> None:
    running, path = listening()

    allowed = post(path, call())
    denied = post(path, call(ESCAPE, conversation_id="c-1"))

    assert (allowed[0], allowed[1]["evalward-exit"], permission(allowed[2])) == (200, "0", ("allow", ""))
    assert (denied[0], permission(denied[2])[0]) == (200, "deny")
    records = running.records()
    assert [(each["outcome"], each["tool"]) for each in records] == [
        ("allow", "browser_evaluate"),
        ("deny", "browser_evaluate"),
    ]
    assert records[1]["session"] == "c-1"


def test_every_product_has_a_path(listening: Any) -> None:
    _, path = listening()

    for product in PRODUCTS:
        status, headers, body = post(path, b"{", target=f"/hook/{product}")
        assert (status, headers["evalward-exit"]) == (200, "0"), product
        assert b"INVALID_INPUT" in body, product


@pytest.mark.parametrize(
    "target", ["/", "/hook", "/hook/", "/hook/other", "/hook/cursor/", "/hook/cursor?x=1", "/livez"]
)
def test_other_paths_are_not_found(listening: Any, target: str) -> None:
    _, path = listening()

    status, headers, body = post(path, call(), target=target)

    assert (status, body) == (404, b"")
    assert "evalward-exit" not in headers


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "Content-Length"),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "Content-Length"),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "Content-Length"),
        ("\r\n", "Content-Length"),
        ("Content-Length: -1\r\n\r\n{}", "Content-Length"),
        ("Content-Length: +2\r\n\r\n{}", "Content-Length"),
        ("Content-Length: 2, 2\r\n\r\n{}", "Content-Length"),
        ("Content-Length: 2\r\nOrigin: http://localhost\r\n\r\n{}", "from a page"),
    ],
)
def test_a_request_that_is_not_plain_is_denied(listening: Any, head: str, words: str) -> None:
    _, path = listening()

    status, _, body = sent(path, f"POST /hook/cursor HTTP/1.1\r\nHost: localhost\r\n{head}".encode())

    decided, why = permission(body)
    assert (status, decided) == (200, "deny")
    assert words in why


def test_other_methods_are_refused(listening: Any) -> None:
    _, path = listening()

    assert sent(path, b"GET /hook/cursor HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 501


def test_long_input_is_denied_with_its_limit(listening: Any) -> None:
    running, path = listening()

    _, _, body = post(path, b" " * 5_000_000)

    decided, why = permission(body)
    assert decided == "deny"
    assert "EVAL_PAYLOAD_TOO_LARGE" in why
    assert running.records()[-1]["code"] == "EVAL_PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("header", [(), ("Authorization: Bearer wrong",), (f"Authorization: {TOKEN}",)])
def test_a_call_without_the_token_is_denied_and_only_counted(listening: Any, header: tuple[str, ...]) -> None:
    running, path = listening(token=TOKEN)

    _, _, body = post(path, call(), *header)

    decided, why = permission(body)
    assert decided == "deny"
    assert "UNAUTHENTICATED" in why
    assert running.records() == []


def test_the_token_is_the_principal(listening: Any) -> None:
    running, path = listening(token=TOKEN)

    _, _, body = post(path, call(), f"Authorization: Bearer {TOKEN}")

    assert permission(body)[0] == "allow"
    assert running.records()[0]["principal"].startswith("token:")


def test_a_page_cannot_ask_over_loopback(start: Start) -> None:
    running = start(judge, Settings(hooks=(parse_listen("127.0.0.1:0"),)), servers=SERVERS)
    address = running.server.hook_addresses[0]

    for host, expected in (
        (address, "allow"),
        ("localhost:1", "allow"),
        ("evil.test", "deny"),
        ("127.0.0.1.evil.test", "deny"),
    ):
        connection = HTTPConnection(address, timeout=20)
        connection.request("POST", "/hook/cursor", call(), {"Host": host})
        body = connection.getresponse().read()
        connection.close()
        assert permission(body)[0] == expected, host
    assert len(running.records()) == 2, "a page cannot fill the log"


def test_only_loopback_is_served(start: Start) -> None:
    with pytest.raises(ListenError, match="loopback only"):
        start(judge, Settings(hooks=(parse_listen("0.0.0.0:0"),), insecure_remote=True))


def test_the_socket_has_its_mode_and_goes_with_the_server(listening: Any) -> None:
    running, path = listening()

    assert path.stat().st_mode & 0o777 == 0o660

    running.stop()
    assert not path.exists()


def test_a_second_server_cannot_take_the_socket(listening: Any) -> None:
    running, path = listening()
    calls = DoorCalls(running.server._parts.service, "Hook")  # noqa: SLF001 - any service
    second = HookListener(calls, tokens=None, max_bytes=1, threads=1, unix_mode=0o600)

    with pytest.raises(ListenError, match="another server"):
        second.bind([parse_listen(f"unix:{path}")])
    assert permission(post(path, call())[2])[0] == "allow"


def test_a_draining_server_denies(listening: Any) -> None:
    running, path = listening()
    running.server._parts.service.in_flight.refuse_new()  # noqa: SLF001 - between SIGTERM and the end

    assert "SHUTTING_DOWN" in permission(post(path, call())[2])[1]


@pytest.mark.exhaustive
def test_a_silent_client_is_denied_in_time(listening: Any) -> None:
    _, path = listening()

    _, _, body = sent(path, b"POST /hook/cursor HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")

    assert SILENT_SECONDS < 20
    assert "ends before" in permission(body)[1]


def test_silent_connections_keep_nobody_out(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "hook.sock"
    start(judge, Settings(max_concurrent=1, queue=0, hooks=(parse_listen(f"unix:{path}"),)), servers=SERVERS)
    silent = []
    for _ in range(40):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        silent.append(connection)

    assert permission(post(path, call())[2])[0] == "allow"
    for connection in silent:
        connection.close()


def test_many_clients_at_once_get_their_own_answers(listening: Any) -> None:
    _, path = listening()
    found: dict[int, str] = {}

    def one(index: int) -> None:
        found[index] = permission(post(path, call(ESCAPE if index % 2 else "() => 1"))[2])[0]

    threads = [threading.Thread(target=one, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {index: "deny" if index % 2 else "allow" for index in range(16)}


def test_the_small_client_gets_the_answer(listening: Any) -> None:
    _, path = listening()

    done = subprocess.run(
        [sys.executable, "-I", "-S", ask.__file__, "cursor", f"unix:{path}"],
        input=call(ESCAPE),
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert permission(done.stdout)[0] == "deny"
