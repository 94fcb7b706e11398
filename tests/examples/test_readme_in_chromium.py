"""The README's dispatcher, as printed, with a real Playwright page and ambiguous texts."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from evalward.client import spawn

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = next(
    block
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    if "guarded(page.evaluate" in block
)
ESCAPES = (
    "{}/\"/-globalThis['ev'+'al']('document.title=1,7')//\"/1",
    "function f(){}/globalThis['ev'+'al']('document.title=1,7')/g",
    "/**/() => globalThis['ev'+'al']('document.title=1,7')",
    "() => globalThis['ev'+'al']('document.title=1,7')",
)

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.fixture
def page() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content("<title>Shop</title>")
        yield page
        browser.close()


def test_the_dispatcher_of_the_readme_runs_what_is_allowed_and_nothing_else(
    page: Any, tmp_path: Path
) -> None:
    written: dict[str, Any] = {}
    exec(compile(BLOCK, "README.md", "exec"), written)
    with spawn(allow_eval=["renderer"], audit_log=tmp_path / "audit.jsonl") as guard:
        written["guard"].close()
        written["guard"] = guard.client(timeout=30)  # in place of a service at a fixed address

        ran = [written["evaluate"](page, code) for code in ("document.title", "() => document.title")]
        twin = written["evaluate"](page, "{}/\"/-(document.body.id='ran')//\"/1")
        denied = [written["evaluate"](page, code)["code"] for code in ESCAPES]

    assert ran == ["Shop", "Shop"]
    assert twin != twin  # noqa: PLR0124 - a pattern is no number: it is a script to Playwright, not a quotient
    assert page.evaluate("document.body.id") == "ran"
    assert denied == ["EVAL_BLOCKED_CONSTRUCT"] * len(ESCAPES)
    assert page.title() == "Shop"
