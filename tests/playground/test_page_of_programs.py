"""Programs in a real Chromium: the hardened one with its map, runs, and the same question elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_steps import needs_chromium, show, type_payload
from playwright.sync_api import expect

from evalward.corpus.corpus_case import load_cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page


pytestmark = needs_chromium


def test_programs_run_in_the_sandbox_and_never_in_the_page(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "globalThis.owned = 1; [1, 2].map((x) => x * 2)")
    page.get_by_role("tab", name="Run").click()
    page.get_by_role("button", name="Run in the sandbox").click()

    expect(page.locator(".results")).to_contain_text("[2,4]")
    assert page.evaluate("globalThis.owned") is None
    show(page, "hardened")
    expect(page.locator(".right .legend")).to_contain_text("calls")
    page.get_by_role("radio", name="emitted").check()
    expect(page.locator(".right")).to_contain_text("As emitted")


def test_the_map_of_checks_leads_through_the_program(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "a[b] = c(d); e[f] = g(h);")
    show(page, "hardened")
    entry = page.locator(".legend button", has_text="calls")
    selected = "[document.getSelection().toString(), document.getSelection().getRangeAt(0).getBoundingClientRect().y]"

    entry.click()
    first = page.evaluate(selected)
    entry.click()
    second = page.evaluate(selected)
    entry.click()

    assert first[0] == second[0]
    assert first[0].endswith("c1")
    assert first[1] < second[1]
    assert page.evaluate(selected) == first
    assert page.evaluate("document.activeElement.ariaLabel") == "Hardened program"
    assert page.locator(".legend li", has_text="calls").inner_text() == "calls 2"
    # Not by their colours alone.
    styles = page.locator(".check[title]").evaluate_all(
        "all => [...new Set(all.map(each => each.classList[1] + ' ' + getComputedStyle(each).textDecorationStyle))]"
    )
    kinds, looks = zip(*(style.split() for style in styles), strict=True)
    assert len({*kinds}) == len({*looks}) > 2


def test_a_case_is_saved_as_a_file_of_a_corpus(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit()
    type_payload(page, "process['ex' + 'it'](0)")
    show(page, "use")
    page.get_by_label("Id").fill("own/exit")
    page.get_by_role("button", name="Make").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save", exact=True).click()

    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    (case,) = load_cases([file])
    assert (file.name, case.id, case.code) == ("own-exit.yaml", "own/exit", "process['ex' + 'it'](0)")
    assert case.constructs == ("process.exit",)


def test_each_way_to_ask_is_copied_as_it_is(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "document.title + 'é'")
    show(page, "use")
    blocks = page.locator(".snippets .block")

    for place, name in enumerate(("evalward check", "grpcurl", "Python", "Node")):
        block = blocks.nth(place)
        expect(block.get_by_role("heading")).to_have_text(name)
        block.get_by_role("button", name="Copy").click()
        expect(block.get_by_role("status")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == block.locator("pre").inner_text()
