"""Loops that nothing inside them ends: the construct ``unbounded-loop`` (CWE-835).

One iterative pass. A jump is recorded as the index of the outermost statement that it leaves. Each statement passes
the smallest index of its jumps to its parent, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import FUNCTIONS, kind, kinds
from evalward.guard.syntax.literals import number

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

_LOOPS = kinds("while_statement", "do_statement", "for_statement", "for_in_statement")
_FOR_IN = kind("for_in_statement")
_SWITCH = kind("switch_statement")
_LABEL = kind("labeled_statement")
_OWN_CODE = FUNCTIONS | kinds("class_static_block", "field_definition")
_FRAMES = _LOOPS | _OWN_CODE | {_SWITCH, _LABEL}
_ENDS = kinds("return_statement", "throw_statement", "await_expression", "yield_expression")
_BREAK, _CONTINUE = kind("break_statement"), kind("continue_statement")
_NAME = kind("statement_identifier")
_AWAIT = kind("await", named=False)
_PARENTHESES = kind("parenthesized_expression")
_UNARY = kind("unary_expression")
_EMPTY = kind("empty_statement")
_TRUE, _NUMBER, _STRING = kind("true"), kind("number"), kind("string")
_FALSE = kinds("false", "null", "undefined")
_COMMENT = kind("comment")
_NOWHERE = 1 << 60


@dataclass(slots=True)
class _Frame:
    """A statement that a jump may leave, or a function. ``leaves`` is the smallest index that a jump in it leaves."""

    node: Node
    label: bytes = b""
    leaves: int = _NOWHERE


def unbounded_loops(program: ParsedProgram, *, limit: int) -> tuple[tuple[int, int], ...]:
    """Return the payload spans of at most ``limit`` loops without an end, the first in the text first."""
    found: list[tuple[int, int]] = []
    frames: list[_Frame] = [_Frame(program.tree.root_node)]
    pending: list[Node | None] = [program.tree.root_node]
    while pending:
        node = pending.pop()
        if node is None:
            _close(program, frames, found)
            continue
        if node.kind_id in _FRAMES:
            frames.append(_Frame(node, _label(program, node)))
            pending.append(None)
            if node.kind_id == _FOR_IN and any(child.kind_id == _AWAIT for child in node.children):
                frames[-1].leaves = 0
        elif node.kind_id in _ENDS:
            frames[-1].leaves = 0
        elif node.kind_id in (_BREAK, _CONTINUE):
            _jump(program, node, frames)
        pending.extend(reversed(node.children))
    return tuple(sorted(found)[:limit])


def _label(program: ParsedProgram, node: Node) -> bytes:
    return program.text(node.children[0]) if node.kind_id == _LABEL else b""


def _close(program: ParsedProgram, frames: list[_Frame], found: list[tuple[int, int]]) -> None:
    frame = frames.pop()
    if frame.leaves > len(frames) and frame.node.kind_id in _LOOPS and _is_endless(program, frame.node):
        start = frame.node.start_byte - program.offset
        found.append((start, frame.node.end_byte - program.offset))
    if frame.node.kind_id not in _OWN_CODE:
        frames[-1].leaves = min(frames[-1].leaves, frame.leaves)


def _jump(program: ParsedProgram, node: Node, frames: list[_Frame]) -> None:
    """Note what a ``break`` or ``continue`` leaves; a ``continue`` leaves what is inside of its loop."""
    name = next((program.text(child) for child in node.children if child.kind_id == _NAME), b"")
    index = len(frames) - 1
    while index > 0 and not _is_aim(frames[index], name, of_continue=node.kind_id == _CONTINUE):
        index -= 1
    if node.kind_id == _CONTINUE:
        while frames[index].node.kind_id == _LABEL:
            index += 1
        index += 1
    frames[-1].leaves = min(frames[-1].leaves, index)


def _is_aim(frame: _Frame, name: bytes, *, of_continue: bool) -> bool:
    if name:
        return frame.label == name
    return frame.node.kind_id in _LOOPS or (frame.node.kind_id == _SWITCH and not of_continue)


def _is_endless(program: ParsedProgram, loop: Node) -> bool:
    condition = loop.child_by_field_name("condition")
    return condition is not None and _is_true(program, condition)


def _is_true(program: ParsedProgram, node: Node) -> bool:
    """Say whether a condition is a constant that holds; the empty one of ``for (;;)`` does."""
    wanted = True
    while node.kind_id == _PARENTHESES or (node.kind_id == _UNARY and node.children[0].type == "!"):
        wanted ^= node.kind_id == _UNARY
        inner = [child for child in node.children[1:] if child.kind_id != _COMMENT]
        node = inner[0]
    if node.kind_id in _FALSE:
        return not wanted
    if node.kind_id in (_TRUE, _EMPTY):
        return wanted
    if node.kind_id == _NUMBER:
        value = number(program.text(node).decode())
        return value is not None and bool(value) is wanted
    return node.kind_id == _STRING and (node.end_byte - node.start_byte > len("''")) is wanted
