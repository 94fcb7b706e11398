"""The shape of a payload that declares none and is to run in the sandbox (sandbox.md, The call).

The sandbox and the guard must choose the same shape, so both choose it here, without an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tree_sitter import Tree

from evalward.guard.syntax.grammar import COMMENTS, FUNCTIONS, kind, kinds
from evalward.guard.syntax.parse import parse
from evalward.guard.syntax.wrap import WRAPPERS, roots_of
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from tree_sitter import Node

_SUSPENDS: Final = kinds("return_statement", "await_expression") | {kind("await", named=False)}
_FUNCTION_VALUES: Final = FUNCTIONS - kinds("method_definition")
_TRANSPARENT: Final = kinds("expression_statement", "parenthesized_expression")


def choose_shape(payload: bytes) -> Shape:
    """Return the shape in which a payload without a declared shape runs and is judged.

    ``async_body`` if a ``return`` or ``await`` stands outside every function, ``function`` if the payload
    is one function, else ``script``. A text that does not parse is a ``script``; the guard rejects it.
    """
    tree = parse(payload, limit_bytes=len(payload))
    if isinstance(tree, Tree):
        if _suspends(tree.root_node):
            return Shape.ASYNC_BODY
        return Shape.FUNCTION if _is_function(tree.root_node.children) else Shape.SCRIPT
    # `function (x) {}` and `async function () {}` without a name parse only as expressions.
    wrapper = WRAPPERS[Shape.EXPRESSION]
    tree = parse(wrapper.prefix + payload + wrapper.suffix, limit_bytes=len(payload))
    if isinstance(tree, Tree):
        roots = roots_of(tree.root_node, Shape.EXPRESSION, len(payload))
        if roots is not None and _is_function(roots):
            return Shape.FUNCTION
    return Shape.SCRIPT


def _suspends(root: Node) -> bool:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.kind_id in _SUSPENDS:
            return True
        if node.kind_id not in FUNCTIONS:
            pending.extend(node.children)
    return False


def _is_function(nodes: tuple[Node, ...] | list[Node]) -> bool:
    while True:
        code = [node for node in nodes if node.kind_id not in COMMENTS]
        if len(code) != 1:
            return False
        if code[0].kind_id in _FUNCTION_VALUES:
            return True
        if code[0].kind_id not in _TRANSPARENT:
            return False
        # A closing semicolon stays among the children: `f;` is a statement, not a function to call.
        nodes = [child for child in code[0].children if child.type not in {"(", ")"}]
