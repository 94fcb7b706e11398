"""Whether a payload holds anything to resolve at all (guard.md §6).

A capability must be named somewhere, by a word or by a key that is put together, so a payload with none of
these words, no computed key and no bare ``this`` reaches none, however it is parsed. Every test errs towards True.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.catalogue import load_catalogue

if TYPE_CHECKING:
    from evalward.guard.catalogue import Catalogue
    from evalward.guard.program import Survey

# Members that lead somewhere from ordinary values, or sinks that judge what they are given.
_MEMBERS = (
    "constructor prototype __proto__ caller callee arguments prepareStackTrace getPrototypeOf setPrototypeOf "
    "getOwnPropertyDescriptor defineProperty defineProperties __lookup __define Reflect Proxy Symbol setTimeout "
    "setInterval setImmediate evaluate evaluateHandle $eval waitForFunction evaluateAll exposeFunction exposeBinding "
    "setAttribute createElement insertAdjacentHTML write innerHTML outerHTML srcdoc src href action location with import "
    "export super new.target toString valueOf toJSON then apply electron app shell BrowserWindow webContents"
)


def _words(catalogue: Catalogue) -> frozenset[str]:
    words = set(_MEMBERS.split())
    for path, entry in catalogue.entries.items():
        if entry.label is not None:
            words.add(path.rpartition(".")[2])
        words.update(name for name, member in entry.members.items() if member.label is not None)
        words.update(entry.sinks)
    words.update(
        name
        for name, member in catalogue.globals.items()
        if member.label is not None or member.result == "@globalThis"
    )
    return frozenset(words - {"constructor.prototype"})


def _pattern(words: frozenset[str]) -> re.Pattern[bytes]:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rb"(?<![\w$])(?:" + b"|".join(re.escape(word.encode()) for word in ordered) + rb")")


_TRIGGER = _pattern(_words(load_catalogue()))


def is_loaded(source: bytes, survey: Survey, *, strict: bool) -> bool:
    """Whether the resolver must run on a payload."""
    del strict
    return (
        survey.dynamic_subscript
        or survey.escaped_subscript
        or survey.computed_key
        or survey.bare_this
        or survey.with_statement
        or survey.import_export
        or survey.meta_property
        or survey.escaped_identifier
        or survey.escaped_string
        or survey.tagged_template
        or _TRIGGER.search(source) is not None
    )
