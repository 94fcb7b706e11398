"""Text that a page shows or is served, as a program that the guard can judge (guard.md §2, Host objects and sinks).

The program inserts the text, so that the resolver judges it as a write to ``innerHTML``. What inserting cannot show is
decided elsewhere: ``may_be_script`` for text that is loaded as a script, ``markup.is_disguised`` for text that is read
as XML or in another encoding.
"""

from __future__ import annotations

import json
import re
from typing import Final

_BEGINS_WITH_A_TAG: Final = re.compile(r"\ufeff?[\s]*<(?:[A-Za-z]|!doctype[\s>])", re.IGNORECASE)


def inserting(text: str) -> bytes:
    """Return a program, a script for the renderer, that inserts ``text`` into a page."""
    return b"document.body.innerHTML = " + json.dumps(text).encode("ascii")


def may_be_script(text: str) -> bool:
    """Say whether a page that loads ``text`` as a script could run it.

    JSON cannot, because it is at most a value. Text that begins with a tag cannot, because no expression or statement
    of ECMA-262 does.
    """
    if _BEGINS_WITH_A_TAG.match(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False
