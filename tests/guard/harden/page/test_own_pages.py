"""In a page of the browser's own, which may do more than a site's, a hardened program does not begin."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from browser import Browser
from chromium import executable
from programs import hardened, outcome

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

_PROGRAM = "location.protocol"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    assert path is not None
    with Browser(path) as browser:
        yield browser


def _visit(browser: Browser, url: str) -> str:
    """Go to ``url`` in a tab of its own, and return how the hardened program ends there."""
    browser.open()
    browser.go(url)
    until = time.monotonic() + 10
    while outcome(browser.run("location.href")) == '"https://page.test/"' and time.monotonic() < until:
        time.sleep(0.05)
    return outcome(browser.run(hardened(_PROGRAM, Shape.SCRIPT)))


@pytest.mark.parametrize(
    "url",
    ["chrome://version/", "chrome://omnibox-popup.top-chrome/", "devtools://devtools/bundled/inspector.html"],
)
def test_a_page_of_the_browser_runs_nothing(browser: Browser, url: str) -> None:
    assert "evalward denied" in _visit(browser, url)


@pytest.mark.parametrize(("url", "protocol"), [("about:blank", "about:"), ("data:text/html,x", "data:")])
def test_another_page_runs_it(browser: Browser, url: str, protocol: str) -> None:
    assert _visit(browser, url) == f'"{protocol}"'
