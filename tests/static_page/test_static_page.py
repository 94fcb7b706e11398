"""HTML files without script: hostile texts are text, and nothing but the own style sheet is permitted."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from evalward.static_page import heading, key_figures, shown, static_page, table

DATA = Path(__file__).parents[1] / "data"
HOSTILE = [each["text"] for each in yaml.safe_load(DATA.joinpath("hostile_display.yaml").read_text("utf-8"))]


class Elements(HTMLParser):
    """Collects the elements and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 100_000])
def test_a_hostile_text_is_text(text: str) -> None:
    plain = Elements(_page("ordinary"))

    page = _page(text)

    found = Elements(page)
    assert (found.tags, found.attributes) == (plain.tags, plain.attributes)
    assert [char for char in page if not char.isprintable() and char != "\n"] == []
    assert len(page) < len(_page("")) + 10_000


def test_the_policy_of_contents_is_that_of_the_style_sheet() -> None:
    page = _page("ordinary")

    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    assert "url(" not in style[1]


def test_a_long_text_is_cut() -> None:
    assert shown("x" * 1000) == "x" * 199 + "…"


def _page(text: str) -> str:
    rows = [(text, "12"), (text, "1,200")]
    body = [
        heading(text, text, text),
        key_figures([(text, text, text)]),
        *table(text, [text, text], rows, (1,), 1),
    ]
    return static_page(text, body)
