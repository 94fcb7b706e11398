"""Comparisons that TypeScript may read as type arguments: ``f < a > (b)`` is a call of ``f`` there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

_ENDS: Final = frozenset({">", ">>", ">>>"})
_CALLED: Final = ("(", "`")
_STATEMENTS: Final = ("_statement", "_declaration", "_block", "program", "class_body")


def comparison_or_call(root: Node) -> tuple[int, int] | None:
    """Return the span of an expression that has a ``<`` and, after it, a ``>`` before a parenthesis or a template."""
    stack = [root]
    while stack:
        node = stack.pop()
        if (
            node.type == "binary_expression"
            and _operator(node) in _ENDS
            and _first_token(node.children[-1]) in _CALLED
        ):
            whole = _expression(node)
            if _has_less(whole, node.children[-1].start_byte):
                return whole.start_byte, whole.end_byte
        stack.extend(node.children)
    return None


def _operator(node: Node) -> str:
    return next((child.type for child in node.children if not child.is_named), "")


def _first_token(node: Node) -> str:
    while node.children:
        node = node.children[0]
    return node.type


def _expression(node: Node) -> Node:
    while node.parent is not None and not node.parent.type.endswith(_STATEMENTS):
        node = node.parent
    return node


def _has_less(node: Node, before: int) -> bool:
    stack = [node]
    while stack:
        each = stack.pop()
        if each.start_byte >= before:
            continue
        if each.type == "binary_expression" and _operator(each) == "<":
            return True
        stack.extend(each.children)
    return False
