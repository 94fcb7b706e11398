"""Citations of the design pages: ``guard.md §4, U4``, ``service.md, Audit log``, ``seed 003``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# The start of a continued line: a comment's sign, or the space of a docstring.
_LINE_START = re.compile(r"[ \t]*\n[ \t]*(?:(?:#|//|\*)+[ \t]*)?")
_PAGE = re.compile(r"(?<![\w/.-])(?:(?:docs/)?design/)?(?P<page>[a-z][a-z-]*)\.md(?![\w/])")
_SEED = re.compile(r"\bseed (?P<number>00\d)\b")
_SECTION = re.compile(
    r"(?:,? (?:and )?|/)?(?:§|section )(?P<number>\d+)(?:\.(?P<step>\d+))?(?=[^\w.]|\.\W|\.?$)"
)
_IDENTIFIERS = re.compile(r",? U\d+(?:(?:, | and | to )U\d+)*\b")
_QUOTED = re.compile(r', "(?P<name>[^"]{1,60})"')
# A name without quotes ends at the closing parenthesis around the citation.
_NAMED = re.compile(r", (?P<name>[A-Za-z][\w -]{0,60}?)(?=[);])")


class Citation(NamedTuple):
    """A citation of a page: a section, a named place, or an identifier in it; ``section`` may be None."""

    page: str
    section: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        parts = [f"{self.page}.md"]
        parts += [] if self.section is None else [f"§{self.section}"]
        parts += [] if self.name is None else [self.name]
        return ", ".join(parts)


class Section(NamedTuple):
    """A heading with the text below it, the text of its subsections included."""

    title: str
    text: str


def citations(text: str, pages: frozenset[str]) -> Iterator[Citation]:
    """Yield the citations in ``text``: all of ``pages``, and those of other pages that have a section number."""
    joined = _LINE_START.sub(" ", text)
    for found in _PAGE.finditer(joined):
        page = found["page"]
        tail = joined[found.end() : found.end() + 160]
        if page in pages or re.match(r" §\d", tail):
            yield from _tail(page, tail)
    for found in _SEED.finditer(joined):
        yield Citation("history", name=f"Seed {found['number']}")
        named = _NAMED.match(joined, found.end())
        if named is not None:
            yield Citation("history", name=named["name"])


def _tail(page: str, tail: str) -> Iterator[Citation]:
    """Yield the citations of ``page`` in the text after its name; the page itself if nothing follows."""
    section: str | None = None
    at, any_place = 0, False
    while True:
        if found := _SECTION.match(tail, at):
            section = found["number"]
            yield Citation(page, section)
            if found["step"] is not None:
                yield Citation(page, section, f"step {found['step']}")
        elif found := _IDENTIFIERS.match(tail, at):
            yield from (Citation(page, section, each) for each in _identifiers(found[0]))
        elif found := _QUOTED.match(tail, at) or _NAMED.match(tail, at):
            yield Citation(page, section, found["name"])
        else:
            break
        at, any_place = found.end(), True
    if not any_place:
        yield Citation(page)


def _identifiers(text: str) -> list[str]:
    numbers = [int(each) for each in re.findall(r"\d+", text)]
    if " to " in text:
        numbers = [*numbers[:-2], *range(numbers[-2], numbers[-1] + 1)]
    return [f"U{each}" for each in numbers]


def sections(markdown: str) -> list[Section]:
    """Return the sections of a page in their order."""
    text = _CODE_BLOCK.sub(lambda block: re.sub(r"(?m)^#", " ", block[0]), markdown)
    found = list(_HEADING.finditer(text))
    result = []
    for number, heading in enumerate(found):
        level = len(heading[1])
        end = next((each.start() for each in found[number + 1 :] if len(each[1]) <= level), len(text))
        result.append(Section(heading[2], text[heading.end() : end]))
    return result


def resolves(citation: Citation, page: list[Section]) -> bool:
    """Return whether ``citation`` names a heading, a numbered step or a bold term of ``page``."""
    places = page
    if citation.section is not None:
        places = [each for each in page if re.match(rf"{citation.section}\.\s", each.title)]
        if not places:
            return False
        places += [Section(each.title, each.text) for each in sections(places[0].text)]
    if citation.name is None:
        return True
    return any(_has(each, citation.name) for each in places)


def _has(section: Section, name: str) -> bool:
    step = re.fullmatch(r"step (\d+)", name)
    if step is not None:
        return re.search(rf"(?m)^{step[1]}\. ", section.text) is not None
    wanted = re.compile(rf"(?:\d+\. )?{re.escape(name)}(?!\w)", re.IGNORECASE)
    bold = re.findall(r"\*\*(.+?)\*\*", section.text)
    return any(wanted.match(each) for each in (section.title, *bold))


def slug(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return kept.replace(" ", "-")
