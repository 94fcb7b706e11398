"""The compose file and the systemd unit: valid, and consistent with ``evalward serve``."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from deployment_files import DEPLOY, EVALWARD, documents, image_variables, paths_of, settings_of

from evalward.policy import load_policy

COMPOSE = DEPLOY / "compose" / "compose.yaml"
UNIT = DEPLOY / "systemd" / "evalward.service"


def guard() -> dict[str, Any]:
    (document,) = documents(COMPOSE)
    service: dict[str, Any] = document["services"]["evalward"]
    return service


def unit() -> dict[str, list[str]]:
    """Return the settings of the unit; one may be given several times."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.exhaustive
def test_the_schema_takes_the_compose_file() -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(COMPOSE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_compose_starts_what_serve_knows_and_mounts_what_it_names() -> None:
    service = guard()
    settings = settings_of(service["command"], image_variables())
    mounts = {PurePosixPath(each.split(":")[1]): each.split(":")[0] for each in service["volumes"]}

    for path in paths_of(settings):
        assert path.parent in mounts, path
    source = COMPOSE.parent / mounts[PurePosixPath(settings["policy"]).parent]
    assert load_policy(source / PurePosixPath(settings["policy"]).name).allowed_targets
    assert service["healthcheck"]["test"] == ["CMD", EVALWARD, "health", *settings["listen"]]
    assert int(service["stop_grace_period"].removesuffix("s")) > settings["drain_seconds"]
    assert (COMPOSE.parent / service["build"]["context"] / "Dockerfile").is_file()


def test_compose_is_hardened() -> None:
    service = guard()

    assert service["user"] == "65532:65532"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["network_mode"] == "none"
    assert "ports" not in service


def test_the_unit_starts_what_serve_knows() -> None:
    (start,) = unit()["ExecStart"]
    program, *args = shlex.split(start)
    settings = settings_of(args, {})
    folders = {
        "/etc/evalward",
        *(f"/run/{each}" for each in unit()["RuntimeDirectory"]),
        *(f"/var/lib/{each}" for each in unit()["StateDirectory"]),
    }

    assert program == EVALWARD
    assert {str(path.parent) for path in paths_of(settings)} <= folders
    assert int(unit()["TimeoutStopSec"][0]) > settings["drain_seconds"]
    assert unit()["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    # The program need not be installed where the test runs.
    text = UNIT.read_text(encoding="utf-8").replace(EVALWARD, "/bin/true")
    (tmp_path / "evalward.service").write_text(text, encoding="utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "evalward.service")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "evalward.service" not in done.stderr, done.stderr


def test_the_page_names_every_file() -> None:
    page = DEPLOY.parent / "docs" / "how-to" / "deployment.md"
    named = re.findall(r"`(deploy/[\w./-]+\.\w+)`", page.read_text(encoding="utf-8"))

    assert {DEPLOY.parent / each for each in named} == {UNIT, COMPOSE, *(DEPLOY / "kubernetes").iterdir()}
