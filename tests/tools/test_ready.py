"""The ready manifests match their servers field by field, and every field that is evaluated has its kind."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.tools import ManifestError, load_manifest, parse_manifest
from evalward.tools.manifest_match import match
from evalward.tools.ready import load_ready, ready_manifests, ready_names
from evalward.tools.ready.table import fields_table, without_kind
from evalward.tools.variant import list_digest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tools.md"
VARIANTS = [(family, variant) for family, each in ready_manifests().items() for variant in each.variants]


def listed(name: str) -> list[dict[str, Any]]:
    """Return a tools/list reply of a ready manifest's server, built from the manifest."""
    return [
        {
            "name": tool.name,
            "description": "for readers",
            "inputSchema": copy.deepcopy(dict(tool.input_schema)),
        }
        for tool in load_ready(name).tools
        if tool.input_schema is not None
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("family", "variant"), VARIANTS, ids=ready_names())
def test_a_variant_is_what_the_digest_of_the_servers_own_list_says(family: str, variant: Any) -> None:
    narrowed = load_ready(f"{family}/{variant.name}")

    assert list_digest((tool.name, tool.input_schema or {}) for tool in narrowed.tools) == variant.digest
    found = match(listed(f"{family}/{variant.name}"), server=ready_manifests()[family].server)
    assert (found.ready, found.exact) == (f"{family}/{variant.name}", True)


def test_the_digests_are_those_of_real_servers() -> None:
    assert {f"{family}/{variant.name}": variant.digest[:12] for family, variant in VARIANTS} == {
        "chrome-devtools-mcp/default": "f85944779011",
        "chrome-devtools-mcp/no-page-id-routing": "88d4679f6a0e",
        "chrome-devtools-mcp/slim": "256fb13fc468",
        "chrome-devtools-mcp/all": "0e6671096e93",
        "electron-stagewright/allow-eval": "d61ad60709d2",
        "mcp-selenium/default": "07509340c4ba",
        "playwright-mcp/default": "31b4fc2ee524",
        "playwright-mcp/all-caps": "629c1bbc9421",
        "puppeteer-mcp-server/default": "ece4759b7dad",
        "seleniumbase-mcp/default": "21468f67239c",
        "server-puppeteer/default": "8147b0e08742",
    }


@pytest.mark.parametrize("family", ready_manifests())
def test_every_field_that_looks_as_if_it_ran_has_a_kind(family: str) -> None:
    assert without_kind(ready_manifests()[family]) == []


def test_a_field_without_its_kind_is_found() -> None:
    names = ["url", "initScript", "filePath", "html", "proxy", "description"]
    properties = {name: {"type": "string"} for name in names}
    entry = {"name": "t", "operation_type": "command", "input_schema": {"properties": properties}}
    manifest = parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="the test")

    assert without_kind(manifest) == ["t.url", "t.initScript", "t.filePath", "t.html", "t.proxy"]


def test_the_page_has_the_tables() -> None:
    assert PAGE.read_text("utf-8").endswith(f"prints what follows -->\n{fields_table()}")


def test_two_servers_of_one_name_are_told_apart() -> None:
    names = {"server-puppeteer/default", "puppeteer-mcp-server/default"}

    assert {match(listed(name), server="example-servers/puppeteer").ready for name in names} == names


def test_what_differs_is_said() -> None:
    tools = {tool["name"]: tool for tool in listed("playwright-mcp/default")}
    tools["browser_navigate"]["inputSchema"]["properties"]["initScript"] = {"type": "string"}
    tools["browser_drop"]["name"] = "browser_drop_files"
    del tools["browser_tabs"]
    more = {"name": "browser_shell", "inputSchema": {"type": "object"}}
    page = {"name": "webmcp_buy", "inputSchema": {"type": "object"}}

    found = match([*tools.values(), more, page], server="Playwright")

    assert (found.ready, found.exact) == ("playwright-mcp/default", False)
    assert (found.changed, found.new, found.missing) == (
        ("browser_navigate",),
        ("browser_shell",),
        ("browser_tabs",),
    )
    assert found.renamed == (("browser_drop", "browser_drop_files"),)


def test_a_server_that_takes_anothers_tools_is_no_exact_match() -> None:
    found = match(listed("mcp-selenium/default"), server="another")

    assert (found.ready, found.exact, found.same_name) == ("mcp-selenium/default", False, False)


def test_an_unknown_server_has_no_ready_manifest() -> None:
    assert match([{"name": "greet", "inputSchema": {}}], server="hello").ready is None


def test_a_ready_manifest_is_loaded_by_name_and_another_refused() -> None:
    slim = load_manifest("ready:chrome-devtools-mcp/slim")

    assert [tool.name for tool in slim.tools] == ["evaluate", "navigate", "screenshot"]
    assert load_manifest("ready:mcp-selenium") == load_ready("mcp-selenium/default")
    for name in ("chrome-devtools-mcp", "chrome-devtools-mcp/typo", "../x"):
        with pytest.raises(ManifestError, match="chrome-devtools-mcp/slim"):
            load_manifest(f"ready:{name}")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "playwright-mcp",
            r"several variants; name one \(allowed: playwright-mcp/default, playwright-mcp/all-caps\)",
        ),
        (
            "playwright-mcp/none",
            r"no variant none \(allowed: playwright-mcp/default, playwright-mcp/all-caps\)",
        ),
        ("playwrigt-mcp/default", "did you mean playwright-mcp/default"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_what_was_meant(name: str, says: str) -> None:
    with pytest.raises(ManifestError, match=says):
        load_ready(name)


def test_the_command_prints_the_manifest_and_says_what_differs(tmp_path: Path) -> None:
    source = tmp_path / "tools.json"
    tools = listed("chrome-devtools-mcp/slim")
    source.write_text(
        '{"initialize": {"serverInfo": {"name": "chrome_devtools"}}, "tools": ' + json.dumps(tools) + "}"
    )
    told = CliRunner().invoke(app, ["tools", "match", "--from", str(source)])
    printed = CliRunner().invoke(app, ["tools", "match", "--from", str(source), "--print"])
    (tmp_path / "m.yaml").write_text(printed.stdout)
    tools[0]["inputSchema"]["properties"]["url"] = {"type": "string"}
    source.write_text(json.dumps(tools))
    changed = CliRunner().invoke(app, ["tools", "match", "--from", str(source)])

    assert (told.exit_code, told.stdout) == (0, "ready:chrome-devtools-mcp/slim fits exactly.\n")
    assert load_manifest(tmp_path / "m.yaml").digest == load_ready("chrome-devtools-mcp/slim").digest
    assert changed.exit_code == 1
    assert re.search(r"other schema: evaluate\n[\s\S]*url: url", changed.stdout)


@pytest.mark.parametrize(
    ("action", "allowed"), [("deny", False), ("command", True)], ids=["denied", "as commands"]
)
def test_tools_that_a_page_registers_have_a_rule(action: str, *, allowed: bool) -> None:
    entry = {"name": "t", "operation_type": "command"}
    document = {"api_version": "evalward/v1", "page_tools": {"prefixes": ["webmcp_"], "action": action}}
    manifest = parse_manifest({**document, "tools": [entry]}, source="the test")

    assert (manifest.tool("webmcp_buy") is not None) is allowed
    assert manifest.tool("other_buy") is None
