"""``evalward tools`` from the command line."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.tools import load_manifest, parse_manifest

ROOT = Path(__file__).parents[2]
READY = ROOT / "src" / "evalward" / "tools" / "ready"
STAGEWRIGHT = "ready:electron-stagewright"
LISTED = [
    {
        "name": "eval_js",
        "description": "Runs a snippet in the main process.",
        "inputSchema": {"type": "object", "properties": {"expression": {"type": "string"}}},
    },
    {
        "name": "open",
        "description": "Opens a page.",
        "inputSchema": {
            "type": "object",
            "properties": {"url": {"type": "string"}, "preloadScript": {"type": "string"}},
        },
    },
    {"name": "title", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
]


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tools", *arguments], input=stdin)
    return result.exit_code, result.stdout, result.stderr


def test_the_schema_of_a_manifest_describes_the_ready_ones() -> None:
    code, out, _ = run("--json-schema")

    schema = json.loads(out)
    assert code == 0
    for path in sorted(READY.glob("*.yaml")):
        jsonschema.validate(yaml.safe_load(path.read_text("utf-8")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"api_version": "evalward/v1", "tools": [{"name": "t"}]}, schema)


def test_the_schemas_for_tools_list_leave_out_what_policy_denies() -> None:
    _, out, _ = run("--json-schema", "--manifest", str(STAGEWRIGHT), "--allow-eval", "renderer")

    tools = {tool["name"]: tool for tool in json.loads(out)["tools"]}
    assert "electron_eval_main" not in tools
    assert tools["electron_eval_renderer"]["inputSchema"]["required"] == ["code"]
    assert "EVAL_{BLOCKED_KEYWORD,BLOCKED_CONSTRUCT," in tools["electron_eval_renderer"]["description"]


def test_list_says_what_is_shown_and_how_much_is_hidden() -> None:
    code, out, err = run("list", "--manifest", str(STAGEWRIGHT))

    assert code == 0
    assert "electron_click  command" in out
    assert "eval_main" not in out
    assert err.startswith("2 eval tools are hidden")


@pytest.mark.parametrize("wrap", ["%s", '{"tools":%s}', '{"jsonrpc":"2.0","id":1,"result":{"tools":%s}}'])
def test_init_drafts_a_manifest_that_loads_and_marks_its_guesses(wrap: str, tmp_path: Path) -> None:
    code, out, _ = run("init", "--from", "-", "--server", "mine", stdin=wrap % json.dumps(LISTED))

    assert code == 0
    manifest = parse_manifest(yaml.safe_load(out), source="draft")
    (tmp_path / "m.yaml").write_text(out)
    assert load_manifest(tmp_path / "m.yaml") == manifest
    kinds = {
        tool.name: (tool.operation_type.value, tool.target, tool.sources, tool.forbidden)
        for tool in manifest.tools
    }
    assert kinds == {
        "eval_js": ("eval", "main", ("expression",), ("filename", "sourcePath")),
        "open": ("command", None, (), ("preloadScript",)),
        "title": ("query", None, (), ()),
    }
    assert out.count("# review:") == 3
    assert "name a sink instead (`evalward sinks`)" in out
    assert {name: rule.kind.value for name, rule in manifest.tools[1].fields.items()} == {"url": "url"}


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"tools":{}}', "[NaN]"])
def test_init_refuses_what_is_no_list_of_tools(text: str) -> None:
    code, out, err = run("init", "--from", "-", stdin=text)

    assert (code, out) == (2, "")
    assert "--from" in err


def test_a_bad_manifest_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("api_version: evalward/v1\ntools: [{name: t}]\n")

    code, _, err = run("list", "--manifest", str(bad))

    assert code == 3
    assert "tool t: operation_type: missing (allowed: command" in err
