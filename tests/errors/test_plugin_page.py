"""The page about custom codes: its snippets run as printed, and its lists match the code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalward.errors import Category, CodesRefusedError, Repair, unregister_error_codes

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "plugin-codes.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for namespace in ("store", "production"):
        try:
            unregister_error_codes(namespace)
        except CodesRefusedError:
            continue


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_runs_as_printed(snippet: str) -> None:
    exec(compile(snippet, "plugin-codes.md", "exec"), {})


def test_the_page_names_every_category_and_every_self_repair_field() -> None:
    assert len(SNIPPETS) == 3
    assert [each for each in Category if f"`{each}`" not in PAGE] == []
    assert [name for name in Repair.__dataclass_fields__ if f"`{name}`" not in PAGE] == []


def test_the_promise_of_stability_covers_the_plugin_api() -> None:
    stability = (DOCS / "reference" / "stability.md").read_text("utf-8")

    assert "](../how-to/plugin-codes.md)" in stability
    for name in ("define_domain", "register_error_codes", "unregister_error_codes", "Repair"):
        assert f"`{name}`" in stability
