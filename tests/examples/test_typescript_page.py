"""The page for TypeScript and Playwright: its files compile in strict mode and run in Chromium as documented.

They need packages that the product does not: EVALWARD_TYPESCRIPT names a folder in which the ``npm install`` commands
of the page were run.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = os.environ.get("EVALWARD_TYPESCRIPT")
PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "guarded-eval-tool-typescript.md").read_text(
    "utf-8"
)
SERVER, TRY = re.findall(r"```ts\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[-1].splitlines()
CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(
    FOLDER is None or CHROMIUM is None,
    reason="EVALWARD_TYPESCRIPT names no folder with the page's packages, or chromium is not installed",
)
def test_the_files_compile_and_the_two_meaning_text_never_runs(tmp_path: Path) -> None:
    # A machine that does much else needs more patience than the page's reader.
    patient = SERVER.replace("allowEval: ['renderer'] }", "allowEval: ['renderer'], timeoutMs: 20000 }")
    assert patient != SERVER
    (tmp_path / "server.ts").write_text(patient, "utf-8")
    (tmp_path / "try.ts").write_text(TRY, "utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(Path(str(FOLDER)) / "node_modules")
    environment = {**os.environ, "HOME": str(tmp_path), "CHROMIUM": str(CHROMIUM)}

    shown = ""
    for command in COMMANDS:
        done = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        shown = done.stdout

    first, second = shown.splitlines()
    assert (first, second.startswith("true EVAL_BLOCKED_CONSTRUCT")) == ('false "Shop"', True)
    assert f"`{first}`" in PAGE
