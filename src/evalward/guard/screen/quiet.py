"""Ordinary code, recognised by its text: nothing to resolve and no ambiguity (guard.md §6).

A *quiet* program needs neither the survey nor the resolver. It names no capability (``triggers``). Its text has none
of the character sequences at which this grammar's tokens differ from V8's: each difference of guard.md §4 (U1 to U15)
needs one of them, so the tree of a quiet program is the tree of V8. The tree then decides the few places that the text
leaves open: what a bracket is, and which function an ``await`` is in. A program that is not certainly quiet goes
through the survey.

The survey costs 0.4 of a parse; this costs 0.15, most of it for the search for words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from evalward.guard.screen.triggers import names_something, words_in
from evalward.guard.syntax.ambiguity import LONE_CR, UNUSUAL_SPACE
from evalward.guard.syntax.depth import may_nest_deeper
from evalward.guard.syntax.grammar import kind
from evalward.guard.syntax.line_ends import MODIFIERS_BROKEN, UPDATE_GOES_ON, USING_BROKEN
from evalward.guard.syntax.survey import (
    ASYNC_BROKEN,
    BARE_THIS,
    RETURN_BROKEN,
    enters,
    is_dynamic,
    node_limit,
)
from evalward.guard.syntax.tokens import suspect_kinds
from evalward.guard.syntax.words import UNPLAIN_LET, Words

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.rules import Limits
    from evalward.guard.syntax.program import ParsedProgram

# An escape that may spell a name, or may lie within one: `\\s` behind a letter is left to the tree.
_SPELLS = re.compile(rb"\\(?:[xu0-9\r\n\x80-\xff]|(?<=[\w$]\\)[AC-Zac-eg-mo-qsuw-z_$])")
_TRIVIA = rb"(?:[\t\n\v\f\r ]|//[^\n\r\x80-\xff]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
# Where tokens differ: a slash behind a brace (U6, U9, U10), a slash that ends a line or meets a comment (U5), what
# JSX needs (U7), a lone CR (U11), and the words that are keywords in one reading and names in the other (U4, U8, U14).
_PARTS = (
    (b"}", re.compile(rb"\}(?=" + _TRIVIA + rb"[/\x80-\xff])")),
    (b"/", re.compile(rb"/(?:[ \t]*+(?:[\r\n\v\f\x80-\xff>]|/[/*])|\*)")),
    (b"<", re.compile(rb"<(?:\s*+/|!--)")),
    (b"\r", LONE_CR),
    (b"#", re.compile(rb"#!")),
    (b"++", UPDATE_GOES_ON),
    (b"--", re.compile(rb"-->|" + UPDATE_GOES_ON.pattern)),
)
# Of the words that a text has.
_WORDS = {
    b"let": UNPLAIN_LET,
    b"return": RETURN_BROKEN,
    b"async": ASYNC_BROKEN,
    b"using": USING_BROKEN,
    b"with": re.compile(rb"with\s*+[(/\x80-\xff]"),
    b"yield": re.compile(rb"yield"),
    b"this": BARE_THIS,
    **MODIFIERS_BROKEN,
}
_TELLING = frozenset(_WORDS)
_AWAIT = re.compile(rb"await(?<![\w$]await)(?![\w$])")
# Behind these a bracket opens an array, a pattern or nothing.
_OPERATORS = b"(=[!&|?+-*%<>~^:"
_SPACE = 0x20
_SUBSCRIPT = kind("subscript_expression")
_COMPUTED = kind("computed_property_name")
_AWAIT_EXPRESSION = kind("await_expression")
# The descent to a place may visit each node of its statement: the budget of visits, per node of the tree.
_LOOKS_PER_NODE = 16
_LOOKS_AT_START = 4_096


def is_quiet(program: ParsedProgram, limits: Limits, *, driven: bool = False, electron: bool = False) -> bool:
    """Say whether ``program`` certainly has nothing to resolve and no ambiguity, and keeps the limits."""
    source, root = program.source, program.tree.root_node
    present = words_in(source)
    if not _has_quiet_text(source, present):
        return False
    if names_something(source, present, driven=driven, electron=electron):
        return False
    if root.descendant_count > node_limit(limits) or may_nest_deeper(root, limits.depth):
        return False
    return _has_quiet_places(program)


def _has_quiet_text(source: bytes, present: frozenset[bytes]) -> bool:
    """Say whether a text has none of the character sequences at which tokens differ; ``present`` are its words."""
    if (b"\\" in source and _SPELLS.search(source)) or suspect_kinds(source):
        return False
    for needle, pattern in _PARTS:
        if needle in source and pattern.search(source):
            return False
    for word in present & _TELLING:
        if _WORDS[word].search(source):
            return False
    return source.isascii() or UNUSUAL_SPACE.search(source) is None


def _has_quiet_places(program: ParsedProgram) -> bool:
    source = program.source
    brackets = _open_brackets(source)
    awaits = [match.start() for match in _AWAIT.finditer(source)] if b"await" in source else []
    if not brackets and not awaits:
        return True
    places = _Places(program)
    return all(places.is_static(place) for place in brackets) and (
        not awaits or places.awaits_rightly(awaits)
    )


def _open_brackets(source: bytes) -> list[int]:
    """Return the places of ``[`` whose preceding character does not prove that it opens an array."""
    found = []
    place = source.find(b"[")
    while place >= 0:
        before = place - 1
        if before > 0 and source[before] == _SPACE:
            before -= 1
        if before < 0 or (source[before] not in _OPERATORS and source[before - 2 : before + 1] != b"..."):
            found.append(place)
        place = source.find(b"[", place + 1)
    return found


class _Places:
    """Finds the node at a place, by a descent from its statement."""

    def __init__(self, program: ParsedProgram) -> None:
        self._program = program
        root = program.tree.root_node
        self._statements = root.children
        self._starts = [statement.start_byte for statement in self._statements]
        self._looks = _LOOKS_AT_START + _LOOKS_PER_NODE * root.descendant_count

    def _statement(self, place: int) -> Node | None:
        index = bisect_right(self._starts, place) - 1
        if index < 0:
            return None
        statement = self._statements[index]
        self._looks -= statement.descendant_count
        return statement if self._looks > 0 else None

    def is_static(self, place: int) -> bool:
        """Say whether the bracket at ``place`` is no computed key, and no subscript but by a literal."""
        statement = self._statement(place)
        node = statement.named_descendant_for_byte_range(place, place + 1) if statement else None
        if node is None or node.kind_id == _COMPUTED:
            return False
        return node.kind_id != _SUBSCRIPT or not is_dynamic(node)

    def awaits_rightly(self, awaits: list[int]) -> bool:
        """Say whether each ``await`` is the operator, in a function where it is one."""
        words = Words(self._program, {b"await": len(awaits)})
        for place in awaits:
            statement = self._statement(place)
            node = statement.named_descendant_for_byte_range(place, place + 1) if statement else None
            if statement is None or node is None or node.kind_id != _AWAIT_EXPRESSION:
                return False
            words.use(node, awaits=True)
            above: Node | None = statement
            while above is not None and above.id != node.id:
                enters(words, above)
                self._looks -= above.child_count
                above = above.child_with_descendant(node)
        return self._looks > 0 and words.fault() is None
