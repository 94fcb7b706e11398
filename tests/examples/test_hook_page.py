"""docs/how-to/guard-with-a-hook.md: its settings are what the command prints, and they work."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalward.hook import ask
from evalward.hook.products import PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
EVALWARD = (sys.executable, "-m", "evalward")
PAGE = (ROOT / "docs" / "how-to" / "guard-with-a-hook.md").read_text("utf-8")
SOCKET = "/run/user/1000/evalward-hook.sock"
ESCAPE = {"function": "() => globalThis['ev' + 'al'](1)"}
CLICK = {"element": "Save", "target": "e3"}


def block(product: str) -> str:
    found = re.search(rf"<!-- hook: {product} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, product
    return found[1]


def printed(product: str, path: str, *more: str) -> str:
    command = [*EVALWARD, "hook", "config", product, "--connect", f"unix:{path}", *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def command_in(product: str, settings: str) -> str:
    """Return the shell command that the product would run."""
    if product == "docker":
        return shlex.split(settings)[-1].removeprefix("before:exec:")
    hooks = json.loads(settings)["hooks"]
    if product == "cursor":
        return str(hooks["beforeMCPExecution"][0]["command"])
    entry = hooks["PreToolUse"][0]
    return str(entry["command"] if product == "vscode" else entry["hooks"][0]["command"])


def hook_input(product: str, tool: str, arguments: dict[str, str]) -> bytes:
    if product == "docker":
        return json.dumps({"Params": {"name": tool, "arguments": arguments}}).encode()
    prefix = {"claude-code": "mcp__playwright__", "vscode": "mcp_playwright_", "cursor": "MCP:"}[product]
    event = "beforeMCPExecution" if product == "cursor" else "PreToolUse"
    body = {"hook_event_name": event, "tool_name": f"{prefix}{tool}", "tool_input": arguments}
    return json.dumps(body).encode()


def run(product: str, settings: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    command = ["/bin/sh", "-c", command_in(product, settings)]
    return subprocess.run(command, input=text, capture_output=True, check=False, cwd="/", env={})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hook page")
    with ExitStack() as stack:
        popen = stack.enter_context(
            subprocess.Popen(
                [
                    *(*EVALWARD, "serve", "--allow-eval=renderer", "--listen", f"unix:{folder}/g.sock"),
                    *("--hook-listen", f"unix:{folder}/h.sock", "--audit-log", folder / "audit.jsonl"),
                    *("--server", "playwright=playwright-mcp"),
                ],
                stdout=subprocess.PIPE,
            )
        )
        stack.callback(popen.kill)
        assert popen.stdout is not None
        assert json.loads(popen.stdout.readline())["hooks"] == [f"unix:{folder}/h.sock"]
        yield folder / "h.sock"


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_page_shows_what_is_printed(product: str) -> None:
    client = str(Path(ask.__file__).resolve())

    shown = printed(product, SOCKET).replace(sys.executable, "/opt/evalward/bin/python")

    assert shown.replace(client, "/opt/evalward/ask.py") == block(product)


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_printed_command_allows_and_denies(product: str, service: Path) -> None:
    settings = printed(product, str(service))

    allowed = run(product, settings, hook_input(product, "browser_click", CLICK))
    denied = run(product, settings, hook_input(product, "browser_evaluate", ESCAPE))

    assert (allowed.returncode, allowed.stderr) == (0, b"")
    assert allowed.stdout == (b'{"permission":"allow"}\n' if product == "cursor" else b"")
    assert (denied.returncode, denied.stderr) == (0, b"")
    assert b"EVAL_BLOCKED_CONSTRUCT" in denied.stdout


@pytest.mark.parametrize("product", PRODUCTS)
def test_without_a_service_the_printed_command_blocks(product: str, tmp_path: Path) -> None:
    done = run(
        product, printed(product, f"{tmp_path}/none.sock"), hook_input(product, "browser_click", CLICK)
    )

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("product", PRODUCTS)
def test_without_the_interpreter_or_the_client_it_blocks(product: str, service: Path) -> None:
    settings = printed(product, str(service))
    text = hook_input(product, "browser_click", CLICK)

    for gone in (sys.executable, str(Path(ask.__file__).resolve())):
        assert gone in settings
        assert run(product, settings.replace(gone, "/none/there"), text).returncode == 2
    command = command_in(product, settings).replace(f"{sys.executable} ", "/bin/sh -c 'kill -9 $$' ")
    assert subprocess.run(["/bin/sh", "-c", command], input=text, check=False).returncode == 2


def test_without_a_service_it_judges_cold(tmp_path: Path) -> None:
    log = tmp_path / "cold log.jsonl"
    more = ["--cold", "--allow-eval=renderer", "--server", "mine=playwright-mcp", "--audit-log", str(log)]
    settings = printed("claude-code", f"{tmp_path}/none.sock", *more)
    text = hook_input("claude-code", "browser_evaluate", ESCAPE).replace(b"__playwright__", b"__mine__")

    done = run("claude-code", settings, text)

    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert json.loads(log.read_text().splitlines()[-1])["code"] == "EVAL_BLOCKED_CONSTRUCT"


@pytest.mark.parametrize(
    "arguments",
    [
        ["claude-code"],
        ["claude-code", "--cold", "--policy", "/none.yaml"],
        ["claude-code", "--cold", "--server", "x"],
        ["claude-code", "--cold", "--audit-log", "/none/none/x.jsonl"],
        ["claude-code", "--other"],
        ["other"],
        ["config", "other", "--connect", "unix:/x"],
        ["config", "cursor", "--connect", "unix:relative"],
    ],
)
def test_every_failure_of_the_command_is_exit_code_2(arguments: list[str]) -> None:
    done = subprocess.run(
        [*EVALWARD, "hook", *arguments],
        input=hook_input("claude-code", "browser_click", CLICK),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")


def test_claude_code_blocks_on_failure_if_asked() -> None:
    settings = json.loads(printed("claude-code", SOCKET, "--block-on-failure"))

    assert settings["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"


def test_the_example_of_the_page_is_denied(tmp_path: Path) -> None:
    found = re.search(r"\$ (echo .*?)\n(\{.*?)\n```", PAGE, re.DOTALL)
    assert found is not None
    command = found[1].replace("evalward hook", f"{shlex.join(EVALWARD)} hook")

    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.startswith(found[2].removesuffix("…"))
