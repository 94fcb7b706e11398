"""Profile ``seed``: the verdicts of the seed guard, for comparison (guard.md §0, §1, §3).

It knows literal keys only and resolves nothing: ``globalThis['pro' + 'cess']`` and ``const f = Function`` pass.
The profile exists to show that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import (
    constructor_chain,
    dynamic_import,
    eval_call,
    function_call,
    function_new,
    process_abort,
    process_exit,
    process_kill,
    require_call,
)
from evalward.guard.syntax.grammar import COMMENTS, kind, kinds
from evalward.guard.syntax.locate import locate
from evalward.guard.verdict import Finding

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

_CALL, _NEW = kind("call_expression"), kind("new_expression")
_MEMBERS = kinds("member_expression", "subscript_expression")
_SUBSCRIPT = kind("subscript_expression")
_IDENTIFIER, _STRING, _TEMPLATE = kind("identifier"), kind("string"), kind("template_string")
_FRAGMENT, _PROPERTY = kind("string_fragment"), kind("property_identifier")
_IMPORT = kind("import")
_PARENTHESIZED = kind("parenthesized_expression")

_GLOBALS = frozenset({b"globalThis", b"window", b"self", b"global"})
_PROCESS_MEMBERS = {
    b"exit": process_exit.LABEL,
    b"kill": process_kill.LABEL,
    b"abort": process_abort.LABEL,
}
_CALLS = {b"eval": eval_call.LABEL, b"require": require_call.LABEL, b"Function": function_call.LABEL}


def seed_findings(program: ParsedProgram, payload: bytes) -> list[Finding]:
    """Return the constructs that the seed guard names in ``program``, a reading of ``payload``."""
    found: list[tuple[int, Finding]] = []
    stack = [program.tree.root_node]
    while stack:
        node = stack.pop()
        if not node.child_count:
            continue
        stack.extend(node.children)
        label = _label(node, program)
        if label is not None:
            start = node.start_byte - program.offset
            location = locate(payload, start, node.end_byte - program.offset)
            found.append((start, Finding(label, location)))
    found.sort(key=lambda each: (each[0], each[1].construct))
    return [finding for _, finding in found]


def _label(node: Node, program: ParsedProgram) -> str | None:
    own = node.kind_id
    if own in _MEMBERS:
        return _member(node, program)
    if own == _CALL:
        callee = _bare(node.children[0])
        if callee.kind_id == _IMPORT:
            return dynamic_import.LABEL
        return _CALLS.get(program.text(callee)) if callee.kind_id == _IDENTIFIER else None
    if own == _NEW:
        constructor = _bare(_code(node)[1])
        is_function = constructor.kind_id == _IDENTIFIER and program.text(constructor) == b"Function"
        return function_new.LABEL if is_function else None
    return None


def _member(node: Node, program: ParsedProgram) -> str | None:
    key = _key(node, program)
    if key is None:
        return None
    holder = _bare(node.children[0])
    if holder.kind_id == _IDENTIFIER:
        name = program.text(holder)
        table = _PROCESS_MEMBERS if name == b"process" else _CALLS if name in _GLOBALS else {}
        return table.get(key)
    if holder.kind_id not in _MEMBERS:
        return None
    inner = _key(holder, program)
    if key == inner == b"constructor":
        return constructor_chain.LABEL
    root = _bare(holder.children[0])
    if inner == b"process" and root.kind_id == _IDENTIFIER and program.text(root) in _GLOBALS:
        return _PROCESS_MEMBERS.get(key)
    return None


def _key(node: Node, program: ParsedProgram) -> bytes | None:
    """Return a member's key where it is written out: ``.name``, ``['name']`` or a template without parts."""
    parts = _code(node)
    if node.kind_id != _SUBSCRIPT:
        return program.text(parts[-1]) if parts[-1].kind_id == _PROPERTY else None
    literal = parts[-2]
    if literal.kind_id not in (_STRING, _TEMPLATE):
        return None
    pieces = literal.children[1:-1]
    if any(piece.kind_id != _FRAGMENT for piece in pieces):
        return None
    return b"".join(program.text(piece) for piece in pieces)


def _code(node: Node) -> list[Node]:
    return [child for child in node.children if child.kind_id not in COMMENTS]


def _bare(node: Node) -> Node:
    while node.kind_id == _PARENTHESIZED:
        inner = _code(node)
        node = inner[1]
    return node
