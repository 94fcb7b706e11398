"""Markup that a page shows or is served, as a program that the guard can judge (guard.md §2, Host objects and sinks).

The program inserts the text, so that the resolver's judgement of ``innerHTML`` decides. What inserting cannot show is
asked here: a text that is served may also be read as XML, in another encoding, or be loaded as a script.
"""

from __future__ import annotations

import json
import re
from typing import Final

_XML_SCRIPT: Final = re.compile(
    r"<\s*[\w.-]+\s*:\s*script|<!\s*(?:ENTITY|ATTLIST)|<\?xml-stylesheet", re.IGNORECASE
)
# An escape character shifts to another character set (ISO 2022), a NUL is half of a UTF-16 letter.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_BEGINS_WITH_A_TAG: Final = re.compile(r"\ufeff?[\s]*<(?:[A-Za-z]|!doctype[\s>])", re.IGNORECASE)


def is_disguised(text: str) -> bool:
    """Say whether ``text`` may hold script that only XML or another encoding shows."""
    return _XML_SCRIPT.search(text) is not None or _CONTROLS.search(text) is not None


def inserting(text: str) -> bytes:
    """Return a program, a script for the renderer, that inserts ``text`` into a page."""
    return b"document.body.innerHTML = " + json.dumps(text).encode("ascii")


def may_be_script(text: str) -> bool:
    """Say whether a page that loads ``text`` as a script could run it.

    JSON cannot: at most it is a value. What begins with a tag cannot: no token of ECMA-262 begins an expression
    or statement so.
    """
    if _BEGINS_WITH_A_TAG.match(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False
