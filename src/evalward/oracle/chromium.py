"""The Chromium oracle: each payload in a fresh document of a real browser whose sinks are traps."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Final, Self

from evalward.oracle.cdp import BrowserGoneError, CommandError, Connection, Message
from evalward.oracle.hits import Engine, EngineRun, Hit, read_ending
from evalward.oracle.traps import ORDINARY, Data, source, trap_config, traps_script
from evalward.sandbox.shape import CALLED_SHAPES, program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Shape, Target

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PAGE: Final = "https://oracle.test/"
_BINDING: Final = "__evalwardEmit"
_GRACE_SECONDS: Final = 2.0
_QUIET_MS: Final = 25
"""The time for handlers and timers of the page after the payload."""

_FLAGS: Final = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
    "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage", "--mute-audio", "--block-new-web-contents",
    "--js-flags=--max-old-space-size=256",
    # No name resolves: every request is answered here, and nothing leaves the machine.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip

# The real page replaces these traps: its timers, its document and its workers exist.
_REAL_IN_A_PAGE: Final = frozenset({"Worker", "SharedWorker", "importScripts"})


class ChromiumOracle:
    """One browser and one page; a page that hangs is replaced. For one thread at a time."""

    engine = Engine.CHROMIUM

    def __init__(self, *, deadline: float = 1.0) -> None:
        self._deadline = deadline
        self._browser: Connection | None = None
        self._profile: tempfile.TemporaryDirectory[str] | None = None
        self._session = ""
        self._target = ""
        self._hits: list[Hit] = []
        self._armed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def missing() -> str | None:
        """Return why this engine cannot be used here, or None."""
        return None if _executable() else "chromium is not installed"

    def run(
        self,
        code: str,
        target: Target,
        shape: Shape,
        *,
        bindings: Mapping[str, str] | None = None,
        data: Data = ORDINARY,
    ) -> EngineRun:
        """Run ``code`` in ``shape`` and return what it reached; a module is run as a script."""
        self._hits, self._armed = [], False
        config = trap_config(target, bindings=bindings, data=data)
        recorders = [pair for pair in config["recorders"] if pair[0] not in _REAL_IN_A_PAGE]
        config |= {
            "platform": False,
            "page": True,
            "stubs": [],
            "globalNames": [],
            "recorders": recorders,
            "absent": [
                name for name in config["absent"] if name in {"process", *(name for name, _ in recorders)}
            ],
        }
        record = ""
        try:
            ending, note, record = self._run(program(code, shape), shape, config)
        except TimeoutError:
            ending, note = "deadline", "the page was closed"
            self._close_page()
        except CommandError as error:
            # A payload that navigates, closes or crashes the page takes the harness with it.
            ending, note = "left", str(error)[:100]
            self._close_page()
        except BrowserGoneError:
            ending, note = "crashed", "the browser died"
            self.close()
        return EngineRun(self.engine, shape, ending, tuple(self._hits), note, record)

    def close(self) -> None:
        """End the browser and remove its profile."""
        browser, self._browser = self._browser, None
        self._session = ""
        if browser is not None:
            browser.close()
        if self._profile is not None:
            self._profile.cleanup()
            self._profile = None

    def _run(self, text: str, shape: Shape, config: dict[str, Any]) -> tuple[str, str, str]:
        page = self._page()
        page("Page.navigate", {"url": _PAGE})
        self._wait_for_load()
        harness = page("Runtime.evaluate", {"expression": _install(config)})["result"]["objectId"]
        self._armed = True
        milliseconds = self._deadline * 1000
        try:
            answer = page("Runtime.evaluate", {"expression": text, "timeout": milliseconds})
        except CommandError as error:
            raise TimeoutError from error  # the only error of a plain evaluation
        if failure := answer.get("exceptionDetails"):
            return self._thrown(harness, failure)
        settle = "function (value, calls) { this.settle(value, calls); }"
        arguments = [_argument(answer["result"]), {"value": shape in CALLED_SHAPES}]
        self._on_harness(harness, settle, arguments)
        return self._finish(harness)

    def _thrown(self, harness: str, failure: Message) -> tuple[str, str, str]:
        thrown = failure.get("exception", {})
        if failure.get("text") == "Uncaught" and thrown.get("className") == "SyntaxError" and not self._hits:
            return "syntax-error", str(thrown.get("description", "")).splitlines()[0][:100], ""
        if thrown:
            self._on_harness(harness, "function (error) { this.fail(error); }", [_argument(thrown)])
        ending = self._finish(harness)
        return ending if thrown else ("deadline", "", "")

    def _finish(self, harness: str) -> tuple[str, str, str]:
        wait = f"function () {{ return this.quiet({_QUIET_MS}); }}"
        self._on_harness(harness, wait, [], promise=True)
        result = self._on_harness(harness, "function () { return this.finish(); }", [])
        return read_ending(str(result["result"].get("value", "")))

    def _on_harness(
        self, harness: str, function: str, arguments: list[Message], *, promise: bool = False
    ) -> Message:
        params = {
            "objectId": harness, "functionDeclaration": function, "arguments": arguments,
            "returnByValue": promise or not arguments, "awaitPromise": promise,
        }  # fmt: skip
        return self._page()("Runtime.callFunctionOn", params)

    def _page(self) -> _Page:
        browser = self._browser or self._start()
        if not self._session:
            self._target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
            attach = {"targetId": self._target, "flatten": True}
            self._session = browser.call("Target.attachToTarget", attach)["sessionId"]
            page = _Page(browser, self._session, self._deadline + _GRACE_SECONDS)
            page("Page.enable")
            page("Runtime.enable")
            page("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
            page("Runtime.addBinding", {"name": _BINDING})
            page("Page.addScriptToEvaluateOnNewDocument", {"source": _frame_script()})
        return _Page(browser, self._session, self._deadline + _GRACE_SECONDS)

    def _start(self) -> Connection:
        self._profile = tempfile.TemporaryDirectory(prefix="evalward-oracle-", ignore_cleanup_errors=True)
        self._browser = Connection(chromium_command(self._profile.name), self._on_event)
        return self._browser

    def _close_page(self) -> None:
        if self._browser is not None and self._session:
            self._browser.send("Target.closeTarget", {"targetId": self._target})
        self._session = ""

    def _wait_for_load(self) -> None:
        """Wait until the page's document is loaded, as its readyState reports."""
        ready = (
            "new Promise((done) => document.readyState === 'complete' ? done() "
            ": addEventListener('load', done))"
        )
        self._page()("Runtime.evaluate", {"expression": ready, "awaitPromise": True})

    def _on_event(self, message: Message) -> None:
        browser, params, session = self._browser, message["params"], message.get("sessionId")
        if browser is None or session != self._session:
            return
        match message["method"]:
            case "Runtime.bindingCalled":
                self._hits.append(Hit.from_line(params["payload"]))
            case "Fetch.requestPaused":
                if self._armed and params["resourceType"] == "Script":
                    self._hits.append(Hit("import", "call", params["request"]["url"][:100]))
                browser.send("Fetch.fulfillRequest", _response(params), session)
            case "Page.javascriptDialogOpening":
                browser.send("Page.handleJavaScriptDialog", {"accept": True}, session)


