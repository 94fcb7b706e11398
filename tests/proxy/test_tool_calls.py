"""Calls that carry code or URLs are judged; a denied one is answered here, an allowed one runs a hardened program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml
from recorded_session import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recorded_session import Recorded

PAYLOAD = "() => document.title"
DENIED = "() => eval(location.hash)"


def test_a_denied_call_is_answered_with_the_envelope_and_does_not_arrive(guarded: Recorded) -> None:
    result = guarded.call("evaluate", {"code": DENIED, "password": "correct horse"})
    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "EVAL_BLOCKED_KEYWORD"
    assert not any(b"tools/call" in line for line in guarded.arrived())
    assert guarded.records()[-1]["tool"] == "evaluate"
    assert b"correct horse" not in guarded.audit_log.read_bytes()


def test_an_allowed_call_arrives_with_a_program_in_place_of_its_code(guarded: Recorded) -> None:
    result = guarded.call("evaluate", {"code": PAYLOAD, "password": "correct horse"})
    arrived = json.loads(guarded.arrived()[-1])["params"]["arguments"]
    assert arrived["password"] == "correct horse"
    assert arrived["code"] != PAYLOAD
    assert "EvalwardDenied" in arrived["code"]
    # The server quotes its call; the client sees what it sent.
    assert result["got"]["params"]["arguments"] == {"code": PAYLOAD, "password": "correct horse"}
    assert "hardened_hash" in guarded.records()[-1]


def test_without_hardening_the_line_arrives_as_it_is(
    recorded: Callable[..., Recorded], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\nhardening: off\ntargets: {renderer: {allowed: true}}\n")
    session = recorded(f"--manifest={MANIFEST}", f"--policy={policy}").begin()
    line = (
        b'{ "method" : "tools/call",\t"jsonrpc":"2.0", "id":7,"params":{"arguments":{"code":"() => 1.0"},'
        b'"name":"evaluate"} }\r\n'
    )
    session.send(line)
    assert session.message()["id"] == 7
    assert session.arrived()[-1] == line


def test_a_url_that_is_code_is_denied(guarded: Recorded) -> None:
    for url in ("javascript:alert(1)", "JAVASCRIPT:alert(1)", "\tjava\nscript:alert(1)", "data:text/html,x"):
        assert guarded.call("open", {"url": url})["structuredContent"]["code"] == "TOOL_URL_DENIED"
    assert "isError" not in guarded.call("open", {"url": "https://example.com/"})


def test_a_tool_without_code_is_not_judged(guarded: Recorded) -> None:
    line = (
        b'{"id":"c","jsonrpc":"2.0","method":"tools/call","params":{"name":"click","arguments":{"x":1.0}}}\n'
    )
    guarded.send(line)
    assert guarded.message()["id"] == "c"
    assert guarded.arrived()[-1] == line


def test_tools_of_denied_targets_are_hidden_and_denied(guarded: Recorded) -> None:
    listed = [tool["name"] for tool in guarded.request("tools/list")["result"]["tools"]]
    assert listed == ["evaluate", "open", "click"]
    assert guarded.call("main_only", {"code": "1"})["structuredContent"]["code"] == "EVAL_TARGET_DENIED"


def test_without_allow_eval_no_code_runs(recorded: Callable[..., Recorded]) -> None:
    session = recorded(f"--manifest={MANIFEST}").begin()
    assert session.call("evaluate", {"code": PAYLOAD})["structuredContent"]["code"] == "EVAL_TARGET_DENIED"
    assert "isError" not in session.call("click", {})


def test_a_tool_that_differs_from_the_manifest_is_denied_and_told(
    recorded: Callable[..., Recorded], tmp_path: Path
) -> None:
    declared = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    declared["tools"] = [tool for tool in declared["tools"] if tool["name"] != "open"]
    declared["tools"][-2]["input_schema"]["properties"]["y"] = {"type": "number"}
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(yaml.safe_dump(declared))
    session = recorded(f"--manifest={manifest}", "--allow-eval=renderer").begin()
    for tool in ("open", "click"):
        assert session.call(tool, {})["structuredContent"]["code"] == "TOOL_UNKNOWN"
    assert "isError" not in session.call("evaluate", {"code": PAYLOAD})
    assert [record.get("code") for record in session.records()] == ["TOOL_UNKNOWN", "TOOL_UNKNOWN", None]
    assert session.end() == 0
    assert session.stderr.count("differ from") == 1
    assert "- name: open" in session.stderr


def test_an_unknown_server_gets_a_closed_draft(recorded: Callable[..., Recorded]) -> None:
    session = recorded("--allow-eval=renderer").begin()
    for tool, arguments in (("evaluate", {"code": PAYLOAD}), ("open", {"url": "https://example.com/"})):
        assert session.call(tool, arguments)["structuredContent"]["code"] == "TOOL_FIELD_FORBIDDEN"
    assert "isError" not in session.call("click", {"x": 1})
    assert session.end() == 0
    assert "No manifest knows 'recorder'" in session.stderr
    assert "api_version: evalward/v1" in session.stderr


def test_the_audit_log_verifies(guarded: Recorded) -> None:
    guarded.call("evaluate", {"code": PAYLOAD})
    guarded.call("evaluate", {"code": DENIED})
    guarded.call("nothing", {})
    assert guarded.end() == 0
    assert [record.get("code") for record in guarded.records()][-3:] == [
        None,
        "EVAL_BLOCKED_KEYWORD",
        "TOOL_UNKNOWN",
    ]
