"""Whether a payload holds anything to resolve at all (guard.md §6).

A payload reaches a capability by a name in its text, or by a key that it computes. The resolver need not run on a
payload that has none of the names, no computed key, no bare ``this`` and no escape that could spell a name, in
whatever way it is parsed. Every test errs towards True.

The names are whole words of the raw text, in code, strings and comments alike. The table is derived: from the words
of the constructs (``wakes``), from what the catalogue labels, judges or lists as a sink, from the names that sinks
bind, and from the words of active markup. A capability may pass through functions whose names are *not* in the table,
because those yield nothing that was not named otherwise:

- ``then``, ``apply``, ``call``, ``bind``, ``toString``, ``valueOf``, ``toJSON``, ``Symbol`` call or pass on a function
  that the payload already has. To be a capability it was named, or read by a computed key.
- ``super.x`` and ``new.target`` are a function's member, or a function, of the payload. From there the way leads
  through ``constructor``, ``__proto__`` or a computed key.
- A template's tag is a callee like any other.

``mentions`` says which words are harmless in which places. What is *written* matters, too: a standard object that is
replaced or changed (``JSON.parse = f``) changes every program. So the resolver runs if the payload assigns members
and uses a standard object other than by calling a member.

Measured on 1 KB, in units of one parse: a regular expression of all words costs 0.8, ``in`` for each word 0.5,
``translate`` and ``split`` and one set operation 0.05.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard import markup
from evalward.guard.binding import DRIVER_GLOBALS, ELECTRON_GLOBALS, USUAL_BINDINGS, BindingKind
from evalward.guard.catalogue import load_catalogue
from evalward.guard.catalogue.any_receiver import EVALUATING, JUDGING, PARAMETERS_OF_COMMANDS, STARTING
from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.screen.mentions import EVALUATIONS, are_harmless
from evalward.guard.screen.places import before, is_member, places
from evalward.guard.sinks import sinks
from evalward.guard.syntax.tokens import RESERVED_NAMES
from evalward.guard.target import Target

if TYPE_CHECKING:
    from evalward.guard.catalogue import Catalogue
    from evalward.guard.syntax.program import Survey

# Every byte that no ASCII name holds becomes a blank. What begins with a digit is no name: V8 lets none follow
# a number without a gap.
_NAMES_ONLY = bytes(byte if byte in b"_$" or bytes([byte]).isalnum() else 0x20 for byte in range(256))


_COPIED_TO_PAGE = frozenset({b"assign", b"document"})  # properties whose names stand elsewhere: `arg`
# What a payload reaches only by a word that wakes the resolver anyway, so that its own members need not.
_REACHED_BY = {
    "Attr": "Attr",
    "HandlerAttr": "getAttributeNode",
    "ScriptElement": "script",
    "ScriptText": "script",
    "electron.crashReporter": "crashReporter",
    "jQueryWindow": "window",
}
# Methods that judge what they are given, and that strings, arrays and page libraries have too. They wake nothing by
# themselves, because what makes their argument active (`markup`, a handler's name, a script's element) does.
_ORDINARY_METHODS = frozenset(
    {
        *("accept", "after", "append", "appendTo", "assign", "before", "insertAfter", "insertBefore", "open"),
        *("prepend", "prependTo", "replace", "replaceWith", "send", "wrap", "wrapAll", "wrapInner"),
        *("continue", "fallback"),
    }
)
# A bound page, context or browser wakes nothing by itself: each of its dangerous members has a name that does.
_ELECTRON_KINDS = frozenset({BindingKind.ELECTRON, BindingKind.ELECTRON_APP_MODULE, BindingKind.ELECTRON_APP})


def _words(catalogue: Catalogue) -> frozenset[bytes]:
    """Return every word that wakes the resolver, derived from what the guard knows of capabilities."""
    words = {*markup.WORDS, *_bound_names(), *EVALUATING}
    words |= (JUDGING.keys() - _ORDINARY_METHODS) | {*STARTING}
    for construct in CONSTRUCTS.values():
        words.update(construct.wakes.split())
    for path, entry in catalogue.entries.items():
        if path in _REACHED_BY or path.rpartition(".")[0] in _REACHED_BY:
            continue
        if (entry.label is not None and "." not in path) or _is_labelled(catalogue, entry.result):
            words.add(path.rpartition(".")[2])
        words.update(
            name
            for name, member in entry.members.items()
            if member.label is not None or _is_labelled(catalogue, member.result)
        )
        words.update(name for name, kind in entry.sinks.items() if kind != "text")
    return frozenset(word.encode() for word in words).union(RESERVED_NAMES)


def _bound_names() -> set[str]:
    """Return the names that a sink or a target's realm binds to Electron or to a browser driver."""
    bound = [*USUAL_BINDINGS.values(), *(sink.bindings for sink in sinks().values())]
    return {
        name
        for names in bound
        for name, kinds in names.items()
        if not _ELECTRON_KINDS.isdisjoint(kinds.split("|"))
    } | {*ELECTRON_GLOBALS, *DRIVER_GLOBALS}


