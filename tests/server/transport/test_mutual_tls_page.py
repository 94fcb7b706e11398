"""The page about mutual TLS: its commands and its client run as printed, against a real server."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "mutual-tls.md").read_text("utf-8")
MAKE, SERVE, HEALTH = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
(CLIENT,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PRINTED = "guard.internal:7443"


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_page_works_as_printed(tmp_path: Path, serve: Callable[..., Any]) -> None:
    subprocess.run(
        ["bash", "-euc", MAKE], cwd=tmp_path, check=True, capture_output=True, timeout=60, umask=0o022
    )
    files = {path.name: str(path) for path in tmp_path.iterdir()}
    _, _, *flags = shlex.split(SERVE)
    place = flags.index("--listen") + 1
    running = serve(*[files.get(each, each) for each in [*flags[:place], "127.0.0.1:0", *flags[place + 1 :]]])
    address = running.listen[0]
    tool, *probe = shlex.split(HEALTH)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    # The name stands for an address that no name server of a test has.
    shown = run(
        tool, *(address if each == PRINTED else each for each in probe), "--server-name", "guard.internal"
    )
    assert (shown.returncode, shown.stdout) == (0, f"{address} is serving\n"), shown.stderr
    client = run(sys.executable, "-c", CLIENT.replace(PRINTED, address))
    assert client.returncode == 0, client.stderr
    bare = re.sub(r"\n    (certificate|key)=.*", "", CLIENT).replace(PRINTED, address)
    assert "AssertionError" in run(sys.executable, "-c", bare).stderr
