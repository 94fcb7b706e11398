"""Which statements may give a script its completion value (ECMA-262 §8.4, §14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.lower.node_kinds import kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder

_EXPRESSIONS = kinds("expression_statement")
_OBJECTS = kinds("object")
_FUNCTIONS = kinds("function_declaration")
_JUMPS = kinds("break_statement", "continue_statement")
_LISTS = kinds("statement_block", "labeled_statement")
"""A list is as empty as its last statements, and what went before it gives the value."""
_HEADED = kinds("for_statement", "for_in_statement", "while_statement", "do_statement", "with_statement")
_TRIES = kinds("try_statement")
_COMPOUND = _HEADED | _TRIES | kinds("if_statement", "switch_statement")
"""These give undefined where their parts give nothing."""
_PARTS = kinds(
    "else_clause", "catch_clause", "finally_clause", "switch_body", "switch_case", "switch_default"
)
_CONTAINERS = _LISTS | _COMPOUND | _PARTS
_STATEMENTS = _EXPRESSIONS | _FUNCTIONS | _JUMPS | _CONTAINERS


def completions(build: Builder, nodes: list[Node]) -> set[int]:
    """Return the offsets of the statements that may give the script's completion value.

    These are expression statements, and functions in blocks: V8 gives the function, which it assigns to a variable
    (Annex B.3.3), where the standard gives nothing. From the end of each list, the first statement that certainly
    has a value ends the search: empty blocks, labels and declarations do not. What precedes a jump out of a
    list counts as well, and so does each part of a ``try`` with a jump: V8 keeps the value of the other part.
    """
    parts, certain, jumping = _facts(build, nodes)
    offsets: set[int] = set()
    pending = [(nodes, True)]
    while pending:
        listed, counts = pending.pop()
        for node in reversed(listed):
            kind = node.kind_id
            if counts and (kind in _EXPRESSIONS or (kind in _FUNCTIONS and listed is not nodes)):
                offsets.add(node.start_byte)
            inner = parts.get(node.id, [])
            if kind in _COMPOUND:
                kept = counts or (kind in _TRIES and node.id in jumping)
                pending += [([part], kept) for part in inner]
            else:
                pending.append((inner, counts))
            if node.id in jumping and kind not in _COMPOUND:
                counts = True
            elif node.id in certain:
                counts = False
    return offsets


def _facts(build: Builder, nodes: list[Node]) -> tuple[dict[int, list[Node]], set[int], set[int]]:
    """Return the statements within each statement, which statements certainly have a value, and which hold a jump."""
    parts: dict[int, list[Node]] = {}
    order = list(nodes)
    for node in order:
        if node.kind_id in _CONTAINERS:
            body = node.child_by_field_name("body") if node.kind_id in _HEADED else None
            inner = build.children(node) if body is None else [body]
            parts[node.id] = [part for part in inner if part.kind_id in _STATEMENTS]
            order += parts[node.id]
    certain: set[int] = set()
    jumping: set[int] = set()
    for node in reversed(order):
        inner = parts.get(node.id, [])
        if _has_value(build, node) or any(part.id in certain for part in inner):
            certain.add(node.id)
        if node.kind_id in _JUMPS or any(part.id in jumping for part in inner):
            jumping.add(node.id)
    return parts, certain, jumping


def _has_value(build: Builder, node: Node) -> bool:
    """Whether a statement has a value whatever its parts do. What the tree calls an object there is a block."""
    if node.kind_id in _EXPRESSIONS:
        return build.children(node)[0].kind_id not in _OBJECTS
    return node.kind_id in _COMPOUND
