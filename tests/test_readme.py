"""What the README shows is what happens; .ci/run takes the test command from it."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
CONSOLE = re.findall(r"^\$ evalward (.*)\n((?:(?!\$ |```).*\n)*)", README, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_a_console_session_prints_what_the_readme_shows(command: str, output: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))

    shown = [line for line in output.splitlines() if line != "…"]
    assert [line for line in shown if line not in result.stdout.splitlines()] == []


def test_there_is_a_session_to_check() -> None:
    assert len([output for _, output in CONSOLE if output]) >= 2


@pytest.mark.parametrize("block", PYTHON, ids=range(len(PYTHON)))
def test_a_python_block_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


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
