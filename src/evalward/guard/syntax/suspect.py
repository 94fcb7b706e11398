"""A smaller parse budget for text that is expensive to recover from, found by a cheap test of its head.

tree-sitter's error recovery spends time and memory that no progress call counts: 6 KB of ``a=>in `` take 0.8 s, 64 KB
exhaust the memory, and ``has_error`` stays false. Such a text has errors throughout, so its head shows them. A
suspicion lowers the budget and does not reject the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Below this size recovery always costs less than 150 ms.
_SMALL = 2_048
_HEAD = 256
_CALLS_OF_BROKEN = 120
_SHARE_OF_DENSE = 8
# A cut text has errors where it was cut; only those that end well before count.
_CUT = 64
_OPENERS, _CLOSERS = b"([{", b")]}"
# Text in strings may open brackets that it never closes, but seldom this many.
_UNCLOSED = 2_000
_QUOTE_ROWS = 64
# Strings where none is allowed: each costs recovery about 50 µs, and the head may be correct.
_MISPLACED = 600
_CALLS_OF_MISPLACED = 180
# What is never closed matches to its end, so that no place is examined twice.
_STRINGS = re.compile(
    rb"""//[^\n]*+|/\*.*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*+`?"""
    rb"""|(?:(?<![\w$])([\w$]++)[ \t]*+)?(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
    rb"""(?=[ \t]*+(?!(?:in|of|as|from|with|instanceof)\b)([\w$~\\"'`]|!(?!=)|=(?!=))?)""",
    re.DOTALL,
)
_BEFORE_STRINGS = frozenset(
    b"case return typeof in of from import default else throw void delete new yield await export static get set "
    b"instanceof as do extends with".split()
)


def affordable_calls(source: bytes, parser: Parser, allowed: int) -> int:
    """Return how many of ``allowed`` progress calls ``source`` may spend, judged by its text."""
    if len(source) <= _SMALL:
        return allowed
    if _has_broken_head(source, parser):
        return min(allowed, _CALLS_OF_BROKEN)
    if source.count(b'"') + source.count(b"'") > _MISPLACED and _misplaced_strings(source) > _MISPLACED:
        return min(allowed, _CALLS_OF_MISPLACED)
    return allowed // _SHARE_OF_DENSE if _is_dense(source) else allowed


def _is_dense(source: bytes) -> bool:
    """Say whether a text is expensive per byte and shows no error early: unclosed brackets, rows of quotes."""
    opened = sum(source.count(bracket) for bracket in _OPENERS)
    if opened > _UNCLOSED and opened - sum(source.count(bracket) for bracket in _CLOSERS) > _UNCLOSED:
        return True
    return (source.count(b'""""') + source.count(b"''''")) * _QUOTE_ROWS > len(source)


def _misplaced_strings(source: bytes) -> int:
    """Count strings next to a name or another string, which no program has.

    A quote in a regular expression falsifies the count until the next correct string.
    """
    return sum(
        bool(after or (before and before not in _BEFORE_STRINGS))
        for before, after in _STRINGS.findall(source)
    )


def _has_broken_head(source: bytes, parser: Parser) -> bool:
    """Say whether two cuts of the text both have errors well before the cut."""
    return _is_broken(source, parser, _HEAD) and _is_broken(source, parser, 2 * _HEAD)


def _is_broken(source: bytes, parser: Parser, end: int) -> bool:
    if source.rfind(b"/*", 0, end) > source.rfind(b"*/", 0, end) or source.count(b"`", 0, end) % 2:
        # The cut would lie in a comment or template, whose text is no code.
        return False
    root = parser.parse(source[:end]).root_node
    return root.has_error and _has_inner_error(root, end - _CUT)


def _has_inner_error(root: Node, before: int) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if not node.has_error and not node.is_missing:
            continue
        if (node.is_missing or node.is_error) and node.end_byte < before:
            return True
        stack.extend(node.children)
    return False
