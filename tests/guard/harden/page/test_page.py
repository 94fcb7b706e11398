"""Programs in a real page: attacks reach nothing hardened, their twins and ordinary programs behave the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from browser import Browser
from chromium import executable
from programs import Attack, Program, all_hardened, as_body, attacks, hardened, ordinary, outcome

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

_REACHED = "1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    assert path is not None
    with Browser(path) as browser:
        yield browser


def _run(browser: Browser, before: str, texts: Sequence[str]) -> list[str]:
    browser.open()
    if before:
        browser.run(before)
    return [outcome(browser.run(text)) for text in texts]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.id)
def test_an_attack_reaches_nothing(browser: Browser, attack: Attack) -> None:
    endings = _run(browser, attack.before, all_hardened(attack.codes))
    browser.wait(attack.wait)
    assert outcome(browser.run("window.__PWN")) != _REACHED
    if attack.expect == "denied":
        assert any("evalward denied" in ending for ending in endings)


@pytest.mark.sampled(30)
@pytest.mark.parametrize(
    "attack", [one for one in attacks() if one.expect == "reached"], ids=lambda attack: attack.id
)
def test_an_attack_is_real(browser: Browser, attack: Attack) -> None:
    _run(browser, attack.before, attack.codes)
    until = time.monotonic() + 20
    while (reached := outcome(browser.run("window.__PWN"))) != _REACHED and time.monotonic() < until:
        browser.wait(10)
    assert reached == _REACHED


@pytest.mark.sampled(20)
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.id)
def test_a_twin_behaves_the_same(browser: Browser, attack: Attack) -> None:
    expected = _run(browser, attack.before, attack.twins)
    assert _run(browser, attack.before, all_hardened(attack.twins)) == expected
    assert not any(ending.startswith("threw") for ending in expected)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("program", ordinary(), ids=lambda program: program.id)
def test_an_ordinary_program_behaves_the_same(browser: Browser, program: Program) -> None:
    browser.open()
    expected = outcome(browser.run(as_body(program.code)))
    browser.open()
    assert outcome(browser.run(as_body(hardened(program.code, Shape.ASYNC_BODY)))) == expected
    assert not expected.startswith("threw")
