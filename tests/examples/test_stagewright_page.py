"""The service parts of the page for Electron Stagewright; ``examples/node`` runs its JavaScript."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from evalward import validate
from evalward.cli.app import app
from evalward.guard.sinks import sinks
from evalward.policy import parse_policy
from evalward.tools import load_manifest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "electron-stagewright.md").read_text(encoding="utf-8")
LIMIT = 100_000


def test_the_policy_of_the_page_takes_the_longest_text_that_the_tools_take() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    head = "return 1; //"
    longest = (head + "€" * (LIMIT - len(head))).encode()
    policy = parse_policy(yaml.safe_load(text), source="the page")

    assert validate(longest, sink="electron-stagewright.renderer", policy=policy).allowed
    assert len(longest) > 128 * 1024
    assert f"{LIMIT:,} characters" in PAGE


def test_the_hashes_of_the_page_are_those_that_are_printed(tmp_path: Path) -> None:
    (write, ask, shown) = re.findall(r"```console\n\$ (.*?)\n\$ evalward (.*?)\n(.*?)```", PAGE, re.DOTALL)[0]
    subprocess.run(["bash", "-euc", write], cwd=tmp_path, check=True)

    *words, name = ask.split()
    printed = CliRunner().invoke(app, [*words, str(tmp_path / name)])

    assert printed.stdout == shown
    (wanted,) = re.findall(r"fnv1a32 ([0-9a-f]{8})$", shown, re.MULTILINE)
    assert f"evalward audit query --fnv1a32 {wanted} audit.jsonl" in PAGE


@pytest.mark.parametrize("target", ["main", "renderer"])
def test_the_sinks_of_the_page_are_what_the_manifest_declares(target: str) -> None:
    tools = load_manifest("ready:electron-stagewright").tools
    (tool,) = [tool for tool in tools if tool.is_eval and tool.target == target]
    sink = sinks()[f"electron-stagewright.{target}"]

    assert f"`{sink.id}`" in PAGE
    assert sink.target == target
    assert tool.sink == sink.id or (tool.bindings == sink.bindings and tool.shape == "async_body")
