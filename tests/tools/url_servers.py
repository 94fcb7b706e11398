"""Measure which spellings of a script's URL run in real MCP servers, and check that ValidateCall denies them.

``python tests/tools/url_servers.py NODE_MODULES`` with @playwright/mcp, chrome-devtools-mcp,
@modelcontextprotocol/server-puppeteer and puppeteer-mcp-server installed there, and /usr/bin/chromium. Not part of the
suite: the spellings are, as data.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import yaml

from evalward.errors import CodedError
from evalward.policy import Policy
from evalward.tools import route
from evalward.tools.permitted import check_permitted
from evalward.tools.ready import load_ready

SPELLINGS = yaml.safe_load((Path(__file__).parents[1] / "data/tools/url_spellings.yaml").read_text("utf-8"))
CHROMIUM = "/usr/bin/chromium"
SERVERS: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "playwright-mcp/default": (
        ["@playwright/mcp/cli.js", "--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM],
        "browser_navigate",
        {},
    ),
    "chrome-devtools-mcp/default": (
        [
            "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
            *("--headless", "--isolated", "--executablePath", CHROMIUM, "--chromeArg=--no-sandbox"),
        ],
        "navigate_page",
        {"pageId": 1},
    ),
    "server-puppeteer/default": (
        ["@modelcontextprotocol/server-puppeteer/dist/index.js"],
        "puppeteer_navigate",
        {},
    ),
}


class Marks(BaseHTTPRequestHandler):
    """Serve a page, and remember what is asked for."""

    seen: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.seen.add(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>page</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


class Client:
    """An MCP client over stdio, as small as one can be."""

    def __init__(self, command: list[str], modules: Path) -> None:
        more = {
            "ALLOW_DANGEROUS": "true",
            "PUPPETEER_EXECUTABLE_PATH": CHROMIUM,
            "PUPPETEER_LAUNCH_OPTIONS": json.dumps(
                {"headless": True, "executablePath": CHROMIUM, "args": ["--no-sandbox"]}
            ),
        }
        self.process = subprocess.Popen(
            ["node", *command],
            cwd=modules,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **more},
            text=True,
            start_new_session=True,
        )
        self.number = 0
        self.ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "m", "version": "0"},
            },
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self.process.stdout is not None
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number and "method" not in answer:
                return answer
        raise RuntimeError("the server ended")

    def close(self) -> None:
        os.killpg(self.process.pid, 15)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()


def denial(ready: str, tool: str, arguments: dict[str, Any]) -> str | None:
    """Return the code with which the default policy denies the call."""
    declared = load_ready(ready).tool(tool)
    assert declared is not None
    try:
        for field in route(declared, arguments).fields:
            check_permitted(declared, field, Policy.default().fields)
    except CodedError as refusal:
        return str(refusal.code)
    return None


def main(modules: Path) -> int:
    """Print what ran; return how many that ran are not denied."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Marks)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{http.server_port}"
    missed = 0
    for ready, (command, tool, more) in SERVERS.items():
        client = Client(command, modules)
        try:
            for number, spelling in enumerate(SPELLINGS):
                client.ask("tools/call", {"name": tool, "arguments": {**more, "url": f"{origin}/page"}})
                mark = f"/{ready}/{number}"
                script = f"fetch('{origin}{mark}')"
                html = base64.b64encode(f"<script>{script}</script>".encode()).decode()
                url = spelling["url"].replace("{script}", script).replace("{base64}", html)
                client.ask("tools/call", {"name": tool, "arguments": {**more, "url": url}})
                client.ask("tools/call", {"name": tool, "arguments": {**more, "url": f"{origin}/after"}})
                ran = mark in Marks.seen
                code = denial(ready, tool, {**more, "url": url})
                missed += ran and code is None
                assert ran <= bool(spelling.get("runs")), f"{spelling['url']!a} ran: record that in the data"
                print(f"{ready:30} {'RAN' if ran else '-':4} {code or 'allowed':16} {spelling['url']!a}")  # noqa: T201
        finally:
            client.close()
    print(f"{missed} ran and were not denied")  # noqa: T201 - a script that prints
    return missed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
