"""The configuration of docs/how-to/gateways.md in a real Envoy, before a server that returns what it gets."""

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
ENVOY = shutil.which("envoy", path=str(Path(sys.executable).parent)) or shutil.which("envoy")
ESCAPE = "() => globalThis['ev' + 'al'](1)"

pytestmark = pytest.mark.skipif(ENVOY is None, reason="envoy is not installed")


class Echo(BaseHTTPRequestHandler):
    """Returns the request as JSON."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = (
            self.rfile.read(int(self.headers["Content-Length"])) if "Content-Length" in self.headers else b""
        )
        answer = json.dumps({"headers": dict(self.headers), "body": body.decode()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_DELETE = do_POST  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        pass


@dataclass
class Route:
    """The way through Envoy."""

    port: int
    service: Any

    def ask(
        self, body: bytes | None, headers: dict[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, "/mcp", body, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text.startswith(b"{") else text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def configuration() -> str:
    page = (ROOT / "docs" / "how-to" / "gateways.md").read_text("utf-8")
    found = re.search(r"<!-- envoy -->\n```yaml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def route(serve: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., Route]]:
    stops: list[Callable[[], Any]] = []

    def begin(*flags: str, change: Callable[[str], str] = str) -> Route:
        service = serve("--listen", "127.0.0.1:0", "--ext-proc", "--allow-eval=renderer", *flags)
        upstream = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        stops.append(upstream.server_close)
        stops.append(upstream.shutdown)
        port = free_port()
        ports = {
            "10000": port,
            "8931": upstream.server_address[1],
            "7443": service.listen[0].rpartition(":")[2],
        }
        text = change(configuration())
        for old, new in ports.items():
            text = text.replace(f"port_value: {old}", f"port_value: {new}")
        # The page's timeouts are for a machine that does not run a test suite at the same time.
        text = text.replace("message_timeout: 5s", "message_timeout: 30s")
        text = text.replace("connect_timeout: 1s", "connect_timeout: 30s")
        assert yaml.safe_load(text)["static_resources"]
        file = tmp_path / "envoy.yaml"
        file.write_text(text)
        assert ENVOY is not None
        log = (tmp_path / "envoy.log").open("wb")
        envoy = subprocess.Popen(
            [ENVOY, "-c", file, "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"],
            stdout=log,
            stderr=log,
        )
        stops.extend([log.close, envoy.wait, envoy.kill])
        made = Route(port, service)
        until = time.monotonic() + 30
        while True:
            try:
                made.ask(None, method="GET")
                break
            except OSError:
                assert envoy.poll() is None, (tmp_path / "envoy.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.05)
        return made

    yield begin
    for stop in reversed(stops):
        stop()


def message(code: str = "() => document.title", tool: str = "browser_evaluate", **more: Any) -> bytes:
    params = {"name": tool, "arguments": {"function": code}, "_meta": {"progressToken": 1}}
    return json.dumps(
        {"jsonrpc": "2.0", "id": "call-1", "method": "tools/call", "params": params, **more}
    ).encode()


def test_requests_through_envoy(route: Callable[..., Route]) -> None:
    through = route()

    assert through.ask(None, method="GET")[0] == 200
    assert through.ask(None, method="DELETE")[0] == 200
    for other in (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 3, "result": {"content": {"text": "größer"}}},
    ):
        body = json.dumps(other, indent=1, ensure_ascii=False)
        status, answer = through.ask(body.encode())
        assert (status, answer["body"]) == (200, body), "passed byte for byte"

    status, answer = through.ask(message())
    passed = json.loads(answer["body"])
    assert status == 200
    assert len(passed["params"]["arguments"]["function"]) > 1_000, "a hardened program"
    assert {**passed["params"], "arguments": 0} == {
        "name": "browser_evaluate",
        "arguments": 0,
        "_meta": {"progressToken": 1},
    }
    framing = {name.lower(): value for name, value in answer["headers"].items()}
    assert framing["content-length"] == str(len(answer["body"].encode()))
    assert "transfer-encoding" not in framing

    status, answer = through.ask(message(ESCAPE))
    assert (status, answer["id"], answer["result"]["isError"]) == (200, "call-1", True)
    assert answer["result"]["structuredContent"]["code"] == "EVAL_BLOCKED_CONSTRUCT"

    for refused in (
        b"[" + message() + b"]",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}',
        message(ESCAPE).replace(b"tools/call", b"Tools/Call"),
        message(ESCAPE).replace(b'"method"', b'"Method"'),
        message(ESCAPE, id=None),
        message(ESCAPE).replace(b'"arguments"', b'"Arguments"'),
    ):
        status, answer = through.ask(refused)
        assert status == 400 or answer["result"]["isError"] is True
        assert "EVAL_BLOCKED_CONSTRUCT" not in json.dumps(answer)
    assert through.ask(message(), {"Content-Encoding": "gzip"})[0] == 400
    assert through.ask(message(), {"Content-Type": "application/json; charset=utf-16"})[0] == 400

    records = through.service.records()
    assert {(each.get("tool"), each["outcome"]) for each in records} >= {
        ("browser_evaluate", "allow"),
        ("browser_evaluate", "deny"),
    }

    through.service.popen.kill()
    through.service.popen.wait()
    assert through.ask(message())[0] == 500, "without the service nothing passes"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("request_body_mode: BUFFERED", "request_body_mode: STREAMED"),
        ("request_body_mode: BUFFERED", "request_body_mode: BUFFERED_PARTIAL"),
        ("request_body_mode: BUFFERED", "request_body_mode: NONE"),
    ],
)
def test_in_another_mode_no_body_passes(route: Callable[..., Route], old: str, new: str) -> None:
    through = route(change=lambda text: text.replace(old, new))

    status, answer = through.ask(message())

    assert status in {400, 500}, (answer, through.service.log_lines()[-1])


@pytest.mark.exhaustive
def test_a_token_comes_from_the_configuration(route: Callable[..., Route], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text("a-token-of-the-test\n")
    entry = "{key: evalward-server, value: playwright}"
    with_token = f"{entry}, {{key: authorization, value: Bearer a-token-of-the-test}}"

    without = route("--token-file", str(tokens))
    assert without.ask(message())[0] == 500
    without.service.popen.kill()
    without.service.popen.wait()
    through = route("--token-file", str(tokens), change=lambda text: text.replace(entry, with_token))

    assert through.ask(message(ESCAPE))[1]["result"]["isError"] is True
    assert through.service.records()[-1]["principal"].startswith("token:")
