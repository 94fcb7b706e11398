"""Real MCP servers with a real Chromium, and the calls that they get."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from page_server import TITLE

HERE = Path(__file__).parent
FOLDER = HERE / "servers"
MODULES = FOLDER / "node_modules"
SERVERS: dict[str, dict[str, Any]] = yaml.safe_load(
    (HERE / "data" / "real_servers.yaml").read_text(encoding="utf-8")
)
SLIPS = "made.it('return 1')()"
"""A payload that the guard allows: the page has a constructor of functions under a name of its own."""

SLIPS_ANYWHERE = (
    "(() => { const a = [1]; a.constructor = { [Symbol.species]: function () { return Object.prototype } };"
    " return a.map(x => x) })()"
)
"""The same without a page: the built-in `map` would write to a prototype of the realm."""


def missing() -> str | None:
    """Return what the tests lack."""
    for program in ("node", "chromium"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not MODULES.is_dir():
        return "the servers are not installed: npm ci --prefix tests/proxy/servers"
    return None


needs_servers = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def environment() -> dict[str, str]:
    """Return the variables that make the servers use the installed Chromium as root."""
    return {"PUPPETEER_EXECUTABLE_PATH": str(shutil.which("chromium")), "DOCKER_CONTAINER": "1"}


def command_of(server: str) -> list[str]:
    """Return the command of a server."""
    chromium = str(shutil.which("chromium"))
    first, *rest = SERVERS[server]["command"]
    return ["node", str(MODULES / first), *(chromium if each == "CHROMIUM" else each for each in rest)]


def guarded_command(server: str, audit_log: Path, *options: str) -> list[str]:
    """Return the command of a server behind the proxy."""
    proxy = [
        sys.executable,
        "-m",
        "evalward",
        "mcp",
        "--allow-eval=renderer",
        f"--audit-log={audit_log}",
        *options,
    ]
    return [*proxy, "--", *command_of(server)]


def call_of(server: str, which: str, **values: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and arguments of a call, with ``values`` in place of their names in capitals."""
    tool, arguments = SERVERS[server][which]
    return tool, {key: values.get(str(value), value) for key, value in arguments.items()}


def code_of(server: str, expression: str) -> str:
    """Return ``expression`` as the server's tool takes code."""
    return str(SERVERS[server]["code"]).replace("EXPRESSION", expression)


def calls(server: str, url: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a session: what ``check`` expects of their results."""
    codes = ["document.title + '!'", "[].constructor.constructor('return 1')()", SLIPS]
    return [
        call_of(server, "open", URL=url),
        *(call_of(server, "run", CODE=code_of(server, code)) for code in codes),
        *(
            call_of(server, "open", URL=each)
            for each in ("javascript:document.title='ran'", "JAVA\nSCRIPT:1")
        ),
        call_of(server, "run", CODE=code_of(server, "document.title")),
        call_of(server, "quiet"),
    ]


def check(results: list[dict[str, Any]]) -> None:
    """Check the results of ``calls``."""
    opened, title, blocked, stopped, *urls, unchanged, quiet = results
    assert [_denied(each) for each in (opened, title, unchanged, quiet)] == [None] * 4, results
    assert f"{TITLE}!" in _text(title)
    assert TITLE in _text(unchanged)
    # No program of the run-time reaches the client.
    assert len(_text(title)) < 2_000
    assert _denied(blocked) == "EVAL_BLOCKED_CONSTRUCT"
    assert _denied(stopped) == "EVAL_DENIED_AT_RUN_TIME"
    assert stopped["structuredContent"]["next_actions"]
    assert [_denied(each) for each in urls] == ["TOOL_URL_DENIED"] * 2


def _denied(result: dict[str, Any]) -> str | None:
    if result.get("isError") is not True:
        return None
    code: str = result.get("structuredContent", {}).get("code", _text(result))
    return code


def _text(result: dict[str, Any]) -> str:
    return " ".join(block.get("text", "") for block in result["content"])
