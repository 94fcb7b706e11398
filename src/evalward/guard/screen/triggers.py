"""Whether a payload holds anything to resolve at all (guard.md §6).

A capability is reached by a name that stands in the text, or by a key that is put together. So a payload with
none of the names, no computed key, no bare ``this`` and no escape that could spell a name reaches none, in
whatever way it is parsed, and the resolver need not run. Every test errs towards True.

The names are whole words of the raw text, in code, strings and comments alike: what the catalogue labels or
lists as a sink, and ``_MEMBERS``. Some names of functions are *not* among them, although a capability may pass
through what they name, because they yield none that was not named otherwise:

- ``then``, ``apply``, ``call``, ``bind``, ``toString``, ``valueOf``, ``toJSON``, ``Symbol``: they call or hand on a
  function that the payload already has. To be a capability it was named, or read by a computed key.
- ``super.x``, ``new.target``: a function's member, or a function, of the payload; the way on from there is
  ``constructor``, ``__proto__`` or a computed key.
- a template's tag is a callee like any other.

``mentions`` says which words are forgiven in which places. What is *written* matters too: a standard object
that is replaced or changed (``JSON.parse = f``) changes every program, so that one which is used other than by
a call of a member loads a payload that assigns members.

What made the difference, on 1 KB: one regular expression over all words costs 0.8 of a parse, ``in`` for each
word 0.5, taking the words out by ``translate`` and ``split`` and one look into a set 0.05.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.catalogue import load_catalogue
from evalward.guard.screen.mentions import are_harmless

if TYPE_CHECKING:
    from evalward.guard.catalogue import Catalogue
    from evalward.guard.syntax.program import Survey

# Members that lead somewhere from ordinary values, and what judges that which it is given.
_MEMBERS = (
    "constructor prototype __proto__ caller callee arguments prepareStackTrace captureStackTrace "
    "getPrototypeOf setPrototypeOf getOwnPropertyDescriptor getOwnPropertyDescriptors defineProperty "
    "defineProperties __lookupGetter__ __lookupSetter__ __defineGetter__ __defineSetter__ Reflect Proxy "
    "setTimeout setInterval setImmediate evaluate evaluateHandle evaluateAll $eval $$eval waitForFunction "
    "exposeFunction exposeBinding setAttribute setAttributeNS setAttributeNode setAttributeNodeNS "
    "createElement createElementNS insertAdjacentHTML write writeln innerHTML outerHTML srcdoc src href "
    "action location import export attributes getAttributeNode getNamedItem createAttribute "
    "createAttributeNS Attr toggleAttribute execCommand executeScript executeAsyncScript electron "
    "electronApp app shell BrowserWindow webContents javascript vbscript DOMParser createObjectURL "
    "setContent loadURL goto fulfill navigate audioWorklet paintWorklet layoutWorklet animationWorklet "
    "sharedStorageWorklet _stdout _stderr nodeIntegration nodeIntegrationInWorker nodeIntegrationInSubFrames "
    "getAttributeNodeNS script SCRIPT scripts currentScript "
    "html parseHTML crashReporter chromium firefox webkit playwright _electron "
    "getApplicationMenu buildFromTemplate MenuItem "
    "enum"  # no capability, but no name either (`tokens`)
)
# Every byte that no ASCII name holds becomes a blank. What begins with a digit is no name: V8 lets none follow
# a number without a gap.
_NAMES_ONLY = bytes(byte if byte in b"_$" or bytes([byte]).isalnum() else 0x20 for byte in range(256))


_COPIED_TO_PAGE = frozenset({b"assign", b"document"})  # properties whose names stand elsewhere: `arg`
# What a word of `_MEMBERS` must name before any of its own members can be reached.
_ONLY_NAMED = frozenset({"Attr", "HandlerAttr", "ScriptElement", "ScriptText", "electron.crashReporter"})


def _words(catalogue: Catalogue) -> frozenset[bytes]:
    words = {*_MEMBERS.split(), *catalogue.evaluating}
    for path, entry in catalogue.entries.items():
        if path in _ONLY_NAMED:
            continue
        if (entry.label is not None and "." not in path) or _is_labelled(catalogue, entry.result):
            words.add(path.rpartition(".")[2])
        words.update(
            name
            for name, member in entry.members.items()
            if member.label is not None or _is_labelled(catalogue, member.result)
        )
        words.update(entry.sinks)
    return frozenset(word.encode() for word in words)


def _is_labelled(catalogue: Catalogue, result: str) -> bool:
    """Say whether a result, or what it is a promise or an array of, is a capability."""
    entry = catalogue.entries.get(result.rpartition(":")[2].removeprefix("@"))
    return entry is not None and entry.label is not None


_TRIGGERS = _words(load_catalogue())


def _standard_objects(catalogue: Catalogue) -> dict[bytes, bool]:
    """Return the globals of ECMA-262, each with whether it holds functions that a payload could replace."""
    names = {name for path, name in catalogue.standard if path == "globalThis"}
    holders = {path for path, member in catalogue.standard if member not in ("constructor", "prototype")}
    return {name.encode(): name in holders for name in sorted(names - {"globalThis"})}


_STANDARD = _standard_objects(load_catalogue())
_STANDARD_NAMES = frozenset(_STANDARD)
# The name comes first in each pattern: what begins with a literal is searched for ten times as fast.
_STANDARD_USE = {
    name: (
        re.compile(
            rb"%s(?<![\w$]%s)(?![\w$]|(?:\.[\w$]+)?\(|(?:(?<=new %s)|(?<=instanceof %s))(?!\.))"
            % (name, name, name, name)
        ),
        re.compile(
            rb"%s(?![\w$])\s*+(?:/|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*%%&|^])?=(?![=>])|[\]}]\s*=|\+\+|--)"
            % name
        ),
    )
    for name in _STANDARD
}
# A member on the left of an assignment, or what may stand for one.
_MEMBER_WRITE = re.compile(
    rb"(?:[\w$)\]]\s*\??\.\s*#?[\w$]+|[\]})])\s*(?:(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^])?=(?![=>])|\+\+|--)"
    rb"|(?:\+\+|--)|(?<![\w$])(?:delete|assign)(?![\w$])|for\s*\([^;()]*[.\])][^;()]* (?:of|in) |//|/\*"
)


def is_loaded(source: bytes, survey: Survey, *, strict: bool) -> bool:
    """Whether the resolver must run on a payload."""
    del strict
    if (
        survey.dynamic_subscript
        or survey.computed_key
        or survey.bare_this
        or survey.with_statement
        or survey.escaped_identifier
        or survey.escaped_string
    ):
        return True
    return names_something(source)


def names_something(source: bytes) -> bool:
    """Whether the words of a text may name a capability, or replace a standard object."""
    present = frozenset(source.translate(_NAMES_ONLY).split())
    if not present.isdisjoint(_TRIGGERS) and not are_harmless(source, present & _TRIGGERS, present):
        return True
    if present >= _COPIED_TO_PAGE:
        return True
    return not present.isdisjoint(_STANDARD_NAMES) and _may_change(source, present & _STANDARD_NAMES)


def _may_change(source: bytes, names: frozenset[bytes]) -> bool:
    """Say whether a standard object may be replaced, or one of its members."""
    for name in names:
        other_use, assigned = _STANDARD_USE[name]
        if other_use.search(source) and (
            assigned.search(source) or (_STANDARD[name] and _MEMBER_WRITE.search(source))
        ):
            return True
    return False
