"""The pages for callers: their code runs, and prints what they show."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarded-eval-tool-python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def run(program: str, tmp_path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_sink_and_the_tool_of_the_page_work(tmp_path: Path) -> None:
    sink, tool, _ = BLOCKS
    asked = """
import asyncio
print(asyncio.run(eval_renderer("document.title")))
"""

    assert run(sink + tool + asked, tmp_path) == "ran (document.title\n)\n"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_client_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    assert [run(BLOCKS[-1], tmp_path)] == SHOWN


def test_the_manifest_of_the_page_is_a_part_of_the_examples() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    example = (ROOT / "examples/python/manifest.yaml").read_text(encoding="utf-8")

    assert [line for line in shown.splitlines() if line not in example.splitlines()] == []
