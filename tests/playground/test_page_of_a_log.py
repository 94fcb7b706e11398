"""An audit log in a real Chromium, whose records may say anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from page_steps import CONTROLS, HOSTILE, needs_chromium, show
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser


pytestmark = needs_chromium


def test_hostile_records_are_text(browser: Browser, tmp_path: Path) -> None:
    from served import playground_of, served  # noqa: PLC0415 - needs the extra

    from evalward.audit.files import LogFile  # noqa: PLC0415
    from evalward.playground.log_view import LogView  # noqa: PLC0415

    log = tmp_path / "log.jsonl"
    names = ("ts", "construct", "tool", "principal", "target", "code_hash", "exception_id", "x")
    records: list[dict[str, Any]] = [
        {"kind": kind, "outcome": outcome, "weakened": [text], **dict.fromkeys(names, text)}
        for text in [*HOSTILE, "x" * 30_000]
        for kind, outcome in (("decision", "deny"), ("decision", "allow"), ("start", text), ("gap", text))
    ]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    with served(playground_of(LogView([LogFile.open(log)], None, None))) as site:
        page = browser.new_page(viewport={"width": 390, "height": 900})
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(site.url)
        show(page, "log")
        page.locator(".denials summary").first.click()

        expect(page.locator(".proof")).to_contain_text("Not whole")
        assert page.evaluate("globalThis.owned") is None
        assert page.evaluate("document.querySelectorAll('.log script, .log img, .log a').length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(CONTROLS) is False
        assert errors == []
        page.close()
