"""The text that a sink puts around a payload, and the check that the payload did not close it (guard.md §1).

A trailing line comment must not swallow the closing wrapper, so every suffix begins on a new line. This accepts
payloads that a sink without the line break would reject, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import COMMENTS, kind
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPRESSION_STATEMENT = kind("expression_statement")
_PARENTHESIZED = kind("parenthesized_expression")
_CALL = kind("call_expression")
_FUNCTION = kind("function_expression")
_BLOCK = kind("statement_block")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``prefix + payload + suffix`` is what the engine compiles."""

    prefix: bytes = b""
    suffix: bytes = b""


WRAPPERS = {
    Shape.SCRIPT: Wrapper(),
    Shape.MODULE: Wrapper(),
    Shape.EXPRESSION: Wrapper(b"(", b"\n)"),
    Shape.FUNCTION: Wrapper(b"(", b"\n)()"),
    Shape.ASYNC_BODY: Wrapper(b"(async function () {\n", b"\n})()"),
}
# The same without the line break: a payload that parses only so ends in a comment that swallows the suffix.
BARE_SUFFIXES = {Shape.EXPRESSION: b")", Shape.FUNCTION: b")()", Shape.ASYNC_BODY: b"})()"}


def roots_of(root: Node, shape: Shape, length: int) -> tuple[Node, ...] | None:
    """Return the nodes that the payload itself consists of, or None when it broke out of its wrapper.

    ``length`` is the payload's length in bytes. The wrapper is intact if and only if its opening token and
    its closing token belong to one and the same node: then all of the payload lies inside that node.
    """
    if shape in (Shape.SCRIPT, Shape.MODULE):
        return tuple(root.children)
    statements = [child for child in root.children if child.kind_id not in COMMENTS]
    if len(statements) != 1 or statements[0].kind_id != _EXPRESSION_STATEMENT:
        return None
    node = statements[0].children[0]
    wrapper = WRAPPERS[shape]
    close = len(wrapper.prefix) + length + 2  # every suffix closes with "\n" and one bracket
    if shape is not Shape.EXPRESSION:
        if node.kind_id != _CALL or node.end_byte != len(wrapper.prefix) + length + len(wrapper.suffix):
            return None
        node = node.children[0]
    if shape is Shape.ASYNC_BODY:
        return _body(node, close)
    if node.kind_id != _PARENTHESIZED or node.start_byte != 0 or node.end_byte != close:
        return None
    return tuple(node.children[1:-1])


def _body(node: Node, close: int) -> tuple[Node, ...] | None:
    if node.kind_id != _PARENTHESIZED or node.start_byte != 0:
        return None
    function = next((child for child in node.children if child.kind_id == _FUNCTION), None)
    if function is None or function.start_byte != 1 or function.end_byte != close:
        return None
    block = function.children[-1]
    opening = len(WRAPPERS[Shape.ASYNC_BODY].prefix) - len(b"{\n")
    if block.kind_id != _BLOCK or block.start_byte != opening or block.end_byte != close:
        return None
    return tuple(block.children[1:-1])
