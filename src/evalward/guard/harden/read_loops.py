"""Reading loops (ECMA-262 §14.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.read_declarations import DECLARATIONS, WORDS, declaration
from evalward.guard.harden.read_patterns import NAMES, pattern
from evalward.guard.harden.read_substatements import FUNCTIONS, condition, substatement
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Level
from evalward.guard.harden.statement_tree import Declaration, DoWhile, For, ForIn, While
from evalward.guard.syntax.grammar import kind

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader, StatementHandler
    from evalward.guard.harden.tree import Expression, Statement

_EMPTY: Final = kind("empty_statement")
_SEMICOLON: Final = token(";")
_AWAIT: Final = token("await")
_EQUALS: Final = token("=")


_OPERATORS: Final = {token("in"): "in", token("of"): "of"}


def _loop_body(reader: Reader, node: Node) -> Statement:
    if node.kind_id in FUNCTIONS:
        reader.unknown(node)
    return substatement(reader, node)


def _while(reader: Reader, node: Node) -> While:
    _, test, body = reader.children(node)
    return While(reader.line(node), condition(reader, test), _loop_body(reader, body))


def _do(reader: Reader, node: Node) -> DoWhile:
    _, body, _, test, *_ = reader.children(node)
    return DoWhile(reader.line(node), _loop_body(reader, body), condition(reader, test))


def _for(reader: Reader, node: Node) -> For:
    _, _, *head, _, body = reader.children(node)
    scope = reader.scopes.open(Level.BLOCK)
    parts: list[Node | None] = []
    waiting: Node | None = None
    for child in head:
        if child.kind_id == _SEMICOLON:
            parts.append(waiting)
            waiting = None
        elif child.kind_id == _EMPTY:
            parts.append(None)
        elif child.kind_id in DECLARATIONS:
            parts.append(child)
        else:
            waiting = child
    first, second = parts
    initial: Declaration | Expression | None = None
    if first is not None:
        declares = first.kind_id in DECLARATIONS
        initial = declaration(reader, first) if declares else reader.expression(first)
    test = None if second is None else reader.expression(second)
    update = None if waiting is None else reader.expression(waiting)
    read = For(reader.line(node), initial, test, update, _loop_body(reader, body))
    reader.scopes.close(scope)
    return read


def _for_in(reader: Reader, node: Node) -> ForIn:
    children = reader.children(node)
    body = children[-1]
    awaits = children[1].kind_id == _AWAIT
    if awaits and not reader.asynchronous:
        reader.refuse(node, "for await outside of an async function.")
    head = children[3 if awaits else 2 : -2]
    word = WORDS.get(head[0].kind_id, "")
    if word:
        del head[0]
    elif not head[0].is_named:
        reader.unknown(head[0])
    target_node, right = head[0], head[-1]
    operator = _OPERATORS[head[-2].kind_id]
    scope = reader.scopes.open(Level.BLOCK)
    initial: Expression | None = None
    if head[1].kind_id == _EQUALS:
        if reader.strict or operator != "in" or word != "var" or target_node.kind_id not in NAMES:
            reader.unknown(head[1])
        initial = reader.expression(head[2])
    target = pattern(reader, target_node, word)
    read = ForIn(
        reader.line(node),
        operator == "of",
        awaits,
        word,
        target,
        initial,
        reader.expression(right),
        _loop_body(reader, body),
        reader.strict,
    )
    reader.scopes.close(scope)
    return read


HANDLERS: Final[dict[int, StatementHandler]] = {
    kind("while_statement"): _while,
    kind("do_statement"): _do,
    kind("for_statement"): _for,
    kind("for_in_statement"): _for_in,
}
