"""Texts that this grammar accepts and every engine rejects, because ECMA-262 forbids a token there (guard.md §4).

An engine rejects such a text as a whole, so nothing in it runs. But the tree describes a program that no engine sees,
and the text would count as valid JavaScript. The guard rejects: commas with nothing between them (in
objects, arguments, parameters and patterns), a line break inside a string, before `=>` or behind `throw`, an escape
that stands for no character of a name or for no character at all, `enum` and `export` as names, an escaped reserved
word, and `#!` anywhere but at the start. docs/explanation/proof.md lists the errors that only the engines report.

``suspect_kinds`` tests the text alone, and only nodes of the kinds that it returns are examined. Every pattern begins
with a literal, because each one that begins with a character class costs 0.05 of a parse.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from evalward.guard.syntax.grammar import COMMENTS, kind, kinds
from evalward.guard.syntax.landmarks import landmarks
from evalward.guard.syntax.literals import identifier
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLE: Final = re.compile(rb",(?<=[\s,({/\x80-\xff],)")
_ARROW_OFF_ITS_LINE: Final = re.compile(rb"=>(?<![\w$)] =>)(?<![\w$)]=>)")
_THROW_BROKEN: Final = re.compile(rb"throw(?![ \t]*+(?:[^\s/\x80-\xff]|/[^/*]))")
_ESCAPED: Final = re.compile(rb"\\u")
# What follows a closing quote; a text that begins so is tested again.
_QUOTE_ON_A_LINE: Final = re.compile(rb"\n[ \t]*+(['\"])(?![A-Zb-eg-hj-np-z0-9])")
_QUOTE_BEHIND_COMMENT: Final = re.compile(rb"\*/\s*+['\"]")
_QUOTE_BEHIND_CR: Final = re.compile(rb"\r\s*+['\"]")
_BLANKS: Final = b" \t\r\v\f"

_OBJECTS: Final = kinds(
    "object", "object_pattern", "arguments", "formal_parameters", "named_imports", "export_clause"
)
_STRING: Final = kind("string")
_ARROW: Final = kind("arrow_function")
_THROW: Final = kind("throw_statement")
_TERNARY: Final = kind("ternary_expression")
_ESCAPE: Final = kind("escape_sequence")
_HASH_BANG: Final = kind("hash_bang_line")
_NAMES: Final = kinds("identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")
_ANY_NAME: Final = _NAMES | kinds(
    "property_identifier", "private_property_identifier", "statement_identifier"
)
_COMMA: Final = kind(",", named=False)
_GOES_TO: Final = kind("=>", named=False)
_QUESTION_MARK: Final = kind("?", named=False)
RESERVED_NAMES: Final = (b"enum", b"export")
"""The reserved words that the grammar takes for names."""
_RESERVED: Final = frozenset(
    {
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "function",
        "if",
        "import",
        "in",
        "instanceof",
        "new",
        "null",
        "return",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "var",
        "void",
        "while",
        "with",
    }
)
_MAX_CODE_POINT: Final = 0x10FFFF


def suspect_kinds(source: bytes) -> frozenset[int]:
    """Return the kinds of the nodes that may hold a token which engines reject; that others hold none is certain.

    Reserved words are left to ``refused_token``: they are triggers, so a quiet text has none.
    """
    found: frozenset[int] = frozenset()
    if _HOLE.search(source):
        found |= _OBJECTS
    if _ARROW_OFF_ITS_LINE.search(source):
        found |= {_ARROW}
    if b"throw" in source and _THROW_BROKEN.search(source):
        found |= {_THROW}
    slashed = b"/" in source
    if slashed and b"/?" in source:
        found |= {_TERNARY}
    if b"#" in source and source.find(b"#!") > 0:
        found |= {_HASH_BANG}
    if b"\\" in source and _ESCAPED.search(source):
        found |= _ANY_NAME | {_ESCAPE}
    if (
        (slashed and b"*/" in source and _QUOTE_BEHIND_COMMENT.search(source))
        or (b"\r" in source and _QUOTE_BEHIND_CR.search(source))
        or any(_may_close(source, match) for match in _QUOTE_ON_A_LINE.finditer(source))
    ):
        found |= {_STRING}
    return found


def _has_reserved_word(source: bytes) -> bool:
    """Say whether the text has a reserved word that the grammar takes for a name."""
    return any(word in source for word in RESERVED_NAMES)


def _may_close(source: bytes, match: re.Match[bytes]) -> bool:
    """Say whether the quote that begins a line may close a string of the line above."""
    start = match.start()
    above = source[source.rfind(b"\n", 0, start) + 1 : start].strip(_BLANKS)
    quote = match[1]
    if quote not in above:
        return not above or above.startswith(b"/")  # the string may have begun further up
    other = b"'" if quote == b'"' else b'"'
    return bool(above.count(quote) & 1 or other in above or b"`" in above or b"/" in above or b"\\" in above)


def refused_token(root: Node, source: bytes) -> Node | None:
    """Return the first node, in the order of the text, that every engine rejects, or None."""
    wanted = suspect_kinds(source)
    if _has_reserved_word(source):
        wanted |= _NAMES
    if not wanted:
        return None
    refused = [_refused(node, source) for node in landmarks(root, wanted)]
    return min((node for node in refused if node), key=lambda node: node.start_byte, default=None)


def _refused(node: Node, source: bytes) -> Node | None:
    """Return the node, or the part of it, that an engine rejects."""
    number = node.kind_id
    if number in _ANY_NAME or number == _ESCAPE:
        return node if _is_no_token(node, source) else None
    if number == _HASH_BANG:
        return node if node.start_byte else None
    children = node.children
    if number in _OBJECTS:
        return _empty_place(children)
    if number == _STRING:
        broken = any(_breaks(source, left, right) for left, right in itertools.pairwise(children))
        return children[-1] if broken else None
    return _refused_in_order(number, children, source)


def _refused_in_order(number: int, children: list[Node], source: bytes) -> Node | None:
    """Return the part of a conditional, a `throw` or an arrow function that may not stand where it does."""
    if number == _TERNARY:
        # The grammar drops a slash before a question mark.
        pairs = itertools.pairwise(children)
        dropped = (
            b for a, b in pairs if b.kind_id == _QUESTION_MARK and b"/" in source[a.end_byte : b.start_byte]
        )
        return next(dropped, None)
    code = [child for child in children if child.kind_id not in COMMENTS]
    if number == _THROW:
        return children[0] if len(code) > 1 and _breaks(source, *code[:2]) else None
    pairs = itertools.pairwise(code)
    return next((b for a, b in pairs if b.kind_id == _GOES_TO and _breaks(source, a, b)), None)


def _breaks(source: bytes, left: Node, right: Node) -> bool:
    return LINE_BREAK.search(source, left.end_byte, right.start_byte) is not None


def _empty_place(children: list[Node]) -> Node | None:
    """Return a comma that no element precedes."""
    empty = True
    for child in children[1:]:
        if child.kind_id == _COMMA:
            if empty:
                return child
            empty = True
        elif child.kind_id not in COMMENTS:
            empty = False
    return None


def _is_no_token(node: Node, source: bytes) -> bool:
    name = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    if node.kind_id == _ESCAPE:
        return name.startswith("\\u{") and int(name[3:-1], 16) > _MAX_CODE_POINT
    if "\\" in name:
        name = identifier(name)
        if not _is_name(name.removeprefix("#")):
            return True
    return node.kind_id in _NAMES and name in _RESERVED


def _is_name(name: str) -> bool:
    """Say whether the text is a name with `$`, ZWNJ or ZWJ in it (ECMA-262 §12.7)."""
    plain = name.replace("$", "_").replace("\u200c", "_" if name[:1] != "\u200c" else "-")
    return plain.replace("\u200d", "_" if name[:1] != "\u200d" else "-").isidentifier()
