"""Static pages in a real Chromium: axe-core finds nothing, they fit two widths, and request nothing."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from evalward.audit.activity import Activity
from evalward.audit.report.facts import facts_of
from evalward.audit.report.page import page as report
from evalward.audit.report.proof import unverified
from evalward.cli.compare_page import compare_page
from evalward.corpus.corpus_case import Case, Expectation
from evalward.corpus.side_by_side import Row, scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

A4_WITHIN_MARGINS = 688  # CSS pixels: 210 mm less two margins of 14 mm
AXE = Path(__file__).parents[2] / "playground" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed"),
    pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci --prefix playground"),
]


def audit_report() -> str:
    activity = Activity()
    for number in range(300):
        activity.add(
            {
                "kind": "decision",
                "ts": f"2026-05-{1 + number // 24:02}T{number % 24:02}:00:00.000000Z",
                "outcome": ("deny", "allow", "allow")[number % 3],
                "code": "EVAL_BLOCKED_CONSTRUCT",
                "construct": ("process.exit", "eval()", "network", "a" * 190)[number % 4],
                "tool": ("browser_evaluate", "electron_eval")[number % 2],
                "principal": ("cert:dispatcher.example", "token:3f0c9a")[number % 2],
                "code_hash": f"{number % 40:064x}",
                "exception_id": "e" * 16,
                "elapsed_us": number,
            }
        )
    activity.add({"kind": "gap", "ts": "2026-05-03T00:00:00Z", "reason": "full", "unrecorded": 2})
    activity.add({"kind": "start", "ts": "2026-05-03T00:00:00Z", "weakened": ["enforcement-audit=main"]})
    return report(facts_of(activity, unverified("k"), files=["a.jsonl"], now=datetime.now(UTC)))


def comparison() -> str:
    case = Case.model_validate({"id": "a", "code": "1", "target": "main", "expect": "allow"})
    rows = [Row(case, Expectation.ALLOW, ((True, ""), (False, "x" * 64)))]
    return compare_page(rows, scores(rows, ["evalward", "other"]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("made", [audit_report, comparison])
def test_a_page_is_accessible_and_fits(
    made: object, width: int, theme: str, browser: Browser, tmp_path: Path
) -> None:
    assert callable(made)
    file = tmp_path / "page.html"
    file.write_text(made(), "utf-8")
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if theme == "dark" else "light"
    )
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(file.as_uri())
    complaints.remove(file.as_uri())

    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()


def test_a_report_prints_on_a4(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(audit_report(), "utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())

    printed = page.pdf(prefer_css_page_size=True)

    assert b"/MediaBox [0 0 594.95996 841.91998]" in printed or b"/MediaBox [0 0 595" in printed
    page.emulate_media(media="print")
    assert page.locator("details").first.is_hidden()
    page.close()


@pytest.mark.parametrize("made", [audit_report, comparison])
def test_nothing_is_cut_off_on_paper(made: object, browser: Browser, tmp_path: Path) -> None:
    assert callable(made)
    file = tmp_path / "page.html"
    file.write_text(made(), "utf-8")
    page = browser.new_page(viewport={"width": A4_WITHIN_MARGINS, "height": 1000})
    page.emulate_media(media="print")
    page.goto(file.as_uri())

    cut = page.evaluate(
        """() => [...document.querySelectorAll("table, svg")].filter((each) => {
            const room = each.closest(".columns > *") ?? document.querySelector("main");
            return each.getBoundingClientRect().right > room.getBoundingClientRect().right + 1;
        }).map((each) => each.textContent)"""
    )
    page.close()

    assert cut == []
