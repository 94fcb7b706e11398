"""The policy in a real Chromium: completion, errors in place, its effect on a corpus; and the link to it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_steps import needs_chromium, show, type_payload
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page


pytestmark = needs_chromium


def test_a_policy_has_completion_errors_in_place_and_an_effect(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "fetch('/x')")
    page.get_by_label("Target").select_option("renderer")
    expect(page.locator(".verdict")).to_have_attribute("data-state", "allowed")
    show(page, "policy")
    policy = page.get_by_role("textbox", name="Policy")
    policy.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("constr")
    page.locator(".cm-tooltip-autocomplete li", has_text="constructs").click()
    page.keyboard.type("\n  network: ")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li", has_text="block").first.click()

    expect(page.locator(".verdict")).to_contain_text("network")
    page.get_by_role("button", name="Effect on 3 cases").click()
    expect(page.locator(".effect")).to_contain_text("1 of 3 cases change")
    page.get_by_role("button", name="page/send").click()
    expect(page.locator(".payload .cm-content")).to_contain_text("fetch('/x')")
    policy.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nprofil: strict")
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    expect(page.locator(".verdict")).to_have_attribute("data-state", "unknown")


def test_a_link_holds_the_state_in_its_fragment(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "document.title + 'é\u202e'")
    page.get_by_label("Target").select_option("renderer")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#head [role=status]")).to_have_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")

    again = visit(fragment=link.partition("/a-token/")[2])

    assert again.evaluate("location.search") == ""
    expect(again.get_by_label("Target")).to_have_value("renderer")
    expect(again.locator(".payload .cm-content")).to_contain_text("document.title + 'é\\u{202e}'")
    assert visit(fragment="#%%%not-a-state").locator(".verdict").is_visible()
