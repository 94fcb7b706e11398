"""Sinks that are given an unknown text, in a payload that has a text that such a sink runs.

Many members of the language and of the host give back what they were given: the name of a computed method, the
description of a symbol, what ``toJSON`` returned. No list of them is complete. A payload that holds a URL of a script,
and follows a URL that it made and that cannot be resolved, may follow that one.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import nested_evaluation, proto, string_timer
from evalward.guard.constructs.dom_script_injection import LABEL as INJECTION
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import BOTTOM
from evalward.guard.domain.encoded_markup import holds_handler, is_cut_markup
from evalward.guard.domain.hidden_texts import (
    BYTES,
    hides_script_url,
    may_be_bytes,
    readings,
    scatters_script_url,
    spell_script_url,
)
from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.script_texts import any_script, may_act
from evalward.guard.markup import (
    is_active,
    is_held_script_url,
    is_part_of_script_url,
    is_running_name,
    is_script_url,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.heap import Activation, HeapObject
    from evalward.guard.interpret.findings import Findings

URL: Final = "url"
"""The kind of the sinks that follow or load a URL."""
LINK: Final = "link"
"""The kind of the sinks that follow or load a URL of the page's text."""
ELEMENT: Final = "element"
"""The kind of the functions that make an element of a name."""
CODE: Final = "code"
"""The kind of the sinks that perhaps run a text: elements that may be scripts, attributes that may be handlers."""
TIMER: Final = "timer"
"""The kind of the timers, which are mostly given functions."""
MARKUP: Final = "markup"
"""The kind of the sinks that read markup."""
ADDRESS: Final = "address"
"""The kind of the functions by which a driver's page is led to a URL."""
ANSWER: Final = "answer"
"""The kind of the answers to a page's requests: the page runs them as markup or as a script."""
CONTENT: Final = "content"
"""The kind of the functions by which a driver gives a page its markup."""
NAME: Final = "name"
"""The kind of the writes of an object by a key: under `__proto__` it becomes the prototype."""
_WORDS: Final = {
    NAME: "name of a property",
    CONTENT: "markup",
    ANSWER: "answer",
    URL: "URL",
    LINK: "URL",
    ADDRESS: "URL",
    ELEMENT: "name of an element",
    CODE: "text that may run",
    TIMER: "text that may run",
    MARKUP: "markup",
}
_OF_MARKUP: Final = {MARKUP, CONTENT, ANSWER}
_OF_ADDRESSES: Final = {ADDRESS, LINK, URL}
_LABELS: Final = {
    NAME: proto.LABEL,
    **dict.fromkeys((ANSWER, CONTENT, ADDRESS), nested_evaluation.LABEL),
    TIMER: string_timer.LABEL,
}  # of the others: markup's
_PARTS_OF_PROTO: Final = frozenset(
    part
    for start, end in combinations(range(len("__proto__") + 1), 2)
    if (part := "__proto__"[start:end]) != "__proto__" and "__" in part and part.strip("_")
)
_SCRIPT: Final = re.compile(r"\bscript\b", re.IGNORECASE)
_IDLE: Final = re.compile(
    r"[^:]*:\s*(?:;|//|void\b.*)?\s*\Z", re.DOTALL
)  # what a check compares with, and `void(0)`


def report_unresolved(
    findings: Findings,
    values: Iterable[Value],
    objects: Iterable[HeapObject],
    units: Iterable[Activation],
) -> None:
    """Report the sinks of a run that has ended with these values in its registers, and these objects.

    A name that is read is among the texts, too: the engine quotes it in the message of an error.
    """
    if not findings.unresolved:
        return
    constants = BOTTOM.union(*values)
    strings = {atom for atom in constants if type(atom) is str}
    texts = set(strings)
    texts.update(name for target in objects for name in target.properties)
    for unit in units:
        for code in unit.code:
            texts.update(part for part in code if type(part) is str)
            if code[0] is Op.LOAD:
                texts.add(code[2].name)
    kinds = {kind for kind, _ in findings.unresolved}
    decodes = not texts.isdisjoint(BYTES) and may_be_bytes(constants)
    harmed = kinds if decodes else _harmed(kinds, texts, strings)
    for kind, span in sorted(findings.unresolved):
        if kind in harmed:
            found = "a part of `__proto__`" if kind == NAME else "a script's"
            note = f"the {_WORDS[kind]} cannot be resolved, and a text of the payload is {found}"
            findings.report(_LABELS.get(kind, INJECTION), Rank.BY_KEY, span, None, note)


def _harmed(kinds: set[str], texts: set[str], strings: set[str]) -> set[str]:
    """Return the kinds of sinks where one of the texts, or what the host may decode it to, does harm.

    Each question takes a walk over all texts, and is asked only where a sink of these kinds depends on it.
    """
    found = set[str]()
    if kinds & {CODE, ANSWER} and any_script(texts, defining=False):
        found |= {CODE, ANSWER}
    if TIMER in kinds and any(map(may_act, texts)):
        found.add(TIMER)
    if NAME in kinds and not strings.isdisjoint(_PARTS_OF_PROTO):
        found.add(NAME)
    if kinds <= {CODE, TIMER, NAME}:
        return found
    read = [(text, reading) for text in texts for reading in readings(text)]
    hidden = {reading for _, reading in read}
    if kinds & _OF_MARKUP:
        found |= _harmed_by_markup(kinds, texts, hidden)
    if kinds & _OF_ADDRESSES:
        found |= _harmed_by_addresses(kinds, texts, strings, read)
    if ELEMENT in kinds and (
        any(is_running_name(text) or _SCRIPT.search(text) for text in texts)
        or any(map(is_running_name, hidden))
    ):
        found.add(ELEMENT)
    return found


def _harmed_by_markup(kinds: set[str], texts: set[str], hidden: set[str]) -> set[str]:
    if any(map(is_cut_markup, texts)) or any(map(is_active, hidden)):
        return _OF_MARKUP
    return (
        {CONTENT, ANSWER} if kinds & {CONTENT, ANSWER} and any(map(holds_handler, texts | hidden)) else set()
    )


def _harmed_by_addresses(
    kinds: set[str], texts: set[str], strings: set[str], read: list[tuple[str, str]]
) -> set[str]:
    if (
        any(hides_script_url(text, reading) for text, reading in read)
        or any(scatters_script_url(text) and not _IDLE.match(text) for text in texts)
        or spell_script_url(strings)
    ):
        return _OF_ADDRESSES
    found = set[str]()
    if kinds & {ADDRESS, URL} and any(map(is_part_of_script_url, texts)):
        found |= {ADDRESS, URL}
    if kinds & {LINK, URL} and any(
        is_held_script_url(text) or (is_script_url(text) and not _IDLE.match(text)) for text in texts
    ):
        found |= {LINK, URL}
    return found
