"""A server with a client, and a page that is prepared, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from chromium import executable
from guarded_pages import answer
from playwright.sync_api import sync_playwright

from evalward.client import GuardClient, Prepared, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory, serving: Callable[..., Any]) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("guard"), verdict_cache=16) as started:
        yield started


@pytest.fixture(scope="module")
def client(guard: Any) -> Iterator[GuardClient]:
    with GuardClient(guard.address, timeout=30) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    made = browser.new_page()
    made.route("**/*", answer)
    yield made
    made.close()


@pytest.fixture
def prepared(page: Page, client: GuardClient) -> Prepared:
    return prepare(page, client)
