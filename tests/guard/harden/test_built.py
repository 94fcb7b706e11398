"""The bundled run-time: current, one ASCII expression for sloppy and strict code, and small."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

RUNTIME: Final = Path(__file__).parents[3] / "runtime"
PROFILES: Final = ("main", "renderer", "sandbox")
PARSES: Final = (
    "const vm = require('node:vm'); const text = require('node:fs').readFileSync(0, 'utf8');"
    "for (const head of ['', '\"use strict\";']) new vm.Script(head + 'void ' + text);"
    "new vm.Script('async () => { await ' + text + '}');"
    "process.stdout.write(typeof vm.runInNewContext(text))"
)


def _built(profile: str) -> bytes:
    return (files("evalward.guard.harden") / "built" / f"{profile}.js").read_bytes()


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    return node


def test_the_built_files_are_what_the_sources_give() -> None:
    node = _node()
    if not (RUNTIME / "node_modules").is_dir():
        pytest.skip("npm ci was not run in runtime")
    run = subprocess.run(
        [node, "build.mjs", "--check"], cwd=RUNTIME, capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_one_expression_in_ascii(profile: str) -> None:
    text = _built(profile).decode("ascii")
    assert text.rstrip("\n").count("\n") == 0
    run = subprocess.run(
        [_node(), "-e", PARSES], input=text, capture_output=True, text=True, timeout=20, check=False
    )
    assert (run.returncode, run.stdout) == (0, "function"), run.stderr
