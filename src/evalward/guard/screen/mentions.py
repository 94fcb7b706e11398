"""Where a trigger word names no capability (guard.md §6).

A trigger word is harmless if *every* occurrence of it in the raw text has one of the forms below. A form holds
however the text is parsed, in code, strings and comments. It looks back no further than one character and one blank,
because a comment behind a line break or a slash may hide the dot.

- **Element sinks** (``src``, ``href``, ``innerHTML`` ...): they are written behind a dot, or by a name in text.
  A name without a dot is a variable. Behind a dot it is read if a member, a comparison, ``&&``, ``||`` or ``;``
  follows. Text writes only through what copies properties or writes attributes: with ``_KEYED_BY_TEXT`` in the
  payload no such word is harmless (computed keys and ``setAttribute`` are triggers themselves). ``value`` and
  ``textContent`` are sinks of attribute nodes only, and are harmless where nothing yields such a node.
- **Names of the global object that are ordinary names too** (``top``, ``parent``, ``self`` ...): only the global
  object has itself as a member, so behind a dot they mean something else, unless the receiver is the global object.
  Each of its other names is a trigger, as is a bare ``this``; ``this.top`` is not harmless.
- **Timers**: an arrow function right behind the parenthesis is the whole first argument, because no operator
  accepts one as its left operand. A parameter of the function given to ``new Promise`` is a native function, if no
  occurrence of the word ``Promise`` can redefine it.
- ``evaluate`` and similar methods with an arrow function: its body is in the same text.
- ``constructor(...) {`` behind ``{``, ``}`` or ``;`` defines a constructor, or is an error.
- ``createElement`` and ``setAttribute`` with a literal harmless name.
- ``write`` is a sink of documents only, and a variable of that name is that sink only by destructuring.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evalward.guard.screen.places import places

# The text before a word that no dot precedes, whatever comments and line breaks there are.
_NO_DOT = rb"(?:\A|[^.\s/\\\w$\x80-\xff] ?|[\w$)\]] )"
_ARROW = rb"(?:async )?(?:[A-Za-z_$][\w$]*|\([\w$, ]*\)) ?=>"
_HARMLESS_TAGS = (
    rb"(?:a|article|b|button|canvas|div|em|footer|form|h[1-6]|header|i|img|input|label|li|main|nav|ol|option|p|pre"
    rb"|section|select|small|span|strong|style|table|tbody|td|template|textarea|th|thead|tr|ul|video)"
)
_HARMLESS_ATTRIBUTES = (
    rb"(?:aria-[a-z]+|data-[a-z-]+|alt|class|disabled|for|hidden|id|name|role|tabindex|title|type|value)"
)
# Functions that write a property or an attribute named by text.
_KEYED_BY_TEXT = frozenset({b"assign"})
# Members that yield an attribute node. XPath does, too, and `evaluate` is a trigger.
_ATTRIBUTE_NODES = frozenset(
    {
        b"attributes",
        b"getAttributeNode",
        b"getAttributeNodeNS",
        b"createAttribute",
        b"createAttributeNS",
        b"removeAttributeNode",
        b"getNamedItem",
        b"getNamedItemNS",
        b"Attr",
        b"baseVal",
    }
)
_OF_ATTRIBUTE_NODES = frozenset({b"value", b"nodeValue", b"textContent"})
_PROMISE = re.compile(rb"Promise(?<![\w$]Promise)(?![\w$])")
_PROMISE_AS_IS = re.compile(rb"Promise(?:(?<=new Promise)\(|(?<=[\s(=>!,;:?]Promise)\.[a-z]+\()")
_SINKS = frozenset(
    {b"src", b"href", b"action", b"formAction", b"protocol", b"srcdoc", b"innerHTML", b"outerHTML"}
)
_GLOBAL_OBJECT = frozenset(
    {b"self", b"top", b"parent", b"frames", b"opener", b"root", b"global", b"view", b"open"}
)
_TIMERS = frozenset({b"setTimeout", b"setInterval", b"setImmediate"})
EVALUATIONS = frozenset({b"evaluate", b"evaluateAll", b"evaluateHandle", b"waitForFunction"})
"""Methods that evaluate what they are given: an arrow function may be judged where it is."""


# Characters before a word in which the text of a form lies: with space of any length, and without.
_BEFORE = 64
_NEAR = 16
# The head of `new Promise(resolve => setTimeout(resolve, ...))`, up to the timer.
_EXECUTOR = re.compile(
    rb"(?<![\w$.])new Promise\(\(?([A-Za-z_$][\w$]*)(?:, ?[A-Za-z_$][\w$]*)?\)? ?=> ?(?:\{ ?)?\Z"
)
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")


class _Form(NamedTuple):
    """The text that ends before a word, in how many characters it lies, and the text that begins behind the word."""

    before: re.Pattern[bytes]
    after: re.Pattern[bytes]
    reach: int


def _form(before: bytes, after: bytes, reach: int = _NEAR) -> _Form:
    return _Form(re.compile(before + rb"\Z"), re.compile(after), reach)


def _quoted(word: bytes) -> bytes:
    return rb"\((['\"`])%s\1" % word


def _forms() -> dict[bytes, tuple[_Form, ...]]:
    anything = rb""
    read = _form(rb"\.", rb"\??\.| ?[!=]==| && | \|\| |;")
    member_of_another = (
        _form(rb"[\w$)\]](?<!this)(?<!super)\??\.", anything),
        _form(rb"[{,] ?", rb" ?:"),
        _form(rb"'", rb"'"),
        _form(rb'"', rb'"'),
    )
    forms: dict[bytes, tuple[_Form, ...]] = {word: (_form(_NO_DOT, anything), read) for word in _SINKS}
    forms |= dict.fromkeys(_GLOBAL_OBJECT, member_of_another)
    forms |= dict.fromkeys(EVALUATIONS, (_form(rb"\.", rb"\(" + _ARROW),))
    forms |= dict.fromkeys(_TIMERS, (_form(anything, rb"\(" + _ARROW),))
    # Elsewhere it is Electron's module `protocol`.
    forms[b"protocol"] = (_form(rb"location\.", rb" ?[!=]==|[;,)]| [+?] | && | \|\| "),)
    forms[b"constructor"] = (_form(rb"[{};]\s*", rb"\([^()]*\)\s*\{", _BEFORE),)
    forms[b"createElement"] = (_form(rb"\.", _quoted(_HARMLESS_TAGS)),)
    forms[b"setAttribute"] = (_form(rb"\.", _quoted(_HARMLESS_ATTRIBUTES)),)
    forms[b"write"] = (
        _form(rb"(?:const|let|var|function) ", anything),
        _form(rb"(?:[^.\s/\\\w$\x80-\xff{,'\"`] ?|[\w$)\]] )", rb"(?! ?[:,}='\"`])"),
        _form(rb"['\"]", rb" [a-z ]*['\"]"),
    )
    forms[b"location"] = (
        _form(anything, rb"\.(?:pathname|search|origin|hostname|host|port)(?= ?[;.)])(?!\) ?=)"),
    )
    return forms


_HARMLESS = _forms()
# A document's `open` accepts a URL, too: in a text that names a document the word may only be a string that is compared
# or stored, or the key of a literal value, which no pattern has.
_OPEN_BESIDE_A_DOCUMENT = (
    _form(rb"[=:] ?'", rb"'"),
    _form(rb'[=:] ?"', rb'"'),
    _form(rb"[{,] ?", rb": ?(?:true|false|[0-9'\"])"),
)


def are_harmless(source: bytes, mentioned: frozenset[bytes], present: frozenset[bytes]) -> bool:
    """Say whether every occurrence of ``mentioned`` words is harmless; ``present`` are all words of ``source``."""
    if present.isdisjoint(_ATTRIBUTE_NODES):
        mentioned -= _OF_ATTRIBUTE_NODES
    if not mentioned <= _HARMLESS.keys():
        return False
    if b"open" in mentioned and b"document" in present:
        if not _is_harmless(source, b"open", _OPEN_BESIDE_A_DOCUMENT):
            return False
        mentioned -= {b"open"}
    if not mentioned.isdisjoint(_SINKS) and not (
        present.isdisjoint(_KEYED_BY_TEXT) and present.isdisjoint(_ATTRIBUTE_NODES)
    ):
        return False
    return all(_is_harmless(source, word, _HARMLESS[word]) for word in mentioned)


def _is_harmless(source: bytes, word: bytes, forms: tuple[_Form, ...]) -> bool:
    as_is: bool | None = None
    for start, end in places(source, (word,)):
        if (start and source[start - 1] in _NAME_BYTES) or (end < len(source) and source[end] in _NAME_BYTES):
            continue  # a part of a longer name
        if _has_form(source, start, end, forms):
            continue
        if word not in _TIMERS or not _is_given_a_resolver(source, start, end):
            return False
        if as_is is None:
            as_is = len(_PROMISE.findall(source)) == len(_PROMISE_AS_IS.findall(source))
        if not as_is:
            return False
    return True


def _has_form(source: bytes, start: int, end: int, forms: tuple[_Form, ...]) -> bool:
    for before, after, reach in forms:
        if after.match(source, end) and before.search(source, max(0, start - reach), start):
            return True
    return False


def _is_given_a_resolver(source: bytes, start: int, end: int) -> bool:
    """Say whether the timer between ``start`` and ``end`` is given the first parameter of a promise's executor."""
    executor = _EXECUTOR.search(source, max(0, start - _BEFORE), start)
    if executor is None:
        return False
    given = b"(" + executor[1]
    return source.startswith(given, end) and source[end + len(given) : end + len(given) + 1] in b",)"
