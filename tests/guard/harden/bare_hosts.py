"""Hosts without traps for the red list: a process of Node, and a page of Chromium that runs what it is given."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evalward.guard.target import Shape
from evalward.oracle.cdp import CommandError, Connection
from evalward.oracle.chromium import chromium_command

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE_URL = "https://red.test/"
PAGE = """<!doctype html><title>app</title><body><button id=b onclick="void 0">b</button>
<script id=tpl type="text/template">window.__TPL=1</script><table id=t></table><div id=d></div></body>"""
_PHOTOGRAPH = """[Object, Array, Function, Promise, Map, Node, Element, HTMLElement, Document].map((type) =>
  Reflect.ownKeys(type.prototype).map(String).join()).join()"""
_STATE = f"""JSON.stringify({{pwn: window.__PWN, template: window.__TPL, changed: window.__before !== undefined
  && window.__before !== {_PHOTOGRAPH}}})"""


@dataclass(frozen=True)
class BareRun:
    """How a run in a bare host ended, and the evidence that something was reached, if there is any."""

    ending: str
    note: str
    reached: str


class BareNode:
    """A fresh process of Node for each run; ``cjs`` evaluates directly, within a CommonJS function."""

    def __init__(self, *, cjs: bool = False) -> None:
        self._cjs = cjs
        self._directory = tempfile.TemporaryDirectory(prefix="evalward-red-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def run(self, texts: Sequence[str], shape: Shape, before: str = "") -> BareRun:
        """Run ``texts`` one after another in one realm, where the host has run ``before``."""
        node = shutil.which("node")
        assert node is not None
        if shape in {Shape.EXPRESSION, Shape.FUNCTION}:
            texts = [f"({text}\n)" for text in texts]
        request = {"texts": list(texts), "shape": shape, "cjs": self._cjs, "before": before}
        try:
            done = subprocess.run(
                [node, "--no-warnings", str(Path(__file__).parent / "bare_node.js")],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                check=False,
                cwd=self._directory.name,
                env={},
                timeout=20,
            )
        except subprocess.TimeoutExpired:
            return BareRun("deadline", "", "")
        return _read_node(done)


def _read_node(done: subprocess.CompletedProcess[str]) -> BareRun:
    if done.returncode == 42:
        return BareRun("exited", "", "the process's exit code is the payload's")
    if "REACHED" in done.stdout + done.stderr:
        return BareRun("completed", "", "the payload wrote to the host's output")
    line = done.stdout.strip().rpartition("\n")[2]
    if not line.startswith("{"):
        return BareRun(
            "crashed", done.stderr[-300:], f"the host ended with {done.returncode} before its report"
        )
    report: dict[str, Any] = json.loads(line)
    changed = ", ".join(report["changed"][:5])
    return BareRun(report["ending"], report["note"], f"changed {changed}" if changed else "")


class BarePage:
    """One browser, a fresh page for each run, no content security policy and no trap."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="evalward-red-", ignore_cleanup_errors=True)
        self._browser = Connection(chromium_command(self._profile.name), self._on_event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._profile.cleanup()

    def run(self, texts: Sequence[str], shape: Shape, before: str = "") -> BareRun:
        """Run ``texts`` in one document, where the page has run ``before``, then look for what they left."""
        target = self._browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        try:
            return self._run(target, texts, shape, before)
        finally:
            self._browser.send("Target.closeTarget", {"targetId": target})

    def _run(self, target: str, texts: Sequence[str], shape: Shape, before: str) -> BareRun:
        attach = {"targetId": target, "flatten": True}
        session = self._browser.call("Target.attachToTarget", attach)["sessionId"]

        def call(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
            return self._browser.call(method, params, session, timeout=10)

        call("Page.enable")
        call("Runtime.enable")
        call("Fetch.enable", {"patterns": [{"urlPattern": "http*"}]})
        call("Page.navigate", {"url": PAGE_URL})
        ready = "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        call("Runtime.evaluate", {"expression": ready, "awaitPromise": True})
        call("Runtime.evaluate", {"expression": before})
        keep = f"Object.defineProperty(window, '__before', {{value: {_PHOTOGRAPH}}}); 0"
        call("Runtime.evaluate", {"expression": keep})
        note = ""
        for text in texts:
            note = self._evaluate(call, text, shape) or note
        return _settled(call, note)

    @staticmethod
    def _evaluate(call: Any, text: str, shape: Shape) -> str:
        framed = {
            Shape.ASYNC_BODY: f"(async () => {{\n{text}\n}})()",
            Shape.FUNCTION: f"({text}\n)({{}})",
            Shape.EXPRESSION: f"({text}\n)",
        }.get(shape, text)
        try:
            answer = call(
                "Runtime.evaluate",
                {
                    "expression": framed,
                    "timeout": 3000,
                    "userGesture": True,
                    "awaitPromise": shape is Shape.ASYNC_BODY,
                },
            )
        except (CommandError, TimeoutError) as error:
            return f"left {error}"
        thrown = answer.get("exceptionDetails", {}).get("exception", {})
        return str(thrown.get("description", "")).split("\n")[0]

    def _on_event(self, message: dict[str, Any]) -> None:
        session = message.get("sessionId")
        if message["method"] == "Page.javascriptDialogOpening":
            self._browser.send("Page.handleJavaScriptDialog", {"accept": True}, session)
        if message["method"] != "Fetch.requestPaused":
            return
        paused = message["params"]
        is_page = paused["resourceType"] == "Document"
        reply = {
            "requestId": paused["requestId"],
            "responseCode": 200,
            "responseHeaders": [
                {"name": "Content-Type", "value": "text/html" if is_page else "application/json"}
            ],
            "body": base64.b64encode((PAGE if is_page else "{}").encode()).decode(),
        }
        self._browser.send("Fetch.fulfillRequest", reply, session)


def _settled(call: Any, note: str) -> BareRun:
    """Look a few times: loads, frames and timers of the page take their time."""
    state: dict[str, Any] = {}
    for _ in range(4):
        pause = "new Promise((done) => setTimeout(done, 60))"
        try:
            call("Runtime.evaluate", {"expression": pause, "awaitPromise": True})
            state = json.loads(call("Runtime.evaluate", {"expression": _STATE})["result"].get("value", "{}"))
        except (CommandError, TimeoutError):
            continue  # the page is between two documents
        if state.get("pwn") or state.get("template"):
            break
    found = "the text ran" if state.get("pwn") or state.get("template") else ""
    if state.get("changed"):
        found = found or "a prototype changed"
    return BareRun("threw" if note else "completed", note, found)
