"""The proxy in front of a URL: real streamable HTTP on both sides, with the official client and server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp", reason="the extra evalward[mcp] is not installed")

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
SECONDS = 60.0
PAYLOAD = "() => document.title"
DENIED = {"code": "() => eval(location.hash)"}


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait(SECONDS)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def proxied(folder: Path, *server_options: str) -> Iterator[tuple[str, Path]]:
    """Yield the proxy's URL and the record of the server behind it."""
    record = folder / "arrived"
    record.touch()
    serve = [sys.executable, str(HERE / "http_server.py"), str(record), *server_options]
    with ended(subprocess.Popen(serve, stdout=subprocess.PIPE)) as server:
        assert server.stdout is not None
        url = server.stdout.readline().decode().strip()
        options = [f"--audit-log={folder / 'audit.jsonl'}", f"--manifest={HERE / 'http_manifest.yaml'}"]
        proxy = [sys.executable, "-m", "evalward", "mcp", "--allow-eval=renderer", *options, "--http", url]
        with ended(subprocess.Popen(proxy, stdout=subprocess.PIPE)) as running:
            assert running.stdout is not None
            yield json.loads(running.stdout.readline())["url"], record


def arrived(record: Path) -> list[dict[str, Any]]:
    return [json.loads(bytes.fromhex(line)) for line in record.read_text().split()]


@pytest.mark.parametrize("options", [(), ("json",)])
def test_a_session_of_the_official_client(options: tuple[str, ...], tmp_path: Path) -> None:
    async def drive(url: str) -> list[Any]:
        async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            listed = [tool.name for tool in (await session.list_tools()).tools]
            allowed = await session.call_tool("evaluate", {"code": PAYLOAD, "password": "correct horse"})
            denied = await session.call_tool("evaluate", DENIED)
            clicked = await session.call_tool("click", {"x": 1.5})
            return [listed, allowed, denied, clicked]

    with proxied(tmp_path, *options) as (url, record):
        listed, allowed, denied, clicked = asyncio.run(drive(url))
        assert listed == ["evaluate", "click"]
        # The server returns what it got; the client sees what it sent.
        assert json.loads(allowed.content[0].text) == {"code": PAYLOAD, "password": "correct horse"}
        assert denied.is_error is True
        assert denied.structured_content["code"] == "EVAL_BLOCKED_KEYWORD"
        assert clicked.content[0].text == "1.5"
        calls = [each["params"] for each in arrived(record) if each.get("method") == "tools/call"]
        assert [call["name"] for call in calls] == ["evaluate", "click"]
        assert "EvalwardDenied" in calls[0]["arguments"]["code"]
        assert calls[0]["arguments"]["password"] == "correct horse"


def call(number: int, name: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def test_calls_at_once_before_any_list(tmp_path: Path) -> None:
    """The first makes the proxy ask for the tools, with headers of that request; the others wait for the answer."""
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

    async def drive(url: str) -> list[bytes]:
        async with httpx2.AsyncClient(trust_env=False, headers=headers, timeout=SECONDS) as client:
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }
            asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
            begun = await client.post(url, json=asked)
            client.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
            await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            mirrored = {"Mcp-Method": "tools/call", "Mcp-Name": "click"}
            calls = [
                client.post(url, content=call(n, "click", {"x": n}), headers=mirrored) for n in range(1, 6)
            ]
            return [answer.content for answer in await asyncio.gather(*calls)]

    with proxied(tmp_path, "json") as (url, record):
        answers = [json.loads(each) for each in asyncio.run(drive(url))]
        assert [each["result"]["content"][0]["text"] for each in answers] == [f"{n}.0" for n in range(1, 6)]
        methods = [each["method"] for each in arrived(record)]
        assert methods.count("tools/list") == 1
        assert methods.count("tools/call") == 5


REFUSED: list[tuple[str, dict[str, str], bytes, int]] = [
    ("a page of another origin", {"Origin": "https://evil.example"}, b"{}", 403),
    ("a name that was rebound", {"Host": "evil.example"}, b"{}", 403),
    ("a body that is no message", {}, b"[1]", 200),
    ("a key twice", {}, b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 200),
    (
        "a header for another method",
        {"Mcp-Method": "tools/call"},
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        200,
    ),
    (
        "a header for another tool",
        {"Mcp-Name": "evaluate"},
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"click","arguments":{"x":1}}}',
        200,
    ),
    ("a compressed body", {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08", 200),
    ("a body that is too long", {}, b" " * (17 * 1024 * 1024), 200),
]


def test_what_is_refused_does_not_arrive(tmp_path: Path) -> None:
    with proxied(tmp_path) as (url, record), httpx2.Client(trust_env=False) as client:
        for name, headers, body, status in REFUSED:
            answer = client.post(url, content=body, headers={"Content-Type": "application/json", **headers})
            assert answer.status_code == status, name
            assert status == 403 or "Evalward refuses" in answer.json()["error"]["message"], name
        elsewhere = client.post(url.replace("/mcp", "/other"), content=b"{}")
        assert elsewhere.status_code == 404
        assert arrived(record) == []


def test_a_server_that_is_gone_is_a_bad_gateway(tmp_path: Path) -> None:
    proxy = [sys.executable, "-m", "evalward", "mcp", f"--audit-log={tmp_path / 'audit.jsonl'}"]
    with ended(
        subprocess.Popen([*proxy, "--http", "http://127.0.0.1:9/mcp"], stdout=subprocess.PIPE)
    ) as running:
        assert running.stdout is not None
        url = json.loads(running.stdout.readline())["url"]
        answer = httpx2.post(url, content=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', trust_env=False)
        assert answer.status_code == 502


def test_it_listens_on_loopback_alone() -> None:
    proxy = [
        sys.executable,
        "-m",
        "evalward",
        "mcp",
        "--http",
        "http://127.0.0.1:9/mcp",
        "--listen",
        "0.0.0.0:0",
    ]
    refused = subprocess.run(proxy, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "loopback alone" in refused.stderr
