"""Programs in a real page: attacks reach nothing hardened, their twins and ordinary programs behave the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from browser import Browser
from chromium import executable
from programs import Attack, Program, as_body, attacks, hardened, ordinary, outcome

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

_REACHED = "1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    assert path is not None
    with Browser(path) as browser:
        yield browser


def _reached(browser: Browser, text: str, wait: int) -> tuple[str, str]:
    browser.open()
    ending = outcome(browser.run(text))
    browser.wait(wait)
    return outcome(browser.run("window.__PWN")), ending


@pytest.mark.sampled(20)
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.id)
def test_an_attack_reaches_nothing(browser: Browser, attack: Attack) -> None:
    reached, ending = _reached(browser, hardened(attack.code, Shape.SCRIPT), attack.wait)
    assert reached != _REACHED
    if attack.expect == "denied":
        assert "evalward denied" in ending


@pytest.mark.sampled(30)
@pytest.mark.parametrize(
    "attack", [one for one in attacks() if one.expect == "reached"], ids=lambda attack: attack.id
)
def test_an_attack_is_real(browser: Browser, attack: Attack) -> None:
    browser.open()
    browser.run(attack.code)
    until = time.monotonic() + 20
    while (reached := outcome(browser.run("window.__PWN"))) != _REACHED and time.monotonic() < until:
        browser.wait(10)
    assert reached == _REACHED


@pytest.mark.sampled(20)
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.id)
def test_a_twin_behaves_the_same(browser: Browser, attack: Attack) -> None:
    browser.open()
    expected = outcome(browser.run(attack.twin))
    browser.open()
    assert outcome(browser.run(hardened(attack.twin, Shape.SCRIPT))) == expected
    assert not expected.startswith("threw")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("program", ordinary(), ids=lambda program: program.id)
def test_an_ordinary_program_behaves_the_same(browser: Browser, program: Program) -> None:
    browser.open()
    expected = outcome(browser.run(as_body(program.code)))
    browser.open()
    assert outcome(browser.run(as_body(hardened(program.code, Shape.ASYNC_BODY)))) == expected
    assert not expected.startswith("threw")
