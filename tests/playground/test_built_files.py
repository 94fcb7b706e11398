"""The page's files are what its sources give, and carry the licences of the packages in them."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "playground"
STATIC = files("evalward.playground").joinpath("static")


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
@pytest.mark.skipif(
    not SOURCES.joinpath("node_modules", "rollup").is_dir(), reason="npm ci was not run in playground"
)
def test_the_built_files_are_current() -> None:
    done = subprocess.run(
        ["npm", "--prefix", SOURCES, "run", "--silent", "current"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_each_package_in_the_script_has_its_licence() -> None:
    licences = STATIC.joinpath("LICENSES.txt").read_text("utf-8")

    for name in ("@codemirror/state", "@codemirror/view", "@lezer/common", "d3-scale", "style-mod"):
        assert re.search(rf"^{re.escape(name)} [0-9]", licences, re.MULTILINE)
    assert "MIT License" in licences


def test_the_page_names_no_other_host_and_evaluates_no_text() -> None:
    for name in ("index.html", "app.css"):
        assert "://" not in STATIC.joinpath(name).read_text("utf-8")
    script = STATIC.joinpath("app.js").read_text("utf-8")
    assert {*re.findall(r"https?://[\w./-]+", script)} <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    assert "innerHTML" not in script.replace('.innerHTML=""', "")


def test_the_map_of_checks_knows_every_name_of_the_run_time() -> None:
    api = SOURCES.parent.joinpath("runtime", "src", "api.js").read_text("utf-8")
    exported = {
        each.split(" as ")[-1].strip()
        for names in re.findall(r"export \{([^}]*)\}", api)
        for each in names.split(",")
    }
    kinds = re.findall(
        r"names: \{(.*?)\}", SOURCES.joinpath("src", "checks.js").read_text("utf-8"), re.DOTALL
    )

    named = [name for kind in kinds for name in re.findall(r"(\w+): '", kind)]
    assert sorted(named) == sorted(exported)
