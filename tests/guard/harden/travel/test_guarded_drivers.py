"""A real server, the Python client and real browsers: programs run, a denial at run time is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from drivers import Drivers, missing
from playwright.sync_api import sync_playwright

from evalward.client import EvalDenied, GuardClient, SinkFailed, guarded
from evalward.guard.constructs import CONSTRUCTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]
# What the resolver takes for ordinary: the page has made the function that leads to the constructor.
PREPARED = "window.made = { get it() { return (() => 1).constructor } }"


@pytest.fixture
def guard(tmp_path: Path, serving: Callable[..., Any]) -> Iterator[Any]:
    with serving(tmp_path, ("renderer", "node")) as started:
        yield started


@pytest.fixture
def sinks() -> Iterator[dict[str, Callable[[str], Any]]]:
    """Return what runs driver code in Node with a page, and what evaluates a text in a page."""
    with Drivers() as drivers, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=drivers.chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content("<title>T</title><h1>Hello</h1>")
        page.evaluate(PREPARED)
        yield {"node": lambda body: drivers.run("playwright", body), "page": page.evaluate}
        browser.close()


# One test, since each starts two browsers.
def test_guarded_sinks_run_programs_in_real_pages(guard: Any, sinks: dict[str, Callable[[str], Any]]) -> None:
    with GuardClient(guard.address, timeout=10) as client:
        node = guarded(sinks["node"], client, target="node", shape="async_body", harden=True)
        page = guarded(sinks["page"], client, sink="playwright.evaluate", harden=True)

        assert node("return page.evaluate((a) => document.title + a, '!')") == "T!"
        assert node("const h = await page.$('h1'); return h.evaluate((e) => e.textContent)") == "Hello"
        assert page("document.title") == "T"
        assert page("() => [...document.querySelectorAll('h1')].map((h) => h.textContent)") == ["Hello"]
        assert page("async () => { await null; return location.protocol }") == "about:"

        with pytest.raises(SinkFailed):
            node("return page.evaluate(() => missing)")
        assert guard.records("run_time_denial") == []

        for sink, code in (
            (page, "made.it('return 1')()"),
            (node, "const run = () => window.made.it('return 1')(); return page.evaluate(run)"),
        ):
            with pytest.raises(EvalDenied) as caught:
                sink(code)
            envelope = caught.value.envelope
            assert envelope["code"] == "EVAL_DENIED_AT_RUN_TIME"
            assert envelope["details"]["construct"] == "Function()"
            assert envelope["next_actions"] == [*CONSTRUCTS["Function()"].use_instead]
            assert envelope["_meta"]["audited"] is True

        recorded = [
            (record["decision_id"], record["construct"]) for record in guard.records("run_time_denial")
        ]
        assert len({decision for decision, _ in recorded}) == 2
        assert {construct for _, construct in recorded} == {"Function()"}
