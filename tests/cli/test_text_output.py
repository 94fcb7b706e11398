"""The text of ``evalward check`` on a terminal: it names the file and breaks lines only between words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EVALWARD = Path(sys.executable).with_name("evalward")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check(*arguments: str, width: int) -> str:
    done = subprocess.run(
        [EVALWARD, "check", *arguments, "--format", "text", "--target", "renderer"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm"},
    )
    assert done.returncode == 1
    return COLOURS.sub("", done.stdout)


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [24, 40, 80])
def test_prose_is_wrapped_between_words(width: int, tmp_path: Path) -> None:
    file = tmp_path / "p.js"
    file.write_text("new Worker('a.js')")

    wide, narrow = check(str(file), width=400), check(str(file), width=width)

    assert narrow.split() == wide.split()
    prose = [line for line in narrow.splitlines() if not re.match(r" *\d* *(\||-->|=) |sha256:", line)]
    assert [line for line in prose if len(line) > width and len(line.split()) > 1] == []


@pytest.mark.exhaustive
def test_the_arrow_names_the_file_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "payload.js"
    file.write_text("1;\n  eval('1')")

    assert f"--> {file}:2:3" in check(str(file), width=80)
    assert "--> <code>:1:1" in check("-e", "eval('1')", width=80)
