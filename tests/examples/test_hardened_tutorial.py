"""The tutorial about hardened programs: its file runs as printed, in a real page, and prints what the page shows."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "hardened-programs.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN, UNGUARDED = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
_, QUERY = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def printed(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(folder: Path, program: str) -> str:
    (folder / "run.py").write_text(program.replace('"/usr/bin/chromium"', repr(CHROMIUM)), encoding="utf-8")
    return printed(folder, sys.executable, "run.py")


def test_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    assert run(tmp_path, PROGRAM) == SHOWN

    record = printed(tmp_path, sys.executable, "-m", *shlex.split(QUERY))
    assert record.count("\n") == 1
    assert '"construct":"Function()"' in record
    assert "shop" not in record


def test_without_the_program_the_text_runs(tmp_path: Path) -> None:
    bare = PROGRAM.replace('sink="playwright.evaluate")', 'sink="playwright.evaluate", harden=False)')
    assert bare != PROGRAM

    assert run(tmp_path, bare) == "".join([*SHOWN.splitlines(keepends=True)[:2], UNGUARDED])
