"""The command group: help, version, completion, lazy imports, internal errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli import app as app_module
from evalward.cli.app import app

RUNNER = CliRunner()
COMMANDS = ["check", "demo", "serve", "health", "codes", "explain", "corpus", "eval", "oracle"]
LOADED = "import sys; {run}; print('LOADED', *(m for m in {modules} if m in sys.modules))"


def test_help_names_every_command_and_shows_examples() -> None:
    result = RUNNER.invoke(app, ["--help"])

    assert result.exit_code == 0
    assert [word for word in [*COMMANDS, "evalward check -e"] if word not in result.stdout] == []


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), ["corpus", "run"], ["corpus", "verify"]], ids=" ".join
)
def test_every_command_has_help(command: list[str]) -> None:
    result = RUNNER.invoke(app, [*command, "--help"])

    assert result.exit_code == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize("group", ["tools", "policy", "corpus", "audit"])
def test_the_help_of_a_group_is_prose_and_offers_no_completion_of_its_own(group: str) -> None:
    shown = RUNNER.invoke(app, [group, "--help"]).stdout

    assert "``" not in shown
    assert "completion" not in shown


@pytest.mark.parametrize(
    "command", [["check"], ["demo"], ["corpus", "run"], ["corpus", "verify"]], ids=" ".join
)
def test_the_serverless_commands_show_examples(command: list[str]) -> None:
    assert f"evalward {' '.join(command)}" in RUNNER.invoke(app, [*command, "--help"]).stdout


def test_version_names_the_product() -> None:
    assert RUNNER.invoke(app, ["--version"]).stdout.startswith("evalward ")


def test_an_unknown_command_is_a_usage_error() -> None:
    assert RUNNER.invoke(app, ["chekc"]).exit_code == 2


@pytest.mark.exhaustive
def test_a_shell_completes_the_commands() -> None:
    environment = os.environ | {
        "_EVALWARD_COMPLETE": "complete_bash",
        "COMP_WORDS": "evalward c",
        "COMP_CWORD": "1",
    }
    command = Path(sys.executable).with_name("evalward")

    done = subprocess.run([command], env=environment, capture_output=True, text=True, check=False)

    assert sorted(done.stdout.split()) == ["check", "codes", "corpus"]


def test_check_loads_no_grpc() -> None:
    run = "from evalward.cli.app import app; app(['check', '-e', '1'], standalone_mode=False)"
    program = LOADED.format(run=run, modules=("grpc", "rich.table", "evalward.server", "evalward.corpus"))

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[1:] == ["LOADED"]


@pytest.mark.exhaustive
def test_health_loads_nothing_of_the_service() -> None:
    loaded = (
        *("evalward.server", "evalward.guard", "evalward.policy", "evalward.errors", "evalward.v1"),
        *("tree_sitter", "wasmtime", "yaml", "google.protobuf", "prometheus_client", "jsonschema"),
    )
    program = f"""
import contextlib, sys
with contextlib.suppress(SystemExit):
    from evalward.cli.app import app
    app(["health", "127.0.0.1:1"], standalone_mode=False)
print("LOADED", *(name for name in {loaded} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "not serving" in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED"


def test_an_internal_error_is_neither_allowed_nor_blocked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret payload text")

    monkeypatch.setattr(app_module, "app", fail)
    monkeypatch.delenv("EVALWARD_VERBOSE", raising=False)

    with pytest.raises(SystemExit) as caught:
        app_module.main()

    assert caught.value.code == 3
    assert "secret" not in capsys.readouterr().err
