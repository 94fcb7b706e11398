"""Rewrite the console sessions of pages so that they show what the commands print today.

``python .ci/console_blocks.py [PAGE ...]``; default: the pages that ``tests/test_readme.py`` checks. A session
without a line ``…`` gets the whole output. Otherwise it keeps its lines, and a line that the command no longer prints
becomes the most similar one that it prints. A session whose command lacks something, such as a package from npm, stays.
"""

from __future__ import annotations

import re
import shlex
import sys
from difflib import get_close_matches
from pathlib import Path

from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/how-to/call-from-a-dispatcher.md", "docs/how-to/run-hardened-programs.md")
SESSION = re.compile(r"^\$ evalward (.*)\n((?:(?!\$ |```).*\n)+)", re.MULTILINE)
CUT = "…"


def renewed(session: re.Match[str]) -> str:
    """Return a session with today's output."""
    done = CliRunner().invoke(app, shlex.split(session[1]))
    if done.exit_code == INFRASTRUCTURE_FAILURE:
        sys.stderr.write(f"kept: {session[1]}: {done.stderr}")
        return session[0]
    printed = done.stdout.splitlines()
    shown = session[2].splitlines()
    if CUT in shown:
        printed = [
            line if line in {CUT, *printed} else get_close_matches(line, printed, n=1, cutoff=0)[0]
            for line in shown
        ]
    return "\n".join([f"$ evalward {session[1]}", *printed, ""])


if __name__ == "__main__":
    for page in [ROOT / name for name in sys.argv[1:] or PAGES]:
        page.write_text(SESSION.sub(renewed, page.read_text("utf-8")), "utf-8")
