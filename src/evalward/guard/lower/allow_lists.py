"""Keys that the payload checks against a list of its own: ``if (!ALLOWED.has(key)) return`` (guard.md §2).

Behind such a check the key is one of the list's elements, whatever it was before. That holds only for code that is
reached through the check alone, and only while nothing writes the key's variable in between, which is known when the
whole payload is lowered. The interpreter reads the contents of the list (``op_narrow``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from evalward.guard.domain.scope import Reference
    from evalward.guard.lower.drafts import UnitDraft
    from evalward.guard.lower.stores import Stores

_EXITS = frozenset({"return_statement", "throw_statement", "continue_statement", "break_statement"})
_METHODS = frozenset({"has", "includes"})
_FOUND = frozenset({("!==", "-1"), ("!=", "-1"), (">", "-1"), (">=", "0")})
_MISSING = frozenset({("===", "-1"), ("==", "-1"), ("<", "0")})


@dataclass(frozen=True, slots=True)
class Check:
    """``list.has(key)``: the nodes of both; the list is a name, or an array of texts that is written out."""

    listed: Node
    key: Node


@dataclass(slots=True, eq=False)
class Narrowing:
    """A stretch of a unit's code, from ``first`` to ``last``, that runs only when a check has passed.

    ``begin`` is where the check itself begins: what it writes, it writes before the stretch. ``listed`` is the
    list's name, or a register that holds the join of its elements.
    """

    unit: UnitDraft
    key: Reference
    listed: Reference | int
    begin: int
    first: int
    last: int = -1


def may_check(source: bytes) -> bool:
    """Whether a payload may check a key: it names one of the methods."""
    return b"has(" in source or b"includes(" in source or b"indexOf(" in source


def checks_of(test: Node, text: Callable[[Node], str], *, holds: bool) -> Iterator[Check]:
    """Yield the checks that have passed when a test holds, or, without ``holds``, when it does not."""
    match test.type:
        case "parenthesized_expression" if test.named_child_count == 1:
            yield from checks_of(test.named_children[0], text, holds=holds)
        case "unary_expression" if test.children[0].type == "!":
            yield from checks_of(test.children[-1], text, holds=not holds)
        case "binary_expression" if test.child_count == 3:  # noqa: PLR2004 - two operands and the operator
            left, operator, right = test.children
            if operator.type == ("&&" if holds else "||"):
                yield from checks_of(left, text, holds=holds)
                yield from checks_of(right, text, holds=holds)
            elif (operator.type, text(right)) in (_FOUND if holds else _MISSING):
                yield from _called(left, text, frozenset({"indexOf"}))
        case "call_expression" if holds:
            yield from _called(test, text, _METHODS)


def _called(node: Node, text: Callable[[Node], str], methods: frozenset[str]) -> Iterator[Check]:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call_expression" or function is None or arguments is None:
        return
    if function.type != "member_expression" or function.child_count != 3:  # noqa: PLR2004 - no `?.`
        return
    listed, _, method = function.children
    given = arguments.named_children
    if text(method) in methods and [each.type for each in given] == ["identifier"]:
        yield Check(listed, given[0])


def is_written_out(node: Node) -> bool:
    """Whether a node is an array of plain texts."""
    return node.type == "array" and all(each.type == "string" for each in node.named_children)


def exits(statement: Node | None) -> bool:
    """Whether a statement certainly leaves the statement list that contains it."""
    while statement is not None and statement.type == "statement_block":
        inner = statement.named_children
        statement = inner[-1] if inner else None
    return statement is not None and statement.type in _EXITS


def narrow(stores: Stores, narrowings: list[Narrowing]) -> None:
    """Replace reads of a checked key by the values of its list, wherever the check certainly precedes them."""
    for each in narrowings:
        key = each.key
        register = key.register
        if register < 0 or key.is_global or key.owner != each.unit.index or register in stores.aliased:
            continue
        if any(
            unit is not each.unit or each.begin <= index < each.last for unit, index in stores.of(register)
        ):
            continue
        code = each.unit.code
        for index in range(each.first, each.last):
            operation, made, use, _, _, span = code[index]
            if operation is Op.LOAD and use.register == register:
                code[index] = (Op.NARROW, made, use, each.listed, None, span)
