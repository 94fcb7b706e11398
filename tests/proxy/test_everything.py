"""server-everything, directly and behind the proxy: every message in both directions is the same.

The server times some messages (simulated logs), so that these are not switched on; texts with a time are normalised.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from real_servers import MODULES, needs_servers
from recorded_session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

pytestmark = [needs_servers, pytest.mark.exhaustive]

TEE = Path(__file__).parent / "tee.py"
EVERYTHING = ["node", str(MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js")]
CAPABILITIES = {
    "roots": {"listChanged": True},
    "sampling": {},
    "elicitation": {},
    "tasks": {"requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}},
}
ANSWERS: dict[str, Any] = {
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "sampled"},
        "model": "m",
    },
    "elicitation/create": {"action": "accept", "content": {"name": "x", "check": True}},
    "roots/list": {"roots": [{"uri": "file:///x", "name": "r"}]},
    "ping": {},
}
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+:\d\d:\d\d(?: [AP]M)?|[0-9a-f]{32}|[0-9a-f-]{36}|\bpid\W+\d+"
)


class Client(Session):
    """A client that answers what the server asks, and keeps every message that it gets."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self.got: list[dict[str, Any]] = []

    def message(self) -> dict[str, Any]:
        found = super().message()
        self.got.append(found)
        if "method" in found and "id" in found:
            answer = ANSWERS.get(found["method"])
            body = {"error": {"code": -32601, "message": "no"}} if answer is None else {"result": answer}
            self.send(json.dumps({"jsonrpc": "2.0", "id": found["id"], **body}).encode() + b"\n")
        return found

    def tool(self, name: str, arguments: dict[str, Any], **more: Any) -> None:
        self.request("tools/call", {"name": name, "arguments": arguments, **more})

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        body = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        self.send(json.dumps(body).encode() + b"\n")


def drive(client: Client) -> None:
    """Use every feature of the protocol once."""
    client.request(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": CAPABILITIES,
            "clientInfo": {"name": "everything", "version": "1"},
        },
    )
    client.notify("notifications/initialized")
    # The server asks for the roots now, and lists more tools once it has them.
    while not any(each.get("method") == "roots/list" for each in client.got):
        client.message()
    client.request("ping")
    client.request("tools/list")
    for method in ("resources/list", "resources/templates/list", "prompts/list", "tasks/list"):
        client.request(method)
    uri = next(each["result"] for each in client.got if "resources" in each.get("result", {}))["resources"][
        0
    ]["uri"]
    client.request("logging/setLevel", {"level": "debug"})
    client.request("resources/subscribe", {"uri": uri})
    client.request("resources/read", {"uri": uri})
    client.request("resources/unsubscribe", {"uri": uri})
    reference = {"type": "ref/prompt", "name": "completable-prompt"}
    client.request(
        "completion/complete", {"ref": reference, "argument": {"name": "department", "value": "E"}}
    )
    client.request("prompts/get", {"name": "simple-prompt"})
    client.tool("echo", {"message": "h\u00e9\u2028llo"})
    client.tool("echo", {"message": "x" * 1_000_000})
    client.tool("get-sum", {"a": 1.0, "b": 2})
    client.tool("get-structured-content", {"location": "New York"})
    client.tool("get-annotated-message", {"messageType": "success", "includeImage": True})
    client.tool("get-tiny-image", {})
    client.tool("get-resource-links", {"count": 2})
    client.tool("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    client.tool("trigger-long-running-operation", {"duration": 1, "steps": 2}, _meta={"progressToken": "p"})
    client.tool("trigger-sampling-request", {"prompt": "p", "maxTokens": 5})
    client.tool("trigger-elicitation-request", {})
    client.tool("get-roots-list", {})
    client.tool("simulate-research-query", {"topic": "t"}, task={"ttl": 60_000})
    client.tool("echo", {})
    client.tool("echo", {"message": 1})
    client.request("x/unknown")
    client.notify("notifications/roots/list_changed")
    # The server asks for the roots a second time, and logs it when it has them.
    while sum("Roots updated" in json.dumps(each) for each in client.got) < 2:
        client.message()
    # A request that is cancelled gets no answer.
    call = {"name": "trigger-long-running-operation", "arguments": {"duration": 30, "steps": 2}}
    client.send(
        json.dumps({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": call}).encode() + b"\n"
    )
    client.notify("notifications/cancelled", {"requestId": "c", "reason": "r"})
    client.request("ping")


def normalised(messages: Iterable[dict[str, Any]]) -> list[str]:
    return [_VOLATILE.sub("<varies>", json.dumps(each, sort_keys=True)) for each in messages]


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True) if psutil.pid_exists(pid) else []


def test_every_message_is_the_same(tmp_path: Path) -> None:
    proxy = [sys.executable, "-m", "evalward", "mcp", f"--audit-log={tmp_path / 'audit.jsonl'}", "--"]
    arrived: list[list[bytes]] = []
    got: list[list[str]] = []
    for name, prefix in (("direct", []), ("proxied", proxy)):
        record = tmp_path / name
        client = Client([*prefix, sys.executable, str(TEE), str(record), *EVERYTHING])
        try:
            drive(client)
            # The server itself stays while it has a task; the proxy ends it.
            if prefix:
                assert client.end() == 0
        finally:
            for process in below(client.process.pid):
                process.kill()
            client.kill()
        lines = record.read_bytes().splitlines(keepends=True)
        # The proxy asks for the tools itself when the server says that they changed.
        arrived.append([line for line in lines if b'"id":"evalward-' not in line])
        got.append(normalised(client.got))
    direct, proxied = got
    assert len(direct) > 30
    assert sorted(proxied) == sorted(direct)
    assert [each for each in proxied if '"method"' not in each] == [
        each for each in direct if '"method"' not in each
    ]
    assert sorted(arrived[1]) == sorted(arrived[0])
