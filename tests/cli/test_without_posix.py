"""``check``, ``mcp`` and ``hook`` import and call nothing that is POSIX only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROXY = HERE.parent / "proxy"
WITHOUT_POSIX = [sys.executable, str(HERE / "without_posix.py")]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WITHOUT_POSIX, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(("code", "exit_code"), [("document.title", 0), ("eval(location.hash)", 1)])
def test_check(code: str, exit_code: int) -> None:
    ended = run("check", "-e", code, "--target", "renderer")
    assert ended.returncode == exit_code, ended.stderr


def test_check_with_a_policy_file(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n")
    ended = run("check", "-e", "document.title", "--target", "renderer", "--policy", str(policy))
    assert ended.returncode == 0, ended.stderr


def test_mcp(tmp_path: Path) -> None:
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        *(
            {
                "id": number,
                "method": "tools/call",
                "params": {"name": "evaluate", "arguments": {"code": code}},
            }
            for number, code in ((2, "() => document.title"), (3, "() => eval(location.hash)"))
        ),
    ]
    audit_log, arrived = tmp_path / "audit.jsonl", tmp_path / "arrived"
    ended = run(
        *("mcp", "--workers=0", "--allow-eval=renderer", f"--manifest={PROXY / 'manifest.yaml'}"),
        *(f"--audit-log={audit_log}", "--", sys.executable, str(PROXY / "recorder.py"), str(arrived)),
        text="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages),
    )
    assert ended.returncode == 0, ended.stderr
    answers = {each["id"]: each["result"] for each in map(json.loads, ended.stdout.splitlines())}
    assert answers[3]["structuredContent"]["code"] == "EVAL_BLOCKED_KEYWORD"
    codes = [json.loads(line).get("code") for line in audit_log.read_text().splitlines()]
    assert codes[-2:] == [None, "EVAL_BLOCKED_KEYWORD"]


HOOKED = {
    "hook_event_name": "beforeMCPExecution",
    "tool_name": "browser_evaluate",
    "server": "playwright",
}


@pytest.mark.parametrize(
    ("code", "permission"), [("() => document.title", "allow"), ("() => eval(location.hash)", "deny")]
)
def test_a_cold_hook(code: str, permission: str, tmp_path: Path) -> None:
    asked = {**HOOKED, "tool_input": json.dumps({"function": code})}
    options = ["--cold", "--allow-eval=renderer", f"--audit-log={tmp_path / 'hook.jsonl'}"]
    ended = run("hook", "cursor", *options, "--server=playwright=playwright-mcp", text=json.dumps(asked))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["permission"] == permission


def test_the_resident_hook_says_what_is_missing() -> None:
    ended = run("hook", "cursor", "--connect", "unix:/nowhere", text="{}")
    assert ended.returncode == 2
    assert "no Unix sockets" in ended.stderr


def test_what_is_hidden_is_hidden() -> None:
    """The service needs Unix sockets and signals' masks; here it must fail, or nothing was hidden."""
    ended = run("serve", "--audit-log=-")
    assert ended.returncode == 3
