"""The sources of each setting of ``evalward serve``: flag, environment variable, file, default."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from typer.models import OptionInfo
from typer.testing import CliRunner

from evalward.cli.health import health
from evalward.cli.serve import run, serve
from evalward.cli.serve_config import file_model, options_of

RUNNER = CliRunner()
OPTIONS = options_of(run)
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
# Three values of each text, the weakest source's first; numbers and paths are made from their types.
TEXTS = {
    "workers": ("0", "2", "auto"),
    "unix_mode": ("0600", "0666", "0600"),
    "allow_eval": ("renderer", "main", "sandbox"),
    "audit_durability": ("disk", "process", "disk"),
    "errors_verbose": ("1", "full", "3"),
    "admin_listen": ("127.0.0.1", "0.0.0.0:1", "127.0.0.1:2"),
    "log_format": ("json", "text", "json"),
    "fronts": ("2", "3", "auto"),
}
LISTS = {
    "listen": (["127.0.0.1:1"], ["127.0.0.1:2", "unix:/a"], ["127.0.0.1:3"]),
    "client_name": (["a.example"], ["b.example", "c"], ["d"]),
    "hook_listen": (["unix:/a"], ["unix:/b", "127.0.0.1:1"], ["unix:/c"]),
    "server": (["a=playwright-mcp"], ["b=playwright-mcp", "c=d.yaml"], ["e=ready:playwright-mcp/default"]),
}


def three(name: str) -> tuple[Any, Any, Any]:
    """Return a value for the file, another for the variable, and one for the flag."""
    kind, option = OPTIONS[name]
    if name in LISTS:
        return LISTS[name]
    if name in TEXTS:
        return TEXTS[name]
    if kind is bool:
        return (True, False, True)
    if "Path" in str(kind):
        return ("of-the-file", "of-the-variable", "of-the-flag")
    low = int(option.min or 0)
    return (low + 1, low + 2, low + 3)


def as_flags(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, list):
        return [part for each in value for part in (flag, each)]
    return [f"{flag}={value}"]


def printed(*args: str, env: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    done = RUNNER.invoke(serve, [*args, "--print-config", "--json"], env=env)
    assert done.exit_code == 0, done.output
    document: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return document


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(name: str, tmp_path: Path) -> None:
    of_file, of_variable, of_flag = three(name)
    file = tmp_path / "serve.yaml"
    file.write_text(yaml.safe_dump({name: of_file}))
    variable = f"EVALWARD_{name.upper()}"
    text = " ".join(of_variable) if isinstance(of_variable, list) else str(of_variable)
    env, config = {variable: text}, ["--config", str(file)]

    seen = [
        printed()[name],
        printed(*config)[name],
        printed(*config, env=env)[name],
        printed(*config, *as_flags(name, of_flag), env=env)[name],
    ]

    assert [(each["source"], each["origin"]) for each in seen] == [
        ("default", None),
        ("file", str(file)),
        ("environment", variable),
        ("flag", f"--{name.replace('_', '-')}"),
    ]
    assert [each["value"] for each in seen[1:]] == [of_file, of_variable, of_flag]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_has_a_variable_a_key_and_help(name: str) -> None:
    _, option = OPTIONS[name]

    assert option.envvar == f"EVALWARD_{name.upper()}"
    assert option.help
    assert name in file_model(run).model_fields


def shown(default: object) -> str:
    """Return a default in the form of the page."""
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, list):
        return " ".join(default)
    return "" if default is None else str(default)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_in_the_page(name: str) -> None:
    _, option = OPTIONS[name]
    default = getattr(run, "__kwdefaults__", {})[name]
    flag = f"--{name.replace('_', '-')}"
    value = f"`{shown(default)}`" if shown(default) else ""
    row = f"| `{name}` | `{flag}` | `{option.envvar}` | {value} | {option.help} |"

    assert row in DOCS.read_text(encoding="utf-8").splitlines(), row


def test_the_page_names_no_other_option() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)

    assert rows == list(OPTIONS)


def test_the_page_has_the_variables_of_health() -> None:
    rows = []
    for name, hint in get_type_hints(health, include_extras=True).items():
        for option in getattr(hint, "__metadata__", ()):
            if option.envvar is not None:
                is_flag = isinstance(option, OptionInfo)
                flag = f"`--{name.replace('_', '-')}`" if is_flag else "the argument"
                rows.append(f"| {flag} | `{option.envvar}` | {option.help} |")

    text = DOCS.read_text(encoding="utf-8").partition("## Settings of `evalward health`")[2]
    assert [line for line in text.splitlines() if "`EVALWARD_" in line] == rows


def test_defaults_have_names_and_numbers() -> None:
    settings = printed(env={"XDG_STATE_HOME": "/state"})

    assert settings["listen"]["value"] == ["127.0.0.1:7443"]
    assert settings["audit_log"]["value"] == "/state/evalward/audit.jsonl"


def test_text_has_a_line_for_each_setting(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('queue = 7\nlisten = ["unix:/a", "unix:/b"]\n')

    done = RUNNER.invoke(serve, ["--config", str(file), "--no-reflection", "--print-config"])

    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    said = {name: " ".join(rest.split()) for name, rest in lines}
    assert list(said) == list(OPTIONS)
    assert said["queue"] == f"7 file {file}"
    assert said["listen"] == f"unix:/a unix:/b file {file}"
    assert said["reflection"] == "false flag --reflection"
    assert said["drain_seconds"] == "10.0 default"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qeue: 1", "qeue: unknown field; did you mean queue"),
        ("queue: 2000", "queue: too large (allowed: 1024 or less)"),
        ("queue: '7'", "queue: not a whole number (allowed: a whole number)"),
        ("reflection: 1", "reflection: neither true nor false (allowed: true, false)"),
        ("listen: unix:/a", "listen: not a list (allowed: a list)"),
        ("audit_durability: none", "audit_durability: not one of the values (allowed: process, disk)"),
        ("policy: null", "policy: not a path"),
        ("queue: 1\nqueue: 2", "line 2, column 1: the key queue is given twice"),
        ("[1]", "no settings in it (allowed: a mapping of settings)"),
        ("", "empty (allowed: settings)"),
    ],
)
def test_a_file_that_is_not_surely_right_stops_the_start(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(text)

    for more in ([], ["--print-config"]):
        done = RUNNER.invoke(serve, ["--config", str(file), *more])

        assert done.exit_code == 3
        assert done.stderr.startswith(f"evalward serve: CONFIG_INVALID: {file}: ")
        assert expected in done.stderr
        assert done.stdout == ""


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    done = RUNNER.invoke(serve, [], env={"EVALWARD_CONFIG": str(tmp_path / "serve.yaml")})

    assert done.exit_code == 3
    assert "No such file" in done.stderr


def test_json_goes_with_print_config() -> None:
    done = RUNNER.invoke(serve, ["--json"])

    assert done.exit_code == 2
    assert "--print-config" in done.output
