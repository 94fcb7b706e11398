"""Markup is active when one of its elements or attributes runs script (HTML Standard; guard.md §7)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward.guard.markup import is_active

CASES = yaml.safe_load((Path(__file__).parent / "markup.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", CASES["inert"])
def test_inert(text: str) -> None:
    assert not is_active(text)


@pytest.mark.parametrize("text", CASES["active"])
def test_active(text: str) -> None:
    assert is_active(text)


@pytest.mark.parametrize("text", CASES["cut_off"]["inert"])
def test_a_beginning_that_ends_in_a_harmless_value(text: str) -> None:
    assert not is_active(text, cut_off=True)
    assert is_active(text)


@pytest.mark.parametrize("text", CASES["cut_off"]["active"])
def test_a_beginning_that_may_become_active(text: str) -> None:
    assert is_active(text, cut_off=True)
