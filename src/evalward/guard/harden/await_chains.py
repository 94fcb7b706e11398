"""``await (x).y``: tree-sitter reads the operator as a name, and its operand as the arguments of a call.

In ECMA-262 the operand of ``await`` is the whole chain of members and calls behind it (§15.8). So the tree of
``await (await f()).json()`` has the head ``await(…)``, a call of a name, where the program has brackets, and the
operator belongs around the outermost node of the chain. The same happens to an array and to a template.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.syntax.grammar import kinds

if TYPE_CHECKING:
    from tree_sitter import Node

_CHAIN: Final = kinds("member_expression", "subscript_expression", "call_expression")
_IDENTIFIER: Final = kinds("identifier")
_AWAIT: Final = b"await"
_WORD: Final = re.compile(rb"await(?<!\w.{5})\b", re.DOTALL)


def may_misread_await(source: bytes) -> bool:
    """Return whether the text has the word at all."""
    return _WORD.search(source) is not None


def begins_with_await(node: Node, source: bytes) -> bool:
    """Return whether a chain of members and calls begins with the name ``await``."""
    while node.kind_id in _CHAIN:
        if is_await_head(node, source):
            return True
        node = node.children[0]
    return False


def is_await_head(node: Node, source: bytes) -> bool:
    """Return whether a node of a chain takes a member of the name ``await``, or calls it."""
    first = node.children[0]
    return first.kind_id in _IDENTIFIER and source[first.start_byte : first.end_byte] == _AWAIT
