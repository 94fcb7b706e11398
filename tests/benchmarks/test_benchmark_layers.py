"""The comparison of the layers counts programs that reach something, each in the column of what stops it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalward.oracle.node import NodeOracle

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "layers.py"
COLUMNS = ["both", "only the guard", "only hardened output", "neither"]
pytestmark = pytest.mark.skipif(NodeOracle.missing() is not None, reason="node is not installed")


def compared(*arguments: str) -> tuple[int, Any]:
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments, "--json"], capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def test_a_file_of_programs(tmp_path: Path) -> None:
    """``inert`` reaches nothing, so it is in no column."""
    codes = {"exit": "process.exit(1)", "inert": "1 + 1", "built": "(0, eval)('process')"}
    path = tmp_path / "set.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for name, code in codes.items():
            file.write(json.dumps({"id": name, "target": "main", "shape": "script", "code": code}) + "\n")
    ended, found = compared(str(path))
    rows = found[str(path)]
    assert (ended, rows["live"]) == (0, 2)
    for profile in ("balanced", "strict"):
        assert [rows[profile][column] for column in COLUMNS] == [2, 0, 0, 0]
        assert rows[profile]["ids"] == {column: [] for column in COLUMNS[1:]}


def test_programs_of_the_generator() -> None:
    code, found = compared("--generated", "3", "--seed", "5")
    assert (code, list(found)) == (0, ["generated"])
    assert sum(found["generated"]["strict"][column] for column in COLUMNS) == found["generated"]["live"] == 3


def test_a_set_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    code, message = compared(str(tmp_path / "none.yaml"))
    assert code == 2
    assert "none.yaml" in message
