"""``evalward check --watch``: a round for each change, and the exit code of the last one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import run

if TYPE_CHECKING:
    from pathlib import Path

# A shell's background jobs ignore SIGINT, and so would the command.
ANSWERS_INTERRUPTS = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("evalward", run_name="__main__")
"""
WAITING = "waiting for a change; Ctrl-C ends\n"


def test_each_change_is_judged(tmp_path: Path) -> None:
    file = tmp_path / "a.js"
    file.write_text("1 + 1")
    with subprocess.Popen(
        [sys.executable, "-c", ANSWERS_INTERRUPTS, "check", str(tmp_path), "--watch", "--format", "text"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert watching.stdout.readline() == "1 payload: all allowed\n"
        assert watching.stderr.readline() == WAITING
        replaced = tmp_path / "b.tmp"
        replaced.write_text("process.exit()")
        replaced.rename(file)
        lines = iter(watching.stdout.readline, "")
        assert next(line for line in lines if line.startswith("1 payload")).startswith(
            "1 payload: 0 allowed, 1 blocked"
        )
        assert watching.stderr.readline() == WAITING
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=30) == 1


@pytest.mark.parametrize("arguments", [["-e", "1"], ["-"], ["a.js", "--format", "sarif"]], ids=" ".join)
def test_only_files_are_watched(arguments: list[str]) -> None:
    assert run("check", "--watch", *arguments).returncode == 2
