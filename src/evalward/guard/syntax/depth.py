"""How deep a tree nests, where a chain that grows to one side counts as one level (guard.md §4, Limits)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from tree_sitter import Node

_CHAINS = kinds(
    "binary_expression",
    "call_expression",
    "member_expression",
    "subscript_expression",
    "sequence_expression",
    "ternary_expression",
)
_RIGHT_CHAINS = kinds("binary_expression", "sequence_expression", "ternary_expression")
_IF = kind("if_statement")
_ELSE = kind("else_clause")


def may_nest_deeper(root: Node, limit: int) -> bool:
    """Say whether any node may lie deeper than ``limit`` levels below ``root``, without visiting most nodes.

    A subtree cannot be deeper than its number of nodes, which tree-sitter knows: only the few large subtrees are
    visited.
    """
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > limit:
            return True
        if depth + node.descendant_count > limit:
            stack.extend((child, depth + 1) for child in node.children)
    return False


def nesting_exceeds(root: Node, limit: int) -> Node | None:
    """Return the first node that lies deeper than ``limit`` levels below ``root``, or None."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > limit:
            return node
        if not node.child_count:
            continue
        children = node.children
        own = node.kind_id
        if own in _CHAINS:
            last = len(children) - 1
            for index, child in enumerate(children):
                along = child.kind_id in _CHAINS and (
                    index == 0 or (index == last and own == child.kind_id and own in _RIGHT_CHAINS)
                )
                stack.append((child, depth if along else depth + 1))
        elif own in (_IF, _ELSE):
            along_kind = _ELSE if own == _IF else _IF
            stack.extend((child, depth if child.kind_id == along_kind else depth + 1) for child in children)
        else:
            stack.extend((child, depth + 1) for child in children)
    return None
