"""Sinks that are given an unknown text, in a payload that has a text that such a sink runs.

Many members of the language and of the host give back what they were given: the name of a computed method, the
description of a symbol, what ``toJSON`` returned. No list of them is complete. A payload that holds a URL of a script,
and follows a URL that it made and that cannot be resolved, may follow that one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.constructs.dom_script_injection import LABEL as INJECTION
from evalward.guard.constructs.rank import Rank
from evalward.guard.markup import is_running_name, is_script_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.interpret.findings import Findings

URL: Final = "url"
"""The kind of the sinks that follow or load a URL."""
ELEMENT: Final = "element"
"""The kind of the functions that make an element of a name."""
_WORDS: Final = {URL: "URL", ELEMENT: "name of an element"}
_SCRIPT: Final = re.compile(r"\bscript\b", re.IGNORECASE)
_IDLE: Final = re.compile(
    r"[^:]*:\s*(?:;|//|void\b.*)?\s*\Z", re.DOTALL
)  # what a check compares with, and `void(0)`


def report_unresolved(findings: Findings, values: Iterable[Value], objects: Iterable[HeapObject]) -> None:
    """Report the sinks of a run that has ended with these values in its registers, and these objects."""
    if not findings.unresolved:
        return
    texts = {atom for value in values for atom in value if type(atom) is str}
    texts.update(name for target in objects for name in target.properties)
    telling = {
        URL: any(is_script_url(text) and not _IDLE.match(text) for text in texts),
        ELEMENT: any(is_running_name(text) or _SCRIPT.search(text) for text in texts),
    }
    for kind, span in sorted(findings.unresolved):
        if telling[kind]:
            note = f"the {_WORDS[kind]} cannot be resolved, and a text of the payload is a script's"
            findings.report(INJECTION, Rank.BY_KEY, span, None, note)
