"""One page of a headless Chromium, driven over the Chrome DevTools Protocol."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import Any

from evalward.oracle.cdp import Connection

PAGE = "data:text/html,<title>Evalward example</title><h1>A page</h1>"
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


class Page:
    """A page; used by one thread at a time. Raises FileNotFoundError without a browser."""

    def __init__(self) -> None:
        executable = next((path for name in NAMES if (path := shutil.which(name))), None)
        if executable is None:
            raise FileNotFoundError("no Chromium is installed")
        self._profile = tempfile.TemporaryDirectory(prefix="evalward-example-", ignore_cleanup_errors=True)
        command = [executable, *FLAGS, f"--user-data-dir={self._profile.name}"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium's own sandbox does not start as root
        self._browser = Connection(command, lambda _: None)
        target = self._browser.call("Target.createTarget", {"url": PAGE}, timeout=60)["targetId"]
        attach = {"targetId": target, "flatten": True}
        self._session = self._browser.call("Target.attachToTarget", attach)["sessionId"]

    def evaluate(self, program: str) -> str:
        """Return the value of ``program`` in the page, as JSON text, or its exception."""
        params = {"expression": program, "awaitPromise": True, "returnByValue": True}
        answer: dict[str, Any] = self._browser.call("Runtime.evaluate", params, self._session)
        if failure := answer.get("exceptionDetails"):
            return f"threw {failure.get('exception', {}).get('description', failure['text'])}"
        return json.dumps(answer["result"].get("value"))

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._profile.cleanup()
