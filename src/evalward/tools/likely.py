"""Guess the kind of a field from its name: for drafts, and for the check that no field was overlooked.

Names are split into words first, so that ``initScript`` holds a script and ``description`` does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.tools.kinds import FieldKind

if TYPE_CHECKING:
    from evalward.tools.schema_places import Place

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NO_SCRIPT: Final = re.compile(r"(de|tran|manu|sub|super|post|pre|con|in|type)scripts?")
_SOURCE: Final = re.compile(r".*scripts?|js|javascript")
_URL: Final = re.compile(r".*(url|uri|href)s?|website|webpage")
_MARKUP: Final = re.compile(r"html|markup|srcdoc|svg|body|.*html")
_LAUNCH: Final = re.compile(
    r"executables?|binary|cdp|proxy|launch|extensions?|dangerous|devtools|debugger|debug"
)
# Only in tools that start something: elsewhere `args` are those of a function, and a port is a number.
_LAUNCH_AT_START: Final = re.compile(
    r"args?|arguments?|argv|env|environ(ment)?|flags?|switches|ports?|hosts?|address|pid|main|command|channel"
)
_STARTS: Final = re.compile(r"launch|start|attach|connect|inject|spawn|install|discover|open")
_PATH: Final = re.compile(r".*(path|dir|filename|file|folder|directory)s?|directories|cwd")
# Cookies and routes have paths of URLs.
_URL_PATHS: Final = re.compile(r"cookies?|routes?")


def words_of(name: str) -> list[str]:
    """Return the words of a name in camel case, snake case or any other, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def likely_kind(tool: str, field: str, place: Place) -> FieldKind | None:  # noqa: PLR0911 - one return per kind
    """Return the kind that the names of the field and its ``tool`` suggest; None: data.

    A field with a closed list of values is data.
    """
    if place.is_closed() or place.types() == {"boolean"}:
        return FieldKind.LAUNCH if "dangerous" in words_of(field) else None
    words = words_of(field)
    if any(_SOURCE.fullmatch(word) and not _NO_SCRIPT.fullmatch(word) for word in words):
        return FieldKind.SOURCE
    if any(_LAUNCH.fullmatch(word) for word in words):
        return FieldKind.LAUNCH
    if any(_STARTS.fullmatch(word) for word in words_of(tool)) and any(
        _LAUNCH_AT_START.fullmatch(word) for word in words
    ):
        return FieldKind.LAUNCH
    if place.types() and not place.types() & {"string", "array", "object"}:
        return None
    if any(_URL.fullmatch(word) for word in words):
        return FieldKind.URL
    if any(_MARKUP.fullmatch(word) for word in words):
        return FieldKind.MARKUP
    if any(_PATH.fullmatch(word) for word in words):
        of_a_url = any(_URL_PATHS.fullmatch(word) for word in words_of(tool)) and words == ["path"]
        return None if of_a_url else FieldKind.PATH
    return None
