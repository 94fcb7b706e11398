"""Playwright, chrome-devtools and Puppeteer, unmodified, with a real Chromium, driven by three real clients.

The servers run in a folder of the test: they write logs and pictures into it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from page_server import page_url
from real_servers import (
    FOLDER,
    MODULES,
    SERVERS,
    SLIPS_ANYWHERE,
    call_of,
    calls,
    check,
    code_of,
    command_of,
    environment,
    guarded_command,
    needs_servers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = [needs_servers, pytest.mark.exhaustive]
SECONDS = 120


def kinds(audit_log: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in audit_log.read_text().splitlines()]


async def by_python(
    command: Sequence[str], asked: Sequence[tuple[str, dict[str, Any]]], folder: Path
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the tools and the results that the Python SDK's client gets."""
    parameters = StdioServerParameters(
        command=command[0], args=[*command[1:]], env={**os.environ, **environment()}, cwd=folder
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        listed = [tool.name for tool in (await session.list_tools()).tools]
        results = []
        for name, arguments in asked:
            result = await asyncio.wait_for(session.call_tool(name, arguments), SECONDS)
            results.append(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        return listed, results


def by_typescript(
    command: Sequence[str], asked: Sequence[tuple[str, dict[str, Any]]], folder: Path
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the tools and the results that the TypeScript SDK's client gets."""
    ended = subprocess.run(
        ["node", str(FOLDER / "drive.mjs")],
        input=json.dumps({"command": [*command], "env": environment(), "calls": [*asked]}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        cwd=folder,
    )
    listed, *results = [json.loads(line) for line in ended.stdout.splitlines()]
    return listed, results


@pytest.mark.parametrize("server", SERVERS)
def test_the_python_sdk(server: str, tmp_path: Path) -> None:
    audit_log = tmp_path / "audit.jsonl"
    with page_url() as url:
        listed, results = asyncio.run(
            by_python(guarded_command(server, audit_log), calls(server, url), tmp_path)
        )
    check(results)
    assert kinds(audit_log).count("run_time_denial") == 1
    direct, _ = asyncio.run(by_python(command_of(server), [], tmp_path))
    assert set(direct) - set(listed) <= {"browser_run_code_unsafe"}


@pytest.mark.parametrize("server", SERVERS)
def test_the_typescript_sdk(server: str, tmp_path: Path) -> None:
    audit_log = tmp_path / "audit.jsonl"
    with page_url() as url:
        _, results = by_typescript(guarded_command(server, audit_log), calls(server, url), tmp_path)
    check(results)
    assert kinds(audit_log).count("run_time_denial") == 1


def by_inspector(command: Sequence[str], call: tuple[str, dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return the result of one call by the inspector's command line, which starts a server for it."""
    inspector = ["node", str(MODULES / "@modelcontextprotocol" / "inspector" / "cli" / "build" / "cli.js")]
    name, arguments = call
    given = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
    ended = subprocess.run(
        [*inspector, "--cli", *command, "--method", "tools/call", "--tool-name", name, *given],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment()},
        check=False,
        cwd=folder,
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("server", SERVERS)
def test_the_command_line_of_the_inspector(server: str, tmp_path: Path) -> None:
    command = guarded_command(server, tmp_path / "audit.jsonl")
    allowed = by_inspector(command, call_of(server, "run", CODE=code_of(server, "6 * 7")), tmp_path)
    assert allowed.get("isError") is not True
    assert "42" in allowed["content"][0]["text"]
    for call, code in (
        (call_of(server, "run", CODE=code_of(server, "eval('1')")), "EVAL_BLOCKED_KEYWORD"),
        (call_of(server, "run", CODE=code_of(server, SLIPS_ANYWHERE)), "EVAL_DENIED_AT_RUN_TIME"),
        (call_of(server, "open", URL="javascript:document.title=1"), "TOOL_URL_DENIED"),
    ):
        denied = by_inspector(command, call, tmp_path)
        assert denied["isError"] is True
        assert denied["structuredContent"]["code"] == code


@pytest.mark.parametrize("server", SERVERS)
def test_tools_that_carry_no_code_answer_as_without(server: str, tmp_path: Path) -> None:
    """Each tool without judged fields, without arguments and on a page: the same answer, an error or not."""
    doctor = [sys.executable, "-m", "evalward", "mcp", "doctor", "--json", "--", *command_of(server)]
    found = subprocess.run(
        doctor,
        capture_output=True,
        text=True,
        env={**os.environ, **environment()},
        timeout=SECONDS,
        check=True,
        cwd=tmp_path,
    )
    passing = [tool["tool"] for tool in json.loads(found.stdout)["tools"] if tool["calls"] == "pass"]
    # They end the session or the page, or wait for what does not come.
    names = [name for name in passing if not re.search("close|wait|lighthouse|trace|screencast", name)]
    assert names
    with page_url() as url:
        asked = [call_of(server, "open", URL=url), *((name, {}) for name in names)]
        _, direct = asyncio.run(by_python(command_of(server), asked, tmp_path))
        _, proxied = asyncio.run(
            by_python(guarded_command(server, tmp_path / "audit.jsonl"), asked, tmp_path)
        )
    assert [normalised(each) for each in proxied] == [normalised(each) for each in direct]


def normalised(result: dict[str, Any]) -> str:
    """Return a result without times, the names of files that hold them, and pictures."""
    blocks = [block.get("text", block["type"]) for block in result["content"]]
    text = json.dumps([result.get("isError"), blocks])
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.-]+Z|\d+(\.\d+)?\s?m?s\b", "<time>", text)
