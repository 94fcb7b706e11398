"""The key of prepared pages: no payload, page, log or envelope shows it, and none makes a global in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from chromium import executable
from guarded_pages import URL, Sink, hardened

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from evalward.client import GuardClient, Prepared

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

LOOKS: Final = """(() => {
  const found = [];
  for (const name of Object.getOwnPropertyNames(window)) {
    if (name.indexOf('__evalward_') !== 0) continue;
    for (const word of ['', 'x', window[name], {}]) {
      try { found.push([typeof window[name](word)]) } catch (e) { found.push(e.name) }
    }
  }
  return found;
})()"""
CALLERS: Final = {
    "expression": "(function f() { return f.caller })()",
    "pattern": "(() => { const f = function () { const { caller } = f; return caller }; return f() })()",
    "callee": "(function () { return arguments.callee.caller })()",
    "assignment": "(function f() { return f.caller += '' })()",
}


@pytest.mark.parametrize("is_short", [True, False])
def test_a_payload_that_finds_the_property_gets_nothing(
    page: Page, prepared: Prepared, *, is_short: bool
) -> None:
    page.goto("data:text/html,")
    found = page.evaluate(hardened(LOOKS, prepared if is_short else None))
    assert found == ["TypeError"] * 4
    assert page.evaluate(LOOKS) == found  # nor does the page


@pytest.mark.parametrize(
    "code",
    [
        "window['__evalward_' + 1] = 2",
        "__evalward_1 = 2",
        "Object.defineProperty(window, '__evalward_1', { value: 2 })",
        "Reflect.set(window, '__evalward_1', 2)",
        "Object.assign(window, { __evalward_1: 2 })",
        "window.__defineGetter__('__evalward_1', () => 2)",
    ],
)
@pytest.mark.parametrize("is_short", [True, False])
def test_no_payload_makes_a_global_that_is_taken_for_a_run_time(
    page: Page, prepared: Prepared, code: str, *, is_short: bool
) -> None:
    page.goto("data:text/html,")
    with pytest.raises(Exception, match="evalward denied prototype-tampering"):
        page.evaluate(hardened(code, prepared if is_short else None))
    assert page.evaluate("typeof __evalward_1") == "undefined"


@pytest.mark.parametrize("is_short", [True, False])
@pytest.mark.parametrize(
    "code", ["() => expr", "() => { const own = expr; return own }", "async () => `${expr}`"]
)
def test_a_payload_that_reads_what_its_sink_evaluates_gets_its_own_text(
    page: Page, prepared: Prepared, code: str, *, is_short: bool
) -> None:
    page.goto("data:text/html,")
    text = hardened(code, prepared if is_short else None, sink="playwright-mcp.evaluate")
    evaluate = "async (expr) => { const value = eval(`(${expr})`); return await value() }"
    assert page.evaluate(evaluate, text) == code


def test_the_secret_is_in_nothing_that_a_page_can_read(page: Page, prepared: Prepared) -> None:
    page.goto("data:text/html,")
    _, name, secret = prepared.key.split(".")
    shown = page.evaluate(
        f"String(__evalward_{name}) + JSON.stringify(Object.getOwnPropertyDescriptors(__evalward_{name}))"
    )
    assert secret[:32] not in shown
    assert secret[32:] not in shown


def test_a_binding_of_a_driver_under_the_name_is_replaced_and_not_shown_the_key(
    page: Page, prepared: Prepared
) -> None:
    _, name, _ = prepared.key.split(".")
    shown: list[object] = []

    def show(word: object) -> None:
        shown.append(word)

    page.expose_function(f"__evalward_{name}", show)
    page.goto("data:text/html,<title>T</title>")
    assert page.evaluate(hardened("document.title", prepared)) == "T"
    assert shown == []


def test_the_head_shows_the_key_to_nothing_that_can_be_replaced(page: Page, prepared: Prepared) -> None:
    _, name, _ = prepared.key.split(".")
    put = f"window.shown = []; window.__evalward_{name} = (word) => shown.push(word); 0"
    assert page.context.browser is not None
    other = page.context.browser.new_page()  # which is not prepared
    other.evaluate(put)
    with pytest.raises(Exception, match="evalward denied prototype-tampering"):
        other.evaluate(hardened("1", prepared))
    assert other.evaluate("shown") == []
    other.close()


def test_the_key_is_in_no_log_and_no_envelope(
    guard: Any, page: Page, client: GuardClient, prepared: Prepared
) -> None:
    page.goto(URL)
    assert Sink(page, client, prepared)("document.title") == "T"
    _, name, secret = prepared.key.split(".")
    answer = client.validate(b"document.title", sink="playwright.evaluate", prepared=prepared.key)
    refused = client.validate(b"1", sink="playwright.evaluate", prepared=prepared.key + "x")
    seen = guard.log.read_text() + str(answer.envelope) + str(refused.envelope) + repr(prepared)
    assert refused.code == "INVALID_INPUT"
    assert not any(part in seen for part in (name, secret[:32], secret[32:]))


@pytest.mark.parametrize("code", CALLERS.values(), ids=CALLERS)
def test_no_function_shows_the_head_with_the_key(page: Page, prepared: Prepared, code: str) -> None:
    page.goto(URL)
    text = page.evaluate(hardened(f"String({code})", prepared))
    assert "__evalward_" not in text
    assert len(text) < 2000