class _Page:
    """Commands to one page."""

    def __init__(self, browser: Connection, session: str, timeout: float) -> None:
        self._browser = browser
        self._session = session
        self._timeout = timeout

    def __call__(self, method: str, params: Message | None = None) -> Message:
        return self._browser.call(method, params, self._session, timeout=self._timeout)


def chromium_command(profile: str) -> list[str]:
    """Return the command that starts a browser with its data in ``profile`` and DevTools on descriptors 3 and 4.

    Raises FileNotFoundError when Chromium is not installed.
    """
    executable = _executable()
    if executable is None:
        raise FileNotFoundError("chromium is not installed")
    command = [executable, *_FLAGS, f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium's own sandbox does not start as root
    return command


def _executable() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def _install(config: dict[str, Any]) -> str:
    script = traps_script(page=True)
    return (
        f"(() => {{ const emit = globalThis.{_BINDING}; delete globalThis.{_BINDING};"
        " const wait = globalThis.setTimeout;"
        f" const harness = ({script})((line) => emit(line), {json.dumps(config)});"
        " harness.quiet = (ms) => new Promise((done) => { let left = 10; const look = () =>"
        " (harness.pending() && left-- > 0 ? wait(look, ms) : done()); wait(look, ms); }); return harness; })()"
    )


def _frame_script() -> str:
    """Return the first script of a frame: it traps the realm's function constructors and sinks."""
    return (
        f"if (window !== top && globalThis.{_BINDING}) {{ const emit = globalThis.{_BINDING};"
        f" delete globalThis.{_BINDING}; const G = globalThis;"
        " const config = { members: {} };"
        f" {source('log.js')} {source('intrinsics.js')} {source('document.js')}"
        " trapFunctionConstructors(); trapSinks(); }"
    )


def _argument(remote: Message) -> Message:
    """Return a remote object as an argument of a call."""
    if "objectId" in remote:
        return {"objectId": remote["objectId"]}
    if "unserializableValue" in remote:
        return {"unserializableValue": remote["unserializableValue"]}
    return {"value": remote["value"]} if "value" in remote else {}


def _response(paused: Message) -> Message:
    is_page = paused["resourceType"] == "Document" and paused["request"]["url"] == _PAGE
    body = source("page.html") if is_page else "{}"
    headers = [{"name": "Content-Type", "value": "text/html" if is_page else "application/json"}]
    if is_page:
        headers.append({"name": "Content-Security-Policy", "value": "require-trusted-types-for 'script'"})
    return {
        "requestId": paused["requestId"],
        "responseCode": 200,
        "responseHeaders": headers,
        "body": base64.b64encode(body.encode()).decode(),
    }
