"""Every view in a real Chromium at two widths and in two themes: axe-core, the width, the keyboard.

With EVALWARD_SCREENSHOTS set to a folder, the pictures of the documentation are written there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from page_steps import ROOT, needs_chromium, show
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

AXE = ROOT / "playground" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (390, 1440)
THEMES = ("light", "dark")
VIEWS = ("findings", "policy", "hardened", "run", "use", "log")
PICTURES = {(1440, "light", "findings"), (390, "dark", "findings"), (1440, "dark", "log")}

needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not installed: npm ci --prefix playground"
)


pytestmark = needs_chromium


@needs_axe
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_is_accessible_and_fits_its_width(
    width: int, theme: str, visit: Callable[..., Page]
) -> None:
    page = visit(width, theme)
    page.evaluate(AXE.read_text("utf-8"))
    for view in VIEWS:
        show(page, view)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [
            (each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found["violations"]
        ] == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        pictures = os.environ.get("EVALWARD_SCREENSHOTS")
        if pictures and (width, theme, view) in PICTURES:
            page.mouse.move(0, 0)
            page.screenshot(path=f"{pictures}/playground-{view}-{width}-{theme}.png")


def test_the_keyboard_reaches_everything(visit: Callable[..., Page]) -> None:
    page = visit()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(e => e.getAttribute('aria-label') ?? e.labels?.[0]?.innerText ?? e.innerText.split('\\n')[0])"
                "(document.activeElement)"
            )
        )
    for name in ("Skip to the content", "Judge", "Copy link", "Sink", "Target", "Payload", "Findings"):
        assert name in reached
    page.get_by_role("tab", name="Findings").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Policy")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Policy")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Use")).to_be_focused()