def _is_labelled(catalogue: Catalogue, result: str) -> bool:
    """Say whether a result, or what it is a promise or an array of, is a capability."""
    entry = catalogue.entries.get(result.rpartition(":")[2].removeprefix("@"))
    return entry is not None and entry.label is not None


TRIGGERS = _words(load_catalogue())
"""Every word that wakes the resolver, in UTF-8."""


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

# A prototype that is handed on, as the receiver of a method that may change it.
_PROTOTYPE_AS_VALUE = re.compile(rb"prototype(?![\w$])(?!\s*(?:\?\.|[.\[(]))")


# A driver's objects wake by their names where a member is read that neither their API nor ECMA-262 has.
# What gives text to an element, which may be a script that has not run.
_TEXTS = frozenset(b"textContent innerText outerText text data nodeValue".split())
# Such a member on the left of an assignment, in a pattern that is assigned to, or as the variable of a loop.
_WRITTEN = re.compile(
    rb"\b['\"`\])\s]*"
    rb"(?:(?:\+|\?\?|\|\||&&)?=(?![=>])|(?<=\s)(?:of|in)\b|[^\[{;]*[\]}]\s*=(?![=>]))"
)
_TEXT_METHODS = frozenset(
    b"append prepend replaceChildren insertAdjacentText appendData insertData replaceData replaceWith "
    b"createTextNode Text".split()
)
_BESIDE = frozenset({b"before", b"after"})
# Members of an event that may be the window, and what gives the functions of a window without a name of one.
_WINDOWS_OF_EVENTS = frozenset(b"view source target currentTarget srcElement composedPath".split())
# A frame that the payload names is a window under that name.
_NAMING = re.compile(rb"\.\s*name(?![\w$])" + _WRITTEN.pattern + rb"|['\"`]name['\"`]")
_BEFORE_MEMBERS = frozenset(b".{,'\"`/\n")  # a dot, a pattern, quotes, or a comment
_ENDS_NAME = re.compile(rb"(?![\w$])")
_LISTING = frozenset(b"values entries assign getOwnPropertyDescriptors".split())
# A spread that is none of an array's elements or of arguments: windows are not iterable.
_OBJECT_SPREAD = re.compile(rb"[^\[(\s]\s*\.\.\.")
_DRIVER_NAMES = frozenset(name.encode() for name in USUAL_BINDINGS[Target.NODE] if name != "arg")
_MEMBER = re.compile(
    rb"\.\s*([A-Za-z_$][\w$]*)|\[\s*['\"`]([\w$]+)"
    rb"|((?:const|let|var)\s*\{|\(\s*\{[^}]*\}\s*=(?![=>]))"
)


def _familiar(catalogue: Catalogue) -> frozenset[bytes]:
    """Return the members that run nothing: of drivers, and of the objects of ECMA-262."""
    standard = {name for path, name in catalogue.standard if path != "globalThis"}
    return (
        frozenset(name.encode() for name in catalogue.harmless_of_drivers | standard | {"length", ""})
        | EVALUATIONS
    )


_FAMILIAR = _familiar(load_catalogue())


# What Puppeteer's locators evaluate is given to methods that arrays and Playwright's locators have, too.
_LOCATING = frozenset({b"locator", b"locatorRace", b"asLocator"})
_LOCATES_BY_VALUE = re.compile(rb"(?<![\w$])locator(?![\w$])(?!\s*\(\s*['\"`])")
_OF_LOCATORS = frozenset({b"filter", b"map", b"toString"})


_GOING_ON = frozenset({b"continue", b"fallback"})  # of a request, perhaps with another URL
_OF_COMMANDS = frozenset(name.encode() for name in PARAMETERS_OF_COMMANDS)


