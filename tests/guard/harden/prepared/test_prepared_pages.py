"""Pages that a driver has prepared, in a real browser, with a real server and the clients."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chromium import executable
from guarded_pages import PATCHED, URL, Sink, hardened, stopped
from playwright.async_api import async_playwright

from evalward.client import AsyncGuardClient, GuardClient, Prepared, guarded, prepare

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("document.title", "T"),
        ("(() => [...document.querySelectorAll('iframe')].length)()", 1),
        ("(async () => { await null; return location.protocol })()", "http:"),
        (
            "(() => { const e = document.createElement('p'); e.textContent = 'x'; return e.outerHTML })()",
            "<p>x</p>",
        ),
        ("document.getElementById('d').innerHTML = '<b>1</b>'", "<b>1</b>"),
        ("new Date(0).getTime() + JSON.parse('[2]')[0] + Math.max(1, 3)", 5),
    ],
)
def test_a_page_that_patches_its_realm_first_is_not_noticed(
    page: Page, client: GuardClient, prepared: Prepared, code: str, result: Any
) -> None:
    page.goto(PATCHED)
    tools = page.context.new_cdp_session(page)  # Playwright's own script does not survive such a page

    def run(text: str) -> Any:
        options = {"expression": text, "returnByValue": True, "awaitPromise": True}
        reply = tools.send("Runtime.evaluate", options)
        return reply["result"]["value"] if "exceptionDetails" not in reply else reply

    def evaluate(text: str) -> Any:
        texts.append(text)
        return run(text)

    texts: list[str] = []
    sink = guarded(evaluate, client, sink="cdp.runtime-evaluate", harden=True, prepared=prepared)

    assert sink(code) == result

    assert run("window.seen.join()") == run("''")
    assert len(texts[0]) < 4096


def test_two_programs_in_one_page_are_apart(page: Page, client: GuardClient, prepared: Prepared) -> None:
    page.goto(URL)
    sink = Sink(page, client, prepared)
    page.evaluate("window.made = { get it() { return (() => 1).constructor } }")

    assert sink("void (globalThis.kept = () => document.title)") is None
    assert sink("kept()") == "T"
    assert stopped(lambda: sink("made.it('return 1')()")) == "Function()"
    assert sink("kept() + 1") == "T1"


def test_new_documents_and_frames_are_prepared(page: Page, client: GuardClient, prepared: Prepared) -> None:
    assert Sink(page, client, prepared)("document.title") == ""  # the document that was open
    for _ in range(2):
        page.goto(URL)
        titles = [Sink(frame, client, prepared)("document.title") for frame in page.frames]
        assert titles == ["T", "inner"]
    page.evaluate("document.body.append(document.createElement('iframe'))")
    added = page.frames[-1]
    assert Sink(added, client, prepared)("document.title") == ""
    page.evaluate("document.querySelector('iframe:last-of-type').src = '/other'")
    added.wait_for_url("**/other")
    assert Sink(added, client, prepared)("document.title") == "T"


def test_a_document_without_preparation_denies_and_runs_nothing(
    browser: Browser, page: Page, client: GuardClient, prepared: Prepared
) -> None:
    page.goto(URL)
    other = browser.new_page()
    for fake in ("", "(w) => ({ a: w, r: () => ({ v: x => x, end: x => x }) })", "{}", "() => { throw 1 }"):
        other.goto("about:blank")
        if fake:
            name = "__evalward_" + prepared.key.split(".")[1]
            other.evaluate(f"void (globalThis[{name!r}] = {fake})")

        assert (
            stopped(lambda: Sink(other, client, prepared)("document.title = 'ran'")) == "prototype-tampering"
        )

        assert other.title() == ""
    other.close()


def test_a_denial_names_the_line_of_the_payload(page: Page, prepared: Prepared) -> None:
    page.goto("data:text/html,")
    code = "(() => {\n  const f = () => 1;\n  return f.constructor('x');\n})()"
    text = hardened(code, prepared)
    assert page.evaluate(f"(() => {{ try {{ return {text} }} catch (e) {{ return e.line }} }})()") == 3


def test_the_example_of_the_page_runs_as_printed(
    page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    text = (Path(__file__).parents[4] / "docs" / "how-to" / "run-hardened-programs.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = [each for each in blocks if "prepare(page" in each]
    exec(compile(block, "page", "exec"), {"page": page})


def test_a_page_of_the_asynchronous_api(guard: Any) -> None:
    async def run() -> str:
        async with AsyncGuardClient(guard.address, timeout=30) as client, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
            page = await browser.new_page()
            prepared = await prepare(page, client)
            await page.goto("data:text/html,<title>A</title>")

            async def evaluate(text: str) -> Any:
                assert len(text) < 4096
                return await page.evaluate(text)

            sink = guarded(evaluate, client, sink="playwright.evaluate", harden=True, prepared=prepared)
            title = await sink("document.title")
            await browser.close()
            return str(title)

    # In a thread of its own: the synchronous API has a loop in this one.
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lambda: asyncio.run(run())).result() == "A"
