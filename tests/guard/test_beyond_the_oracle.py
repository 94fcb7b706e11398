"""Escapes through objects that the oracle cannot imitate are blocked like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward import Policy, validate
from evalward.guard.target import Shape, Target

CASES = yaml.safe_load((Path(__file__).parent / "beyond_the_oracle.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"][:50])
def test_an_escape_that_the_oracle_cannot_run_is_blocked(case: dict[str, str]) -> None:
    target = Target(case["target"])
    shape = Shape(case["shape"]) if "shape" in case else None
    policy = Policy.default().allowing([target])

    verdict = validate(case["code"].encode(), target=target, shape=shape, policy=policy)

    assert str(verdict.construct) == case["construct"]


@pytest.mark.parametrize(
    "code",
    [
        "const at = document.body.getAttributeNode('class'); at.value = 'wide'; document.body.attributes.length",
        "document.querySelector('svg g').getAttributeNode('transform').value = 'translate(10, 20)'",
        "[...document.querySelectorAll('[onclick]')].map((e) => e.attributes.getNamedItem('onclick').value)",
        "const id = setTimeout(() => {}, 10); id.unref?.(); clearTimeout(id); typeof id",
        "const pending = {}; pending[setTimeout(() => {}, 10)] = true; Object.keys(pending).length",
        "const headers = new Headers(); headers.set('a', '1'); headers.get('a')",
    ],
)
def test_the_ordinary_use_of_such_objects_is_allowed(code: str) -> None:
    verdict = validate(code.encode(), target=Target.MAIN, policy=Policy.default().allowing([Target.MAIN]))

    assert verdict.code is None


@pytest.mark.parametrize(
    "code",
    [
        "$('.row').append('<td>1</td>').addClass('x')",
        "$('tbody').html([1, 2].map((n) => `<tr><td>${n}</td></tr>`).join(''))",
        "$('<div class=\"x\">').appendTo('body')",
        "new FormData().append('html', '<img src=x onerror=alert(1)>')",
    ],
)
def test_the_ordinary_use_of_page_libraries_is_allowed(code: str) -> None:
    policy = Policy.default().allowing([Target.RENDERER])

    assert validate(code.encode(), target=Target.RENDERER, policy=policy).code is None
