"""``evalward mcp config``: what it prints starts the guarded server, and what it writes keeps the rest of the file."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded_session import INITIALIZE, MANIFEST, RECORDER

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "guard-any-server.md"
KEYS = {
    "claude-desktop": "mcpServers",
    "claude-code": "mcpServers",
    "cursor": "mcpServers",
    "vscode": "servers",
}


def config(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalward", "mcp", "config", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=60,
    )


@pytest.mark.parametrize("client", KEYS)
def test_the_printed_entry_starts_the_server(client: str, tmp_path: Path) -> None:
    arrived = tmp_path / "arrived"
    command = [sys.executable, str(RECORDER), str(arrived)]
    options = ["--form=path", f"--manifest={MANIFEST}", f"--audit-log={tmp_path / 'audit.jsonl'}"]
    printed = json.loads(config(client, *options, "--allow-eval=renderer", "--", *command).stdout)
    ((name, entry),) = printed[KEYS[client]].items()
    assert name == "recorder"
    assert Path(entry["command"]).is_absolute()
    messages = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "evaluate", "arguments": {"code": "() => eval(x)"}},
        },
    ]
    ended = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd="/",
    )
    results = {each["id"]: each["result"] for each in map(json.loads, ended.stdout.splitlines())}
    assert results[2]["structuredContent"]["code"] == "EVAL_BLOCKED_KEYWORD"


def test_writing_keeps_the_rest_and_a_backup(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    other: dict[str, Any] = {
        "theme": "dark",
        "mcpServers": {
            "other": {"command": "x"},
            "play": {"command": "npx", "args": ["-y", "p"], "env": {"A": "1"}},
        },
    }
    file.write_text(json.dumps(other))
    file.chmod(0o600)
    written = config("cursor", "--name=play", f"--file={file}", "--allow-eval=renderer", "--write")
    assert written.returncode == 0, written.stderr
    found = json.loads(file.read_text())
    assert found["theme"] == "dark"
    assert found["mcpServers"]["other"] == {"command": "x"}
    entry = found["mcpServers"]["play"]
    assert entry["env"] == {"A": "1"}
    assert entry["args"][0] == "mcp"
    assert entry["args"][-2:] == ["-y", "p"]
    assert file.stat().st_mode & 0o777 == 0o600
    backup = Path(re.findall(r"The old file is (.*)\. Restart", written.stdout)[0])
    assert json.loads(backup.read_text()) == other
    again = config("cursor", "--name=play", f"--file={file}", "--write")
    assert again.returncode == 3
    assert "guarded already" in again.stderr


def test_a_new_file_is_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "mcp.json"
    assert config("vscode", f"--file={file}", "--write", "--", "npx", "server").returncode == 0
    assert json.loads(file.read_text())["servers"]["server"]["type"] == "stdio"


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("python3.11 /opt/recorder.py", "recorder"),
        ("node22 dist/index.js", "index"),
        ("npx -y @playwright/mcp@latest", "playwright"),
        ("npx.cmd -y puppeteer-mcp-server", "puppeteer-mcp-server"),
        ("node", "guarded"),
    ],
)
def test_an_entry_has_the_name_of_what_runs(server: str, name: str) -> None:
    printed = json.loads(config("cursor", "--form=path", "--", *server.split()).stdout)
    assert [*printed["mcpServers"]] == [name]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"mcpServers": {} // mine\n}', "no plain JSON"),
        ("[]", "no object under mcpServers"),
        ('{"mcpServers": []}', "no object under mcpServers"),
    ],
)
def test_a_file_that_cannot_be_edited_stays(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    refused = config("cursor", f"--file={file}", "--write", "--", "npx", "server")
    assert refused.returncode == 3
    assert why in refused.stderr
    assert file.read_text() == text
    assert [*tmp_path.iterdir()] == [file]


def test_the_page_shows_what_the_command_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])["mcpServers"]["playwright"]
    command = shlex.split(re.findall(r"^evalward mcp config (claude-desktop .*)$", page, re.MULTILINE)[0])
    printed = json.loads(config("--form=path", *(each for each in command if each != "--write")).stdout)
    entry = printed["mcpServers"]["playwright"]
    assert [Path(each).name if each.endswith("npx") else each for each in entry["args"]] == shown["args"]
    assert Path(entry["command"]).name == Path(shown["command"]).name
