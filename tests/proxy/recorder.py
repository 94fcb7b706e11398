"""An MCP server for tests: it writes each line that it gets, in hex, to the file in its first argument.

Its tools evaluate nothing; what counts is which bytes arrive. Messages of the tests: ``test/say`` makes it write the
lines in ``params.lines`` (hex) before its answer, ``test/silent`` gets no answer, ``test/exit`` ends it with the code
in ``params``, and ``test/orphan`` starts a process in a session of its own and answers with its id.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "name": "evaluate",
        "inputSchema": {
            "type": "object",
            "properties": {"code": {"type": "string"}, "password": {"type": "string"}},
            "required": ["code"],
        },
    },
    {"name": "open", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}},
    {"name": "click", "inputSchema": {"type": "object", "properties": {"x": {"type": "number"}}}},
    {"name": "main_only", "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}}},
]
SERVER = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "recorder", "version": "1"},
}


def write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def answered(message: dict[str, Any]) -> object:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return SERVER
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "test/say":
        for line in params["lines"]:
            write(bytes.fromhex(line))
    if method == "test/exit":
        sys.stdout.buffer.flush()
        os._exit(params["code"])
    if method == "test/orphan":
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return {"pid": child.pid}
    return {"content": [{"type": "text", "text": "ran"}], "got": message}


def main() -> None:
    record = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        with record.open("ab") as stream:
            stream.write(line.hex().encode() + b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("method") == "test/silent":
            continue
        if isinstance(message, dict) and "method" in message and "id" in message:
            result = answered(message)
            write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")


main()
