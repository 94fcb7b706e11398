"""What the text of an expression says about its value: a number, perhaps a name in ASKED, perhaps a function."""

from __future__ import annotations

from typing import Final

from evalward.guard.harden.tree import (
    Array,
    Binary,
    Expression,
    Literal,
    Object,
    Paren,
    PrivateIn,
    Regex,
    Template,
    Text,
    Unary,
    Update,
)

_ARITHMETIC: Final = frozenset({"-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>", ">>>"})
_LOGICAL: Final = frozenset({"&&", "||", "??"})
_NO_FUNCTION: Final = (Literal, Object, PrivateIn, Regex, Template, Text, Unary, Update)

_MATCHES: Final = {"input", "lastMatch", "lastParen", "leftContext", "rightContext"} | {
    f"${each}" for each in "123456789_&+`'"
}

ASKED: Final = frozenset({"__proto__", "contentWindow", "contentDocument"} | _MATCHES)
"""Names whose accessors no read calls: the realm's prototype accessor, those that give the window of a frame, and those
of RegExp that show the realm's last match."""


def is_number(node: Expression) -> bool:
    """Say whether an expression is a number whatever its operands are, or fails."""
    while type(node) is Paren:
        node = node.inner
    if type(node) is Literal:
        return node.text[:1].isdigit()
    if type(node) is Unary:
        return node.operator in {"-", "~", "+"}
    if type(node) is Binary:
        return all(operator in _ARITHMETIC for operator, _ in node.rest)
    return type(node) is Update


def may_be_prototype(node: Expression) -> bool:
    """Say whether a key may be one of ASKED: anything may that is no number and no other string of the text."""
    while type(node) is Paren:
        node = node.inner
    return not is_number(node) and (type(node) is not Text or node.value in ASKED)


def may_be_function(node: Expression) -> bool:
    """Say whether the value of an expression may be a function, or an array of some, and so show the text of P'."""
    while type(node) is Paren:
        node = node.inner
    if type(node) is Binary:
        return any(operator in _LOGICAL for operator, _ in node.rest)
    if type(node) is Array:
        return any(element is not None and may_be_function(element) for element in node.elements)
    return not isinstance(node, _NO_FUNCTION)
