"""``docs/how-to/runbook.md``: a section for each code, whose first command exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from evalward.cli.app import app
from evalward.errors import REGISTRY

RUNBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "runbook.md"
SECTIONS = {
    head: body
    for head, _, body in (part.partition("\n") for part in RUNBOOK.read_text("utf-8").split("\n## ")[1:])
}
COMMANDS = {head: re.findall(r"^\$ (.*)$", body, re.MULTILINE) for head, body in SECTIONS.items()}


def test_each_code_has_its_section_in_the_order_of_the_registry() -> None:
    codes = [row.code for row in sorted(REGISTRY.values(), key=lambda row: row.number)]
    assert [f"`{code}`" for code in codes] == list(SECTIONS)


@pytest.mark.parametrize("head", SECTIONS)
def test_the_first_command_exists_with_its_options(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = COMMANDS[head]
    program, *args = shlex.split(command)
    if program == "curl":
        assert re.fullmatch(r"-s http://127\.0\.0\.1:7480/(livez|readyz|metrics)", " ".join(args))
        return
    assert program == "evalward"
    tmp_path.joinpath("policy.yaml").touch()
    monkeypatch.chdir(tmp_path)
    parses(args)


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"`evalward ([^`]*)`", RUNBOOK.read_text("utf-8"))))
)
def test_the_commands_in_the_text_exist_too(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("payload.js", "audit.jsonl", "policy.yaml"):
        tmp_path.joinpath(name).touch()
    monkeypatch.chdir(tmp_path)
    parses(shlex.split(command))


def parses(args: list[str]) -> None:
    """Have the real parser of the command line read ``args``; it runs nothing."""
    command: Any = get_command(app)
    while hasattr(command, "get_command"):
        name, *args = args
        command = command.get_command(None, name)
        assert command is not None, name
    command.make_context("evalward", [arg for arg in args if arg != "--help"])
