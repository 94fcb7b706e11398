"""A page of a real browser: every request is answered here, and each program gets a fresh document.

Documents follow one another in one tab, since a tab costs more than twice as much processor time as a document.
"""

from __future__ import annotations

import base64
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from evalward.oracle.cdp import CommandError, Connection, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

_URL: Final = "https://page.test/"
_HTML: Final = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
_FLAGS: Final = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--mute-audio", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


class Browser:
    """One browser with one tab at a time; for one thread."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="evalward-page-", ignore_cleanup_errors=True)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [path, *_FLAGS, *sandbox, f"--user-data-dir={self._profile.name}"]
        self._connection = Connection(command, self._on_event)
        self._session = self._target = ""
        self._is_worn = True
        self._loaded: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._profile.cleanup()

    def open(self) -> None:
        """Load the page as a new document, in a new tab if the last one does not answer, and wait until it has loaded.

        Raises TimeoutError when it does not load there either.
        """
        if not self._is_worn:
            with suppress(CommandError, TimeoutError):
                self._call("Page.bringToFront")  # the last program may have opened a tab before this one
                self._load()
                # What else a document leaves to the next one: the name of the tab, and the storage of its session.
                self._call("Runtime.evaluate", {"expression": "name = ''; sessionStorage.clear()"})
                return
        self._open_tab()
        self._load()

    def _open_tab(self) -> None:
        call = self._connection.call
        if self._target:
            self._connection.send("Target.closeTarget", {"targetId": self._target})
        self._target = call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attach = {"targetId": self._target, "flatten": True}
        self._session = call("Target.attachToTarget", attach)["sessionId"]
        for domain in ("Page", "Runtime"):
            self._call(f"{domain}.enable")
        self._call("Page.setLifecycleEventsEnabled", {"enabled": True})
        self._call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        self._is_worn = False

    def _load(self) -> None:
        """Load the page and wait for this load, not for one that the last program began."""
        self._loaded.clear()
        loader = self._call("Page.navigate", {"url": _URL})["loaderId"]
        until = time.monotonic() + 10
        while loader not in self._loaded:
            message = self._connection.receive(until)
            if "method" in message:
                self._on_event(message)

    def go(self, url: str) -> None:
        """Begin to load ``url``. The next document gets a tab of its own."""
        self._is_worn = True
        self._call("Page.navigate", {"url": url})

    def run(self, text: str, *, seconds: float = 4.0) -> Message:
        """Evaluate ``text`` and return what CDP says; a promise is awaited."""
        params = {
            "expression": text, "returnByValue": True, "awaitPromise": True, "userGesture": True,
            "timeout": seconds * 1000,
        }  # fmt: skip
        try:
            return self._call("Runtime.evaluate", params, seconds=seconds + 2)
        except (CommandError, TimeoutError) as error:
            self._is_worn = True
            return {"gone": str(error)}

    def wait(self, milliseconds: int) -> None:
        """Let the page's timers and loads run."""
        self.run(f"new Promise((done) => setTimeout(done, {milliseconds}))")

    def _call(
        self, method: str, params: Mapping[str, object] | None = None, *, seconds: float = 10.0
    ) -> Message:
        return self._connection.call(method, dict(params or {}), self._session, timeout=seconds)

    def _on_event(self, message: Message) -> None:
        if message.get("sessionId") != self._session:
            return
        match message["method"]:
            case "Page.lifecycleEvent" if message["params"]["name"] == "load":
                self._loaded.add(message["params"]["loaderId"])
            case "Fetch.requestPaused":
                self._connection.send("Fetch.fulfillRequest", _response(message["params"]), self._session)
            case "Page.javascriptDialogOpening":
                self._connection.send("Page.handleJavaScriptDialog", {"accept": True}, self._session)


def _response(paused: Message) -> Message:
    document = paused["resourceType"] == "Document"
    body = _HTML if document and paused["request"]["url"] == _URL else '{"orders": [1, 2, 3]}'
    kind = "text/html" if document else "application/json"
    return {
        "requestId": paused["requestId"],
        "responseCode": 200,
        "responseHeaders": [{"name": "Content-Type", "value": kind}],
        "body": base64.b64encode(body.encode()).decode(),
    }
