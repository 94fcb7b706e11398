"""Line ends within members, declarations and expressions that V8 reads otherwise (guard.md §4, U8 and U13 to U15).

Each check first asks the text whether there is anything to search for.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import COMMENTS, kind, kinds
from evalward.guard.syntax.landmarks import landmarks
from evalward.guard.syntax.words import LINE_BREAK, UNPLAIN_LET

if TYPE_CHECKING:
    from tree_sitter import Node

# The word comes first: what begins with a literal is searched for ten times as fast.
MODIFIERS_BROKEN = {
    word: re.compile(rb"%s(?<![\w$.]%s)[\t\v\f ]*+[\r\n/\xc2\xe1\xe2\xe3\xef]" % (word, word))
    for word in (b"static", b"get", b"set")
}
_LINE_GOES_ON = rb"(?![ \t]*+(?:[^\s/\x80-\xff]|/[^/*]))"
USING_BROKEN = re.compile(rb"using" + _LINE_GOES_ON + rb"|await" + _LINE_GOES_ON)
_USING = kind("using", named=False)
_AWAIT = kind("await", named=False)
_USED = kinds("using_declaration", "for_in_statement")
UPDATE_GOES_ON = re.compile(rb"(?:\+\+|--)\s*+[(\[`/\x80-\xff]")
_UPDATES = kinds("update_expression")
_OPERATED = kinds("call_expression", "member_expression", "subscript_expression")
_DECLARATIONS = kinds("lexical_declaration")
_BODIED = kinds(
    "if_statement",
    "else_clause",
    "do_statement",
    "while_statement",
    "for_statement",
    "for_in_statement",
    "labeled_statement",
    "with_statement",
)
_CLASS_BODY = kind("class_body")
_FIELD = kind("field_definition")
_PLAIN_NAME = kind("property_identifier")
_STATIC_GET = kind("static get", named=False)
_ENDS_MEMBER = frozenset({kind(";", named=False), kind("}", named=False)})


def line_end_fault(root: Node, source: bytes) -> Node | None:
    """Return the node that V8 reads differently because of a line end."""
    return (
        member_fault(root, source)
        or using_fault(root, source)
        or update_fault(root, source)
        or declaration_fault(root, source)
    )


def member_fault(root: Node, source: bytes) -> Node | None:
    """U13: ``static``, ``get`` or ``set`` at the end of a line is a field in the tree, and a modifier in V8.

    ``class A { static`` LF ``get m() {} }`` has a static accessor in V8, an accessor of its instances in the tree.
    """
    if b"class" not in source or not any(each.search(source) for each in MODIFIERS_BROKEN.values()):
        return None
    stack = [root]
    while stack:
        node = stack.pop()
        if node.kind_id == _STATIC_GET:
            return node
        children = node.children
        if node.kind_id == _CLASS_BODY:
            members = [child for child in children if child.kind_id not in COMMENTS]
            for field, after in itertools.pairwise(members):
                if _is_modifier(field, source) and after.kind_id not in _ENDS_MEMBER:
                    return field
        stack.extend(children)
    return None


def using_fault(root: Node, source: bytes) -> Node | None:
    """U14: behind ``using`` and a line break a name is declared in the tree; in V8 an expression ends there."""
    if b"using" not in source or USING_BROKEN.search(source) is None:
        return None
    for node in landmarks(root, _USED):
        tokens = [child for child in node.children if child.kind_id not in COMMENTS]
        place = next((index for index, child in enumerate(tokens) if child.kind_id == _USING), 0)
        if tokens[place].kind_id != _USING:
            continue
        first = place - 1 if place and tokens[place - 1].kind_id == _AWAIT else place
        if LINE_BREAK.search(source, tokens[first].end_byte, tokens[place + 1].start_byte) is not None:
            return node
    return None


def update_fault(root: Node, source: bytes) -> Node | None:
    """U15: nothing is called or read on ``a++``: V8 ends the statement where the tree continues in the next line."""
    if UPDATE_GOES_ON.search(source) is None:
        return None
    for node in landmarks(root, _UPDATES):
        parent = node.parent
        if parent is not None and parent.kind_id in _OPERATED and parent.start_byte == node.start_byte:
            return parent
    return None


def declaration_fault(root: Node, source: bytes) -> Node | None:
    """U8: where only a statement may stand, ``let`` and a line break are a name in V8, a declaration in the tree."""
    if b"let" not in source or UNPLAIN_LET.search(source) is None:
        return None
    for node in landmarks(root, _DECLARATIONS):
        parent = node.parent
        if (
            parent is not None
            and parent.kind_id in _BODIED
            and node.end_byte >= parent.children[-1].start_byte
        ):
            return node
    return None


def _is_modifier(field: Node, source: bytes) -> bool:
    if field.kind_id != _FIELD:
        return False
    name = field.child(field.child_count - 1)
    return (
        name is not None
        and name.kind_id == _PLAIN_NAME
        and source[name.start_byte : name.end_byte] in MODIFIERS_BROKEN
    )
