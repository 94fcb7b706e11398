"""Playwright, chrome-devtools and Puppeteer, unmodified, with a real Chromium, driven by three real clients."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from page_server import page_url
from real_servers import (
    FOLDER,
    MODULES,
    SERVERS,
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
    command: Sequence[str], asked: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the tools and the results that the Python SDK's client gets."""
    parameters = StdioServerParameters(
        command=command[0], args=[*command[1:]], env={**os.environ, **environment()}
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
    command: Sequence[str], asked: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the tools and the results that the TypeScript SDK's client gets."""
    ended = subprocess.run(
        ["node", str(FOLDER / "drive.mjs")],
        input=json.dumps({"command": [*command], "env": environment(), "calls": [*asked]}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    listed, *results = [json.loads(line) for line in ended.stdout.splitlines()]
    return listed, results


@pytest.mark.parametrize("server", SERVERS)
def test_the_python_sdk(server: str, tmp_path: Path) -> None:
    audit_log = tmp_path / "audit.jsonl"
    with page_url() as url:
        listed, results = asyncio.run(by_python(guarded_command(server, audit_log), calls(server, url)))
    check(results)
    assert kinds(audit_log).count("run_time_denial") == 1
    direct, _ = asyncio.run(by_python(command_of(server), []))
    assert set(direct) - set(listed) <= {"browser_run_code_unsafe"}


@pytest.mark.parametrize("server", SERVERS)
def test_the_typescript_sdk(server: str, tmp_path: Path) -> None:
    audit_log = tmp_path / "audit.jsonl"
    with page_url() as url:
        _, results = by_typescript(guarded_command(server, audit_log), calls(server, url))
    check(results)
    assert kinds(audit_log).count("run_time_denial") == 1


@pytest.mark.parametrize("server", SERVERS)
def test_the_command_line_of_the_inspector(server: str, tmp_path: Path) -> None:
    command = guarded_command(server, tmp_path / "audit.jsonl")
    inspector = ["node", str(MODULES / "@modelcontextprotocol" / "inspector" / "cli" / "build" / "cli.js")]
    name, arguments = call_of(server, "run", CODE=code_of(server, "eval('1')"))
    given = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
    ended = subprocess.run(
        [*inspector, "--cli", *command, "--method", "tools/call", "--tool-name", name, *given],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment()},
        check=False,
    )
    result = json.loads(ended.stdout)
    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "EVAL_BLOCKED_KEYWORD"
