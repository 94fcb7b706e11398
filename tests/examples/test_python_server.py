"""The example server, driven by a real MCP client over stdio, with a real Chromium and a real guard."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")
pytest.importorskip("mcp.client.stdio", reason="the extra evalward[mcp] is not installed")

from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "python"
ESCAPE = "(document.title = 'reached', []['const' + 'ructor']['constructor']('return 1')())"


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a guard that is not a child of the example; the last of its ``args`` is its address."""
    with ExitStack() as stack:
        listen = f"unix:{tmp_path}/guard.sock"
        command = [sys.executable, "-m", "evalward", "serve", "--allow-eval=renderer,sandbox"]
        command += [
            f"--audit-log={tmp_path}/a.jsonl",
            f"--manifest={EXAMPLE}/manifest.yaml",
            "--listen",
            listen,
        ]
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        stack.callback(process.kill)
        assert process.stdout is not None
        assert b'"ready"' in process.stdout.readline()
        yield process


def run(body: Callable[[Client], Any], tmp_path: Path, **variables: str) -> None:
    """Run ``body`` with a client of the example server, which is a separate process."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), **variables}
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(EXAMPLE / "server.py")], env=environment
    )

    async def inside() -> None:
        async with Client(parameters, read_timeout_seconds=120) as client:
            await body(client)

    asyncio.run(inside())


def assert_denied(result: Any, code: str) -> dict[str, Any]:
    envelope: dict[str, Any] = result.structured_content
    text = result.content[0].text
    assert result.is_error
    assert envelope["code"] == code
    assert envelope["next_actions"][0] in text
    return envelope


@pytest.mark.exhaustive
def test_an_escape_never_reaches_the_page_and_a_benign_payload_returns_its_value(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        title = await client.call_tool("eval_renderer", {"code": "document.title"})
        escape = await client.call_tool("eval_renderer", {"code": ESCAPE})
        after = await client.call_tool("eval_renderer", {"code": "document.title"})

        assert (title.is_error, title.structured_content) == (False, {"result": '"Evalward example"'})
        envelope = assert_denied(escape, "EVAL_BLOCKED_CONSTRUCT")
        assert envelope["_meta"]["audited"] is True
        assert after.structured_content == title.structured_content

    run(body, tmp_path)


@pytest.mark.exhaustive
def test_the_sandbox_runs_what_the_guard_allows(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        value: Any = await client.call_tool("eval_sandbox", {"code": "[1, 2].map((x) => x * 2)"})
        escape = await client.call_tool("eval_sandbox", {"code": ESCAPE})
        thrown = await client.call_tool("eval_sandbox", {"code": "null.x"})

        assert (value.is_error, [block.text for block in value.content]) == (False, ["[2,4]"])
        assert_denied(escape, "EVAL_BLOCKED_CONSTRUCT")
        assert_denied(thrown, "EVAL_RUNTIME_ERROR")

    run(body, tmp_path)


@pytest.mark.exhaustive
def test_when_the_guards_process_is_killed_everything_is_denied(
    guard: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    async def body(client: Client) -> None:
        before = await client.call_tool("eval_renderer", {"code": "document.title"})
        guard.kill()
        guard.wait()
        denied = await client.call_tool("eval_renderer", {"code": "document.title"})
        again = await client.call_tool("eval_sandbox", {"code": "1"})

        assert before.structured_content == {"result": '"Evalward example"'}
        for result in (denied, again):
            envelope = assert_denied(result, "SERVICE_UNREACHABLE")
            assert envelope["retryable"] is True
            assert envelope["_meta"]["audited"] is False

    run(body, tmp_path, EVALWARD_ADDRESS=f"unix:{tmp_path}/guard.sock")
