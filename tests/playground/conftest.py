"""A browser, and the page of a playground that is served to a module of tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page
    from served import Served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    pytest.importorskip("uvicorn", reason="evalward[ui] is not installed")
    from served import audit_log, playground_of, served  # noqa: PLC0415 - needs the extra

    log = audit_log(tmp_path_factory.mktemp("log") / "audit.jsonl")
    with served(playground_of(log)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only the tests of the page need it

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def visit(site: Served, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page; a message of the console, an error or a request to another origin fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(width: int = 1440, theme: str = "light", fragment: str = "") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((site.url, "blob:")) else complaints.append(request.url)
            ),
        )
        page.goto(f"{site.url}{fragment}")
        page.wait_for_selector(".verdict[data-state]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
