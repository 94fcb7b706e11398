"""Programs in a dedicated worker, which has no document: attacks reach nothing hardened, twins behave the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from browser import Browser
from chromium import executable
from programs import hardened, outcome

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

_CASES: Final = yaml.safe_load(Path(__file__).with_name("workers.yaml").read_text(encoding="utf-8"))
_REACHED: Final = 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    assert path is not None
    with Browser(path) as browser:
        yield browser


def _run(browser: Browser, program: str, before: str) -> tuple[object, object]:
    """Run the completion value of ``program`` as a worker's own script; return its value, or error, and ``__PWN``.

    ``before`` is what the worker itself runs first.
    """
    browser.open()
    script = (
        f"{before};"
        "const say = (value) => setTimeout(() => postMessage([value, self.__PWN ?? 0]), 60);"
        f"(async () => eval({json.dumps(program)}))().then(say, (error) => say(`threw ${{error}}`))"
    )
    started = (
        f"new Promise((done) => {{ const url = URL.createObjectURL(new Blob([{json.dumps(script)}]));"
        " new Worker(url).onmessage = ({ data }) => done(JSON.stringify(data)) })"
    )
    value, reached = json.loads(json.loads(outcome(browser.run(started))))
    return value, reached


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["id"])
def test_a_worker_runs_no_text(browser: Browser, case: dict[str, str]) -> None:
    before = case.get("before", "")
    assert _run(browser, case["attack"], before)[1] == _REACHED
    ending, reached = _run(browser, hardened(case["attack"], Shape.SCRIPT), before)

    assert reached != _REACHED
    assert "evalward denied" in str(ending)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["id"])
def test_a_twin_in_a_worker_behaves_the_same(browser: Browser, case: dict[str, str]) -> None:
    before = case.get("before", "")
    expected = _run(browser, case["twin"], before)
    assert _run(browser, hardened(case["twin"], Shape.SCRIPT), before) == expected
