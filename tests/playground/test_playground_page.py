"""The page in a real Chromium: every view at two widths and in two themes, the keyboard, hostile texts, axe-core.

With EVALWARD_SCREENSHOTS set to a folder, the pictures of the documentation are written there.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from playwright.sync_api import Page, expect, sync_playwright

pytest.importorskip("uvicorn", reason="evalward[ui] is not installed")

from served import Served, audit_log, playground_of, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
AXE = ROOT / "playground" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = [
    each["text"]
    for each in yaml.safe_load(ROOT.joinpath("tests/data/hostile_display.yaml").read_text("utf-8"))
]
WIDTHS = (390, 1440)
THEMES = ("light", "dark")
VIEWS = ("findings", "policy", "hardened", "run", "use", "log")
PICTURES = {(1440, "light", "findings"), (390, "dark", "findings"), (1440, "dark", "log")}
PAYLOAD = 'const host = globalThis["pro" + "cess"];\nconst leave = host["ex" + "it"];\nleave(0);'
ONE_KEY = """() => new Promise((told) => {
    const begin = performance.now();
    new MutationObserver((_, own) => { own.disconnect(); told(performance.now() - begin); })
        .observe(document.documentElement, { attributes: true, attributeFilter: ['data-judged'] });
    document.execCommand('insertText', false, '0');
})"""
"""Types a key, and gives the milliseconds until the verdict is shown."""

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not installed: npm ci --prefix playground"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = audit_log(tmp_path_factory.mktemp("log") / "audit.jsonl")
    with served(playground_of(log)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
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
            lambda request: None if request.url.startswith(site.url) else complaints.append(request.url),
        )
        page.goto(f"{site.url}{fragment}")
        page.wait_for_selector(".verdict[data-state]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


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


def test_the_trace_is_drawn_from_the_source_to_the_sink(visit: Callable[..., Page]) -> None:
    page = visit()

    type_payload(page, PAYLOAD)

    expect(page.locator(".verdict")).to_contain_text("process.exit")
    marks = page.locator(".payload .cm-line .step")
    lines = marks.evaluate_all("all => all.map(each => each.closest('.cm-line').innerText)")
    assert len(lines) >= 2
    assert "globalThis" in lines[0]
    assert "leave(0)" in lines[-1]
    assert page.locator(".trace-path path").get_attribute("d")
    assert page.locator(".finding.chosen").first.inner_text() == "leave(0)"
    expect(page.locator("article.page h2")).to_contain_text("process.exit")
    page.locator(".steps button").last.click()
    assert page.evaluate("document.activeElement.closest('.payload') !== null")
    page.get_by_role("button", name="open").nth(1).click()
    expect(page.locator(".verdict")).to_have_attribute("data-state", "allowed")


def test_a_verdict_comes_within_100_ms_of_the_last_key(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, "const rows = [1, 2, 3];\n" * 40 + "process['ex' + 'it'](")
    page.keyboard.press("Control+End")
    measured = [page.evaluate(ONE_KEY) for _ in range(9)]

    # The fastest: what else the machine does is not the page's time.
    assert min(measured) <= 100, measured


def test_the_profiles_are_side_by_side_and_one_is_in_force(visit: Callable[..., Page]) -> None:
    page = visit()
    type_payload(page, PAYLOAD)

    said = page.locator(".profile").evaluate_all(
        "all => all.map(each => [each.innerText, each.dataset.state])"
    )
    assert [state for _, state in said] == ["blocked", "blocked", "allowed"]
    page.get_by_role("radio", name="seed").check()
    expect(page.locator(".verdict")).to_have_attribute("data-state", "allowed")


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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_payload_and_policy_are_text(text: str, visit: Callable[..., Page]) -> None:
    page = visit()
    made = "script, img:not(.cm-widgetBuffer), iframe, object, embed, a[href]"
    elements = f"document.querySelectorAll('{made}').length"
    before = page.evaluate(elements)

    type_payload(page, f"eval({json.dumps(text)}); // {text}")
    page.get_by_role("tab", name="Policy").click()
    page.get_by_role("textbox", name="Policy").focus()
    page.keyboard.insert_text(f"api_version: {json.dumps(text)}")
    page.wait_for_selector("[data-valid=false]")
    page.get_by_role("tab", name="Use").click()
    page.wait_for_selector("#panel-use p")
    page.get_by_role("tab", name="Findings").click()

    assert page.evaluate(elements) == before
    assert page.evaluate("globalThis.owned") is None
    assert page.evaluate(r"/[\u202a-\u202e\u2066-\u2069\x1b]/.test(document.body.innerText)") is False


def test_a_payload_of_a_megabyte_is_answered(visit: Callable[..., Page]) -> None:
    page = visit()

    type_payload(page, "x = 1;\n" * 150_000)

    expect(page.locator(".verdict")).to_contain_text("EVAL_PAYLOAD_TOO_LARGE")
    type_payload(page, "1")
    expect(page.locator(".verdict")).to_have_attribute("data-state", "allowed")


def test_hostile_records_are_text(browser: Browser, tmp_path: Path) -> None:
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
        assert page.evaluate(r"/[\u202a-\u202e\u2066-\u2069\x1b]/.test(document.body.innerText)") is False
        assert errors == []
        page.close()
