"""Runs a payload in a page of a real browser and returns its outcome, to compare an intent before and after a repair.

The page has stand-ins for what a driver and Electron offer. Timers fire at once.
"""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any, Final, Self

from evalward.oracle.cdp import Connection
from evalward.oracle.chromium import chromium_command
from evalward.sandbox.shape import CALLED_SHAPES, program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Shape

_WORLD: Final = """
const driven = (code, ...given) => {
  const made = typeof code === 'string' ? (0, eval)(code) : code;
  return typeof made === 'function' ? made(...given) : made;
};
globalThis.page = {
  evaluate: async (code, arg) => driven(code, arg),
  evaluateHandle: async (code, arg) => { page.handle = driven(code, arg); },
  addInitScript: async (code, arg) => driven(code.content ?? code, arg),
  waitForFunction: async (code, arg) => { page.waited = driven(code, arg); },
  $eval: async (selector, code) => driven(code, document.querySelector(selector)),
  $$eval: async (selector, code) => driven(code, [...document.querySelectorAll(selector)]),
  setContent: async (markup) => {
    document.open();
    document.write(markup);
    const loaded = new Promise((done) => addEventListener('load', done));
    document.close();
    if (document.readyState !== 'complete') await loaded;
  },
};
globalThis.context = page;
globalThis.setTimeout = globalThis.setInterval = (code) => { driven(code); };
"""


class IntentPage:
    """One browser; each payload runs in a fresh page."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="evalward-intent-", ignore_cleanup_errors=True)
        self._browser = Connection(chromium_command(self._profile.name), lambda _: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._profile.cleanup()

    def run(self, task: Mapping[str, Any], code: str, shape: Shape) -> Any:
        """Return what ``task`` looks at after ``code`` has run, as JSON data; raise AssertionError if it throws."""
        target = self._browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        call = f"({task.get('args', '[]')})" if shape in CALLED_SHAPES else "[]"
        # The text runs as a script, as a page's sink runs it: its names are global.
        run = f"(0, eval)({json.dumps(program(code, shape))})"
        called = f"await ({run})(...{call})" if shape in CALLED_SHAPES else f"await {run}"
        whole = (
            f"(async () => {{ {_WORLD}; {task.get('world', '')}; const result = {called};"
            f" return JSON.stringify(await ({task.get('look', 'result')})) ?? 'null'; }})()"
        )
        try:
            answer = self._browser.call(
                "Runtime.evaluate",
                {"expression": whole, "awaitPromise": True, "returnByValue": True},
                attached["sessionId"],
            )
        finally:
            self._browser.call("Target.closeTarget", {"targetId": target})
        failure = answer.get("exceptionDetails")
        assert failure is None, failure["exception"].get("description", failure)
        return json.loads(answer["result"]["value"])
