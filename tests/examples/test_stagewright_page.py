"""The page for Electron Stagewright, as far as it is about the service; ``examples/node`` runs its JavaScript."""

import re
import subprocess
from pathlib import Path

import yaml
from typer.testing import CliRunner

from evalward import validate
from evalward.cli.app import app
from evalward.policy import parse_policy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "electron-stagewright.md").read_text(encoding="utf-8")
LIMIT = 100_000


def test_the_policy_of_the_page_takes_the_longest_text_that_the_tools_take() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    head = "return 1; //"
    longest = (head + "€" * (LIMIT - len(head))).encode()
    policy = parse_policy(yaml.safe_load(text), source="the page")

    assert validate(longest, target="renderer", shape="async_body", policy=policy).allowed
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


def test_the_bindings_of_the_page_are_those_of_the_manifest() -> None:
    manifest = yaml.safe_load((ROOT / "examples/manifests/electron-stagewright.yaml").read_text("utf-8"))
    evals = {tool["target"]: tool for tool in manifest["tools"] if tool["operation_type"] == "eval"}
    (said,) = re.findall(r"^const BINDINGS = (.*);$", PAGE, re.MULTILINE)

    assert yaml.safe_load(said) == {target: tool["bindings"] for target, tool in evals.items()}
    assert {tool["shape"] for tool in evals.values()} == {"async_body"}
