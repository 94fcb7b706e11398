"""The recipes of CONTRIBUTING.md work as printed, and the paths that it names exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = ROOT.joinpath("CONTRIBUTING.md").read_text("utf-8")
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+|\.[\w.-]+/[\w-]+)`")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^\$ evalward (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def test_every_path_exists() -> None:
    recipe = {
        "corpus/hosts/share-menu.yaml",
        "benign/field/electron/shortcut",
        "src/evalward/client/version_reply.py",
        "tests/client/test_version.py",
    }
    named = set(_PATH.findall(CONTRIBUTING)) - recipe

    assert [name for name in sorted(named) if not ROOT.joinpath(name).exists()] == []
    assert len(named) > 20, "the page names paths; the pattern finds none"


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_host_api_is_added_as_the_recipe_says(tmp_path: Path) -> None:
    recipe = CONTRIBUTING.partition("## Example: a dangerous host API")[2].partition("\n## ")[0]
    for folder in ("src", "corpus"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    sessions = 0
    for block in _BLOCK.finditer(recipe):
        if block["language"] == "diff":
            patch = ["git", "apply", "--unsafe-paths", "--directory", str(tmp_path), "-"]
            subprocess.run(patch, cwd=tmp_path, input=block["text"], text=True, check=True)
        for session in _SESSION.finditer(block["text"]):
            command = [sys.executable, "-m", "evalward", *shlex.split(session["command"])]
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            told = (done.stdout + done.stderr).splitlines()
            shown = [line for line in session["output"].splitlines() if line != "…"]
            assert [line for line in shown if line not in told] == [], done.stdout + done.stderr
            sessions += 1

    assert sessions == 6
