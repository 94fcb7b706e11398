"""``--help`` of every command: it fits 80 columns, and shows each text verbatim."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from evalward.cli.app import app

RUNNER = CliRunner()


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), (*path, name))


COMMANDS = dict(commands(get_command(app)))


def squeezed(text: str) -> str:
    return re.sub(r"[\s│╭╮╰╯─]+", "", text)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_80_columns_and_loses_nothing(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]

    shown = RUNNER.invoke(app, [*path, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout

    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    whole = squeezed(shown)
    for parameter in command.params:
        text = getattr(parameter, "help", None) or ""
        assert squeezed(text) in whole, parameter.name
    assert squeezed((command.help or "").replace("\b", "")) in whole


def test_the_options_of_serve_come_in_panels_with_their_variables() -> None:
    shown = RUNNER.invoke(app, ["serve", "--help"], env={"COLUMNS": "80"}).stdout

    assert re.findall(r"╭─ ([A-Z][A-Za-z, ]+) ─", shown) == [
        *(
            "Options",
            "Sockets",
            "Verdicts",
            "Audit log",
            "Logs, traces and counts",
            "Sandbox",
            "TLS and tokens",
            "Hooks and gateways",
        ),
    ]
    general = shown.partition("╭─ Sockets")[0]
    assert re.findall(r"│ (--[a-z-]+)", general) == ["--config", "--print-config", "--json"]
    assert "--allow-eval [=TARGETS]" in shown
    assert "[default: off]" in shown
    for parameter in COMMANDS["serve",].params:
        variable = getattr(parameter, "envvar", None)
        assert not variable or str(variable) in shown
