"""Operators and their operands: the levels of ECMA-262's expression grammar (§13).

tree-sitter groups some texts as ECMA-262 does not, and accepts an assignment, ``yield`` or an arrow function as an
operand. A tree whose every operand has the level that the grammar asks for is the tree of ECMA-262, because that
grammar has one reading of a row of tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.await_chains import begins_with_await
from evalward.guard.harden.name_errors import private_name
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail

if TYPE_CHECKING:
    from tree_sitter import Node

_SEQUENCE, ASSIGNMENT, _TERNARY, _COALESCE, _OR = range(5)
_EXPONENT, UNARY, UPDATE, LEFT, _MEMBER = range(14, 19)
_OPERATORS: Final = {
    "??": _COALESCE,
    "||": _OR,
    "&&": 5,
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(("==", "!=", "===", "!=="), 9),
    **dict.fromkeys(("<", ">", "<=", ">=", "in", "instanceof"), 10),
    **dict.fromkeys(("<<", ">>", ">>>"), 11),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("*", "/", "%"), 13),
    "**": _EXPONENT,
}
_ABOVE_AND: Final = 6
_LEVELS: Final = {
    "sequence_expression": _SEQUENCE,
    "assignment_expression": ASSIGNMENT,
    "augmented_assignment_expression": ASSIGNMENT,
    "arrow_function": ASSIGNMENT,
    "yield_expression": ASSIGNMENT,
    "ternary_expression": _TERNARY,
    "unary_expression": UNARY,
    "await_expression": UNARY,
    "update_expression": UPDATE,
    "call_expression": LEFT,
}
_CHAIN: Final = frozenset({"member_expression", "subscript_expression", "call_expression"})
_NO_EXPRESSIONS: Final = frozenset(
    {"spread_element", "private_property_identifier", "import", "rest_pattern"}
)


_UNKNOWN: Final = -1
# Those that cannot be known by their kind alone are found by `level`.
_BY_KIND: Final = tuple(
    _UNKNOWN
    if name in _CHAIN | _NO_EXPRESSIONS or name in {"binary_expression", "new_expression"}
    else _LEVELS.get(name, _MEMBER)
    for name in KIND_NAMES
)


def level(node: Node, walk: Walk) -> int:
    """Return how tightly an expression holds together; primary expressions most of all."""
    kind = KIND_NAMES[node.kind_id]
    if walk.awaits and kind in _CHAIN and begins_with_await(node, walk.source):
        return UNARY
    if kind == "binary_expression":
        operators = [child for child in walk.children(node) if not child.is_named]
        return _OPERATORS[KIND_NAMES[operators[0].kind_id]]
    if kind == "new_expression":
        return _MEMBER if KIND_NAMES[walk.children(node)[-1].kind_id] == "arguments" else LEFT
    if kind in _NO_EXPRESSIONS:
        raise fail("this is no expression", node)
    return _LEVELS.get(kind, _MEMBER)


def require(node: Node, least: int, walk: Walk) -> None:
    """Raise unless an operand holds together tightly enough."""
    known = _BY_KIND[node.kind_id]
    if known < least and (known != _UNKNOWN or level(node, walk) < least):
        raise fail("an operand of this kind needs parentheses", node)


def binary(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check both operands of a binary operator (§13.6 to §13.13)."""
    left, token, right = children
    operator = KIND_NAMES[token.kind_id]
    own = _OPERATORS[operator]
    if KIND_NAMES[left.kind_id] == "private_property_identifier":
        if operator != "in":
            raise fail("a private name is no value", left)
        private_name(walk, left, place)
    elif operator == "**":
        require(left, UPDATE, walk)
    elif operator == "??":
        if level(left, walk) != _COALESCE:
            require(left, _ABOVE_AND, walk)
    else:
        require(left, own, walk)
    if operator == "??":
        require(right, _ABOVE_AND, walk)
    else:
        require(right, own if operator == "**" else own + 1, walk)
    if KIND_NAMES[left.kind_id] != "private_property_identifier":
        walk.push(left, place)
    walk.push(right, place)


def ternary(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check the condition of ``?:``; the other two may be assignments."""
    condition, _, consequence, _, alternative = children
    require(condition, _COALESCE, walk)
    require(consequence, ASSIGNMENT, walk)
    require(alternative, ASSIGNMENT, walk)
    walk.push_all([condition, consequence, alternative], place)


def unary(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check the operand of a unary operator or ``await``."""
    require(children[-1], UNARY, walk)
    walk.push(children[-1], place)


def callee(node: Node, walk: Walk) -> None:
    """Check what is called, or what a member is taken of."""
    kind = KIND_NAMES[node.kind_id]
    if kind in _CHAIN or kind == "identifier":
        return
    require(node, LEFT, walk)
    if kind == "new_expression" and KIND_NAMES[walk.children(node)[-1].kind_id] != "arguments":
        raise fail("new without arguments in a chain", node)


def constructed(node: Node, walk: Walk) -> None:
    """Check the operand of ``new``: a chain of members without a call or ``?.`` (§13.3)."""
    require(node, LEFT, walk)
    while True:
        kind = KIND_NAMES[node.kind_id]
        if kind not in {"member_expression", "subscript_expression", "call_expression"}:
            return
        children = walk.children(node)
        if any(KIND_NAMES[child.kind_id] == "optional_chain" for child in children):
            raise fail("new with an optional chain", node)
        if kind == "call_expression" and KIND_NAMES[children[-1].kind_id] != "template_string":
            raise fail("new with a call as its operand", node)
        node = children[0]


_PASSES_IN: Final = frozenset(
    {
        "binary_expression",
        "unary_expression",
        "await_expression",
        "yield_expression",
        "ternary_expression",
        "assignment_expression",
        "augmented_assignment_expression",
        "sequence_expression",
        "arrow_function",
        "variable_declaration",
        "lexical_declaration",
        "variable_declarator",
    }
)


def bare_in(node: Node, walk: Walk) -> Node | None:
    """Return an ``in`` outside of brackets, which the head of a ``for`` statement must not have (§14.7.4)."""
    stack = [node]
    while stack:
        each = stack.pop()
        kind = KIND_NAMES[each.kind_id]
        if kind not in _PASSES_IN:
            continue
        children = walk.children(each)
        if kind == "binary_expression" and KIND_NAMES[children[1].kind_id] == "in":
            return each
        stack.extend(children if kind != "ternary_expression" else [children[0], children[-1]])
    return None
