"""Read the deployment files, and the settings that ``evalward serve`` gets from them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml
from typer.testing import CliRunner

from evalward.cli.serve import run, serve
from evalward.cli.serve_config import options_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
EVALWARD = "/opt/evalward/bin/evalward"
# Variables of the image that are no settings of ``serve``.
OTHER_VARIABLES = {"EVALWARD_CACHE_DIR", "EVALWARD_ADDRESS"}


def documents(file: Path) -> list[dict[str, Any]]:
    """Return the documents of a YAML file."""
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def image_variables() -> dict[str, str]:
    """Return what the image's ENV says."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.removeprefix("ENV ") for line in text.splitlines() if line.startswith("ENV ")]
    return dict(part.split("=", 1) for line in lines for part in shlex.split(line))


def settings_of(args: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that ``evalward ARGS`` would have; an unknown flag or value fails."""
    assert args[0] == "serve"
    known = {str(option.envvar) for _, option in options_of(run).values()} | OTHER_VARIABLES
    named = {name for name in variables if name.startswith("EVALWARD_")}
    assert named <= known, named - known
    done = CliRunner().invoke(serve, [*args[1:], "--print-config", "--json"], env=dict(variables))
    assert done.exit_code == 0, done.output
    return {name: each["value"] for name, each in json.loads(done.stdout).items()}


def paths_of(settings: Mapping[str, Any]) -> Iterator[PurePosixPath]:
    """Yield every absolute path that the settings name."""
    for value in settings.values():
        for each in value if isinstance(value, list) else [value]:
            text = str(each).removeprefix("unix:")
            if text.startswith("/"):
                yield PurePosixPath(text)
