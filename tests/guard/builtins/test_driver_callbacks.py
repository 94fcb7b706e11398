"""What a driver evaluates in a page is the text of a function: without its closure, and as it says itself."""

from __future__ import annotations

import pytest

from evalward.guard import judge
from evalward.guard.rules import Rules
from evalward.guard.target import Shape, Target

_SHADOWED = "const {name} = {value}; await page.evaluate(() => {use})"


def _allowed(code: str) -> bool:
    return judge(code.encode(), target=Target.NODE, shape=Shape.ASYNC_BODY, rules=Rules(allowed=True)).allowed


@pytest.mark.parametrize(
    ("name", "value", "use"),
    [
        ("setTimeout", "f => 0", "setTimeout('alert(1)')"),
        ("document", "{ body: {} }", "{ document.body.innerHTML = '<img src=x onerror=alert(1)>' }"),
        ("setTimeout", "f => 0", "[1].map(() => setTimeout('alert(1)'))"),
    ],
)
def test_a_callback_has_the_names_of_the_page(name: str, value: str, use: str) -> None:
    assert not _allowed(_SHADOWED.format(name=name, value=value, use=use))


@pytest.mark.parametrize(
    "code",
    [
        "const location = await page.evaluate(() => location.href); return location",
        "const setTimeout = (f, n) => f(n); setTimeout('alert(1)'.trim, 1); await page.evaluate(() => document.title)",
        "const document = { title: 'x' }; await page.evaluate(() => document.querySelector('a').click())",
        "await page.evaluate(() => { const setTimeout = f => 0; return setTimeout('a(1)') })",
    ],
)
def test_ordinary_callbacks_pass(code: str) -> None:
    assert _allowed(code)


@pytest.mark.parametrize("name", ["toString", "[Symbol.toPrimitive]"])
def test_a_function_that_says_its_own_text_is_text(name: str) -> None:
    code = f"await page.evaluate(Object.assign(() => 1, {{ {name}: () => 'alert(1)' }}))"
    assert not _allowed(code)
    assert _allowed("await page.evaluate(Object.assign(() => 1, { label: () => 'alert(1)' }))")
