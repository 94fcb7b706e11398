"""Early errors of ``using`` declarations (explicit resource management, a later ECMA-262 than 2025).

They are read where they are most used: in a block, and in the head of a for-of loop. Elsewhere, and with
``await``, they are not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.harden import name_errors
from evalward.guard.harden.declared_names import Declared
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from tree_sitter import Node


def using(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``using`` in a block: names alone, each with a value."""
    parts = children[:-1]
    if KIND_NAMES[children[-1].kind_id] != ";":
        walk.check_inserted_semicolon(node, children[-1].end_byte)
        parts = children
    word, first = parts[0], parts[1]
    parent = "" if node.parent is None else KIND_NAMES[node.parent.kind_id]
    if parent != "statement_block" or KIND_NAMES[word.kind_id] != "using":
        raise fail("using outside of a block, or with await", node)
    _check_line(walk, word, first)
    for each in parts[1:]:
        if not each.is_named:
            continue
        name, *rest = walk.children(each)
        _check_name(walk, name)
        if not rest:
            raise fail("a declaration without the value that it needs", each)
        for text, bound in name_errors.bound_names(walk, name, place):
            if not place.scope.declare_lexical(text, Declared.LEXICAL):
                raise fail("a name is declared twice", bound)
        walk.push(rest[-1], place)


def head(walk: Walk, word: Node, name: Node, *, plain: bool) -> None:
    """Check ``using`` in the head of a loop; ``plain`` is a for-of loop without ``await``."""
    if not plain:
        raise fail("using in the head of another loop than for-of", word)
    _check_name(walk, name)
    _check_line(walk, word, name)


def _check_line(walk: Walk, word: Node, name: Node) -> None:
    if LINE_BREAK.search(walk.source, word.end_byte, name.start_byte):
        raise fail("using with a line break behind it", word)


def _check_name(walk: Walk, name: Node) -> None:
    if KIND_NAMES[name.kind_id] != "identifier" or walk.text(name) in {b"of", b"let", b"await"}:
        raise fail("using without a plain name", name)