def _asks_driver(source: bytes, present: frozenset[bytes]) -> bool:
    """Whether a driver's object may be asked for a member that no list names, or that evaluates what it is given."""
    if b"accept" in present or (b"send" in present and not present.isdisjoint(_OF_COMMANDS)):
        return True  # a chooser's takes files, a session's commands
    if b"url" in present and not present.isdisjoint(_GOING_ON):
        return True
    if not present.isdisjoint(_LOCATING) and not present.isdisjoint(_OF_LOCATORS):
        return True
    if not present.isdisjoint(_LOCATING) and _LOCATES_BY_VALUE.search(source) is not None:
        return True
    return not present.isdisjoint(_DRIVER_NAMES) and any(
        taken or (name or quoted) not in _FAMILIAR for name, quoted, taken in _MEMBER.findall(source)
    )


# A member that an object of Electron keeps to itself (`private_api`), by a name or in a pattern.
_PRIVATE_MEMBER = re.compile(rb"(?:\.\s*|['\"`]|[{,]\s*)_(?!_)[A-Za-z]")


def is_loaded(
    source: bytes, survey: Survey, *, strict: bool, driven: bool = False, electron: bool = False
) -> bool:
    """Whether the resolver must run on a payload, which has a driver's objects if it is ``driven``."""
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
    return names_something(source, words_in(source), driven=driven, electron=electron)


def words_in(source: bytes) -> frozenset[bytes]:
    """Return the words of a text; a name of other letters than ASCII's is cut at these."""
    return frozenset(source.translate(_NAMES_ONLY).split())


def names_something(
    source: bytes, present: frozenset[bytes], *, driven: bool = False, electron: bool = False
) -> bool:
    """Whether the words of a text may name a capability, or replace a standard object; ``present`` are its words."""
    if not present.isdisjoint(TRIGGERS) and not are_harmless(source, present & TRIGGERS, present):
        return True
    if (
        present >= _COPIED_TO_PAGE
        or _may_list_window(source, present)
        or (driven and _asks_driver(source, present))
    ):
        return True
    if electron and b"_" in source and _PRIVATE_MEMBER.search(source) is not None:
        return True
    if not present.isdisjoint(_TEXT_METHODS) or (
        not present.isdisjoint(_BESIDE) and _is_beside(source, present & _BESIDE)
    ):
        return True
    texts = present & _TEXTS
    if texts and any(
        is_member(source, start) and _WRITTEN.match(source, end) is not None
        for start, end in places(source, texts)
    ):
        return True
    return not present.isdisjoint(_STANDARD_NAMES) and _may_change(source, present & _STANDARD_NAMES)


def _is_beside(source: bytes, names: frozenset[bytes]) -> bool:
    """Whether one of the names is a member, or may be one in a pattern or an object."""
    for name in names:
        seen, inside = 0, False  # of an object or a block, up to where the text has been searched
        for start, end in places(source, [name]):
            opened, closed = source.rfind(b"{", seen, start), source.rfind(b"}", seen, start)
            inside = opened > closed if opened != closed else inside
            seen = start
            if _ENDS_NAME.match(source, end) is not None and (inside or is_member(source, start)):
                return True
    return False


def _may_list_window(source: bytes, present: frozenset[bytes]) -> bool:
    """Whether the functions of a frame, or of a window of an event, may be listed or copied without a name."""
    lists = b"Object" in present and not present.isdisjoint(_LISTING)
    if not lists and _OBJECT_SPREAD.search(source) is None:
        return False
    # The tag of the frame may be put together, or stand in capitals.
    if b"frame" in source.lower() or (b"name" in present and _NAMING.search(source) is not None):
        return True
    carriers = present & _WINDOWS_OF_EVENTS
    return any(
        _ENDS_NAME.match(source, end) is not None
        and _BEFORE_MEMBERS.issuperset(before(source, start) or b"-")
        for start, end in places(source, carriers)
    )


def _may_change(source: bytes, names: frozenset[bytes]) -> bool:
    """Say whether a standard object may be replaced, or one of its members."""
    for name in names:
        other_use, assigned = _STANDARD_USE[name]
        if other_use.search(source) and (
            assigned.search(source)
            or (_STANDARD[name] and _MEMBER_WRITE.search(source))
            or _PROTOTYPE_AS_VALUE.search(source)
        ):
            return True
    return False
