"""FastMCP 3 and mcp 1: no extension of Evalward, but ``guarded()`` at the sink as in the documentation.

They cannot be installed together with their successors, so CI installs them into a separate folder:
``pip install --target FOLDER -r tests/mcp_extensions/older.txt``, and EVALWARD_OLDER_MCP=FOLDER.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = os.environ.get("EVALWARD_OLDER_MCP")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "guarded-eval-tool-python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.split("## With FastMCP 3 or mcp 1")[1], re.DOTALL)
FASTMCP, SDK, CLIENT = BLOCKS
(TRY,) = (
    block
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    if "from fastmcp import Client" in block
)
(SHOWN,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
VERSIONS = "from importlib.metadata import version; print(version('fastmcp'), version('mcp'))"

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="EVALWARD_OLDER_MCP names no folder with fastmcp 3 and mcp 1"
)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs Python in a separate folder, with the older packages."""
    found = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    # The variables that an MCP client passes to a server: neither PYTHONPATH nor the path of the audit log.
    environment = {**os.environ, "PYTHONPATH": found, "HOME": str(tmp_path)}

    def running(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return running


def written(folder: Path, name: str, text: str) -> None:
    """Write a file as printed, with longer timeouts for a busy machine, and the older packages."""
    patient = text.replace("timeout=5", "timeout=60")
    path = f"import sys\nsys.path.insert(0, {FOLDER!r})\n" if name == "server.py" else ""
    (folder / name).write_text(path + patient, encoding="utf-8")


def test_these_are_the_older_versions(run: Callable[..., str]) -> None:
    assert [each.partition(".")[0] for each in run("-c", VERSIONS).split()] == ["3", "1"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", [FASTMCP, SDK], ids=["FastMCP 3", "mcp 1"])
def test_the_server_of_the_page_starts_and_answers_as_printed(
    block: str, run: Callable[..., str], tmp_path: Path
) -> None:
    written(tmp_path, "server.py", block)
    written(tmp_path, "try.py", CLIENT)

    first, second = run("try.py").splitlines()

    assert (first, second.startswith("True EVAL_BLOCKED_CONSTRUCT")) == ("False ran", True)
    assert f"`{first}`" in PAGE


@pytest.mark.exhaustive
def test_the_client_of_step_5_speaks_to_fastmcp_3(run: Callable[..., str], tmp_path: Path) -> None:
    written(tmp_path, "server.py", FASTMCP)
    written(tmp_path, "try.py", TRY.replace("title.data", "title.content[0].text"))

    assert run("try.py") == SHOWN
