"""The commands and outputs of the README and its pages are real; .ci/run takes the test command from the README."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/how-to/call-from-a-dispatcher.md", "docs/how-to/run-hardened-programs.md")
TEXTS = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
# A block with a page of a browser runs in tests/guard/harden/prepared, where a machine without one skips it.
PYTHON = [
    block
    for text in TEXTS
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    if "prepare(page" not in block
]
# The session with packages of npm runs in tests/cli/test_corpus_compare.py.
CONSOLE = [
    session
    for text in TEXTS
    for session in re.findall(r"^\$ evalward (.*)\n((?:(?!\$ |```).*\n)*)", text, re.MULTILINE)
    if not session[0].startswith("corpus compare ")
]


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_a_console_session_prints_what_the_page_shows(command: str, output: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))

    shown = [line for line in output.splitlines() if line != "…"]
    assert [line for line in shown if line not in result.stdout.splitlines()] == []


def test_there_is_something_to_check() -> None:
    assert len([output for _, output in CONSOLE if output]) >= 3
    assert len(PYTHON) >= 3


@pytest.mark.parametrize("block", PYTHON, ids=range(len(PYTHON)))
def test_a_python_block_runs(block: str) -> None:
    exec(compile(block, "page", "exec"), {})


def test_ci_runs_the_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    function = re.search(r"^readme_command\(\) \{.*?^\}", script, re.MULTILINE | re.DOTALL)
    assert function is not None

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{function.group()}\nreadme_command"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "python -m pip install -e '.[dev]' && pytest\n"


def test_the_ci_script_is_valid_bash() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)
