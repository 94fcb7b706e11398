"""The members that the run-time lists for drivers exist on the live objects of the real drivers."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.guard.harden.surface import host_objects

HERE = Path(__file__).parent
DRIVERS = HERE.parents[2] / "sinks" / "drivers"
WALK: dict[str, Any] = yaml.safe_load((HERE / "walk.yaml").read_text("utf-8"))
TRIED = {
    path: each
    for path, each in host_objects().items()
    if not any(path == one or path.startswith(f"{one}.") for one in WALK["untried"])
    and (each.classes or path in WALK["modules"])
}


def missing() -> str | None:
    """Return the missing requirements of the drivers."""
    if not shutil.which("node"):
        return "node is not installed"
    if not (DRIVERS / "node_modules").is_dir():
        return f"the drivers are not installed: npm ci --prefix {DRIVERS.relative_to(HERE.parents[3])}"
    return None if shutil.which("chromium") else "chromium is not installed"


pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@cache
def live_members() -> dict[str, list[str]]:
    """Return the members of the drivers' live objects by class."""
    node, chromium = shutil.which("node"), shutil.which("chromium")
    assert node is not None
    assert chromium is not None
    done = subprocess.run(
        [node, str(HERE / "walk.mjs"), str(DRIVERS), chromium],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


# One test, since each pytest worker would start all drivers again.
@pytest.mark.exhaustive
def test_listed_members_exist_in_the_real_drivers() -> None:
    live = live_members()
    absent = {}
    for path, each in TRIED.items():
        shown = {name for made in (*each.classes, WALK["modules"].get(path)) for name in live.get(made, ())}
        listed = (each.values.keys() | each.methods.keys()) - set(WALK["older"].get(path, "").split())
        if gone := listed - shown:
            absent[path] = sorted(gone)

    assert absent == {}


@pytest.mark.exhaustive
def test_each_tried_object_has_a_class_in_the_real_drivers() -> None:
    live = live_members()
    without = {path for path, each in TRIED.items() if each.classes and not each.classes & live.keys()}

    assert without == set()
