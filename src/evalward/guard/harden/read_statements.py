"""Reading statements (ECMA-262 §14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import static_import, with_statement
from evalward.guard.harden import read_loops
from evalward.guard.harden.read_classes import class_declaration
from evalward.guard.harden.read_declarations import DECLARATIONS, declaration
from evalward.guard.harden.read_functions import statements
from evalward.guard.harden.read_patterns import NAMES, pattern
from evalward.guard.harden.read_substatements import FUNCTIONS, condition, substatement
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Level
from evalward.guard.harden.statement_tree import (
    Case,
    Empty,
    ExpressionStatement,
    If,
    Jump,
    Labeled,
    Return,
    Switch,
    Throw,
    Try,
)
from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.function_tree import Block, FunctionDeclaration
    from evalward.guard.harden.reader import Reader, StatementHandler
    from evalward.guard.harden.tree import Expression, Statement


_IF: Final = kind("if_statement")
_ELSE: Final = kind("else_clause")
_EMPTY: Final = kind("empty_statement")
_BLOCK: Final = kind("statement_block")
_CASE: Final = kind("switch_case")
_CATCH: Final = kind("catch_clause")
_LABEL: Final = kind("statement_identifier")
_SEMICOLON: Final = token(";")
_AWAIT: Final = token("await")
_OPEN: Final = token("(")
_EQUALS: Final = token("=")


def _expression(reader: Reader, node: Node) -> ExpressionStatement:
    return ExpressionStatement(reader.line(node), reader.expression(reader.children(node)[0]))


def _block(reader: Reader, node: Node) -> Block:
    scope = reader.scopes.open(Level.BLOCK)
    block = statements(reader, reader.children(node)[1:-1], reader.line(node), top=False)
    reader.scopes.close(scope)
    return block


def _function(reader: Reader, node: Node) -> FunctionDeclaration:
    return reader.unknown(node)  # `statements` reads them; anywhere else they are an error


def _if(reader: Reader, node: Node) -> If:
    line = reader.line(node)
    arms: list[tuple[Expression, Statement]] = []
    while True:
        _, test, consequence, *rest = reader.children(node)
        arms.append((condition(reader, test), substatement(reader, consequence)))
        if not rest:
            return If(line, arms, None)
        node = reader.children(rest[0])[1]
        if node.kind_id != _IF:
            return If(line, arms, substatement(reader, node))


def _switch(reader: Reader, node: Node) -> Switch:
    _, value, body = reader.children(node)
    read = Switch(reader.line(node), condition(reader, value), [], [])
    scope = reader.scopes.open(Level.BLOCK)
    for child in reader.children(body)[1:-1]:
        if child.kind_id == _CASE:
            _, test, _, *nodes = reader.children(child)
            read.cases.append(Case(reader.expression(test), []))
        else:
            _, _, *nodes = reader.children(child)
            read.cases.append(Case(None, []))
        block = statements(reader, nodes, read.line, top=False)
        read.cases[-1].statements = block.statements
        read.functions += block.functions
    reader.scopes.close(scope)
    return read


def _try(reader: Reader, node: Node) -> Try:
    _, block, *clauses = reader.children(node)
    read = Try(reader.line(node), _block(reader, block), None, None, None)
    for clause in clauses:
        children = reader.children(clause)
        if clause.kind_id == _CATCH:
            _catch(reader, read, children)
        else:
            read.finalizer = _block(reader, children[1])
    return read


def _catch(reader: Reader, read: Try, children: list[Node]) -> None:
    scope = None
    if children[1].kind_id == _OPEN:
        parameter = children[2]
        simple = parameter.kind_id in NAMES
        scope = reader.scopes.open(Level.CATCH if simple else Level.BLOCK)
        read.parameter = pattern(reader, parameter, "catch")
    read.handler = _block(reader, children[-1])
    if scope is not None:
        reader.scopes.close(scope)


def _jump(reader: Reader, node: Node) -> Jump:
    word, *rest = reader.children(node)
    label = None
    if rest and rest[0].kind_id == _LABEL:
        label = reader.labels.get(reader.name(rest[0]))
        if label is None:
            reader.refuse(rest[0], "A jump to a label that does not exist.")
    return Jump(reader.line(node), reader.text(word), label)


def _labeled(reader: Reader, node: Node) -> Statement:
    label, _, body = reader.children(node)
    name = reader.name(label)
    if name in reader.labels:
        reader.refuse(label, "A label is declared twice.")
    saved = reader.labels
    reader.labels = {**saved, name: reader.scopes.fresh()}
    line = reader.line(node)
    read: Statement
    if body.kind_id in FUNCTIONS:
        # No jump can name this label (Annex B.3.1), and the function is declared where the label stands.
        reader.unknown(body)
    read = Labeled(line, reader.labels[name], substatement(reader, body))
    reader.labels = saved
    return read


def _return(reader: Reader, node: Node) -> Return:
    children = reader.children(node)
    value = children[1] if len(children) > 1 and children[1].kind_id != _SEMICOLON else None
    return Return(reader.line(node), None if value is None else reader.expression(value))


def _throw(reader: Reader, node: Node) -> Throw:
    return Throw(reader.line(node), reader.expression(reader.children(node)[1]))


def _empty(reader: Reader, node: Node) -> Empty:
    return Empty(reader.line(node))


def _with(reader: Reader, node: Node) -> Statement:
    reader.refuse(node, "The payload uses a with statement.", with_statement.LABEL)


def _debugger(reader: Reader, node: Node) -> Statement:
    reader.refuse(node, "The payload stops in a debugger.")


def _module(reader: Reader, node: Node) -> Statement:
    reader.refuse(node, "The payload uses module syntax.", static_import.LABEL)


HANDLERS: Final[dict[int, StatementHandler]] = {
    **read_loops.HANDLERS,
    kind("expression_statement"): _expression,
    **dict.fromkeys(DECLARATIONS, declaration),
    _BLOCK: _block,
    **dict.fromkeys(FUNCTIONS, _function),
    kind("class_declaration"): class_declaration,
    _IF: _if,
    kind("switch_statement"): _switch,
    kind("try_statement"): _try,
    **dict.fromkeys(kinds("break_statement", "continue_statement"), _jump),
    kind("labeled_statement"): _labeled,
    kind("return_statement"): _return,
    kind("throw_statement"): _throw,
    _EMPTY: _empty,
    kind("with_statement"): _with,
    kind("debugger_statement"): _debugger,
    **dict.fromkeys(kinds("import_statement", "export_statement"), _module),
}
