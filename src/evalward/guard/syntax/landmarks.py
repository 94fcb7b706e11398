"""The nodes that the survey of a tree examines, found by a query in C (guard.md §4, §6).

A Python loop over every node costs 0.7 of the parse and a tree-sitter query 0.35; the survey needs one node in ten.
``QueryCursor`` skips nodes that lie more than 65,533 levels deep. A subtree is never deeper than its number of nodes,
so the query runs on subtrees that have fewer, and larger ones are walked. Every pattern names a single node: a pattern
of several keeps a state per open node, which is quadratic in deep trees.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tree_sitter import Query, QueryCursor

from evalward.guard.syntax.grammar import LANGUAGE

if TYPE_CHECKING:
    from tree_sitter import Node

_SEEN_WHOLE = 60_000
# Below this a query costs more than a walk.
_WALKED = 48


@cache
def _query(kinds: frozenset[int]) -> Query:
    names = sorted(LANGUAGE.node_kind_for_id(number) or "" for number in kinds)
    return Query(LANGUAGE, "\n".join(f"({name}) @node" for name in names))


def landmarks(root: Node, kinds: frozenset[int]) -> list[Node]:
    """Return every node at or below ``root`` whose kind is one of ``kinds``, in no particular order."""
    query = _query(kinds)
    if root.descendant_count < _SEEN_WHOLE:
        return QueryCursor(query).captures(root).get("node", [])
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if _WALKED < node.descendant_count < _SEEN_WHOLE:
            found += QueryCursor(query).captures(node).get("node", [])
            continue
        if node.kind_id in kinds:
            found.append(node)
        if node.child_count:
            stack.extend(node.children)
    return found
