"""The browser of this machine, and which release it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable() -> str | None:
    """Return the path of the browser, or None where there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def version(path: str) -> int:
    """Return the browser's major version."""
    shown = subprocess.run([path, "--version"], capture_output=True, check=True, text=True, timeout=30).stdout
    found = re.search(r"(\d+)\.", shown)
    assert found is not None, shown
    return int(found[1])
