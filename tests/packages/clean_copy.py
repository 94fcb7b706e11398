"""A copy of the repository without what a build or an installation left, and commands that run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def clean_copy(folder: Path) -> Path:
    """Copy the files that git tracks or will track to ``folder``, which must not exist; return it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def environment(*first: Path) -> dict[str, str]:
    """Return this process's variables, with the folders ``first`` in PATH, and without what leads to the checkout."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EVALWARD"))
    }
    path = os.pathsep.join([*map(str, first), os.environ["PATH"]])
    return {**inherited, "PATH": path}


def shell(script: str, folder: Path, variables: dict[str, str]) -> str:
    """Run ``script`` as a reader would paste it; return its output, and fail the test with it if a command fails."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}"
    return done.stdout


DEVELOPMENT = Path(sys.executable).parent
"""Where the programs of the development environment are."""
