"""What tests do in the page: type a payload, open a view."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
HOSTILE = [
    each["text"]
    for each in yaml.safe_load(ROOT.joinpath("tests/data/hostile_display.yaml").read_text("utf-8"))
]
PAYLOAD = 'const host = globalThis["pro" + "cess"];\nconst leave = host["ex" + "it"];\nleave(0);'
CONTROLS = r"/[\u202a-\u202e\u2066-\u2069\x1b]/.test(document.body.innerText)"
"""An expression of the page: whether a control or bidirectional character is on it."""

needs_chromium = pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")


def type_payload(page: Page, text: str) -> None:
    """Replace the payload as with the keyboard's paste, and wait for its verdict."""
    before = page.evaluate("document.documentElement.dataset.judged")
    page.locator(".payload .cm-content").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    page.wait_for_function("before => document.documentElement.dataset.judged !== before", arg=before)


def show(page: Page, view: str) -> None:
    page.get_by_role("tab", name=view.capitalize(), exact=True).click()
    if view == "log":
        page.wait_for_selector(".log .figures")
    elif view == "policy":
        page.get_by_role("button", name="A policy to begin with").click()
        page.wait_for_selector("[data-valid=true]")
    elif view == "hardened":
        page.wait_for_selector(".check")
    elif view == "run":
        page.get_by_role("button", name="Run in the oracle").click()
        page.wait_for_selector(".results table", timeout=120_000)
    elif view == "use":
        page.wait_for_selector(".block pre")
