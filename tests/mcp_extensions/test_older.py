"""FastMCP 3 and mcp 1: no extension of ours, and ``guarded()`` at the sink as the page for new users has it.

They cannot stand beside their successors, so that CI puts them into a folder of their own:
``pip install --target FOLDER -r tests/mcp_extensions/older.txt``, and EVALWARD_OLDER_MCP=FOLDER.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = os.environ.get("EVALWARD_OLDER_MCP")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarded-eval-tool-python.md").read_text(encoding="utf-8")
SINK, *_, FASTMCP, SDK = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(MANIFEST,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CLIENT = """
import asyncio, json, sys
from importlib.metadata import version
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.executable, args=["server.py"], env=json.loads(sys.argv[1]))
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        results = [await client.call_tool("eval_renderer", {"code": code}) for code in json.loads(sys.argv[2])]
    print(json.dumps({
        "versions": [version("fastmcp"), version("mcp")],
        "results": [result.model_dump(mode="json") for result in results],
    }))

asyncio.run(main())
"""
SAFE = "document.title"
ESCAPE = "[]['const' + 'ructor']['constructor']('return process')()"

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="EVALWARD_OLDER_MCP names no folder with fastmcp 3 and mcp 1"
)


@pytest.mark.parametrize("block", [FASTMCP, SDK], ids=["FastMCP 3", "mcp 1"])
def test_no_escape_reaches_the_sink_and_its_denial_is_the_result(block: str, tmp_path: Path) -> None:
    assert FOLDER is not None
    patient = SINK.replace("timeout=5", "timeout=60").replace(
        'return f"ran {program}"', 'Path("ran").write_text(program); return "value"'
    )
    (tmp_path / "server.py").write_text(patient + block, encoding="utf-8")
    (tmp_path / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    found = os.pathsep.join([FOLDER, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": found, "XDG_STATE_HOME": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", CLIENT, json.dumps(environment), json.dumps([ESCAPE, SAFE])],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    told: Any = json.loads(done.stdout)
    assert [version.partition(".")[0] for version in told["versions"]] == ["3", "1"]
    denied, allowed = told["results"]
    assert (allowed["isError"], allowed["content"][0]["text"]) == (False, "value")
    assert (denied["isError"], denied["structuredContent"]["code"]) == (True, "EVAL_BLOCKED_CONSTRUCT")
    assert denied["structuredContent"]["hint"] in denied["content"][0]["text"]
    assert (tmp_path / "ran").read_text("utf-8") == f"({SAFE}\n)"
