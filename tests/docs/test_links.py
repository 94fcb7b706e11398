"""Every link between the project's pages leads to a file and an anchor that exist; the site has every page."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*?$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)>\s]*)>?(?:\s+\"[^\"]*\")?\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def pages() -> list[str]:
    """Return the Markdown files that the repository tracks, and those that it will track."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(each for each in listed.stdout.splitlines() if (ROOT / each).is_file())


PAGES = pages()


def links(text: str) -> list[str]:
    """Return the targets of ``text``'s links that stay in the repository."""
    prose = CODE_SPAN.sub("code", FENCE.sub("", text))
    return [each for each in LINK.findall(prose) if not ELSEWHERE.match(each)]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what may follow ``#`` in a link to ``page``, by GitHub's rule for headings."""
    text = page.read_text(encoding="utf-8")
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    seen: Counter[str] = Counter()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", FENCE.sub("", text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found)


def dead(page: Path) -> list[str]:
    """Return the broken links of ``page``."""
    missing = []
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        wrong_anchor = (
            anchor and target.suffix == ".md" and target.is_file() and anchor not in anchors(target)
        )
        if not target.exists() or wrong_anchor:
            missing.append(link)
    return missing


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    assert dead(ROOT / page) == []


@pytest.mark.parametrize("page", [each for each in PAGES if each.startswith("docs/")])
def test_a_page_of_the_site_links_only_to_pages_of_the_site(page: str) -> None:
    """The site holds docs/ alone: other files are named as code, not linked."""
    outside = [
        link
        for link in links((ROOT / page).read_text(encoding="utf-8"))
        if not (ROOT / page).parent.joinpath(link.partition("#")[0]).resolve().is_relative_to(DOCS)
    ]
    assert outside == []


def listed(nav: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        for value in entry.values():
            found += [value] if isinstance(value, str) else listed(value)
    return found


def test_the_navigation_lists_every_page_once() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))

    assert sorted(listed(site["project"]["nav"])) == sorted(
        each.removeprefix("docs/") for each in PAGES if each.startswith("docs/")
    )


def test_the_index_links_to_every_page_of_the_navigation() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    index = links((DOCS / "index.md").read_text(encoding="utf-8"))

    assert [each for each in listed(site["project"]["nav"]) if each not in ("index.md", *index)] == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two.three`\n[a](gone.md) [b](#one-twothree) [c](#gone) `[d](gone.md)` [e](https://x.test/gone)\n"
        "```\n[f](gone.md)\n# no heading\n```\n[g](page.md#no-heading)\n"
    )

    assert dead(page) == ["gone.md", "#gone", "page.md#no-heading"]
