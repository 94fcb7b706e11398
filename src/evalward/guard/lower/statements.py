"""Statements and statement lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.scope import Scope
from evalward.guard.lower.allow_lists import exits
from evalward.guard.lower.lowering import where
from evalward.guard.lower.node_kinds import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from evalward.guard.lower.allow_lists import Narrowing
    from evalward.guard.lower.lowering import Handler, Lowering, Steps, Work

_HOISTED = kinds("function_declaration", "generator_function_declaration")
_IF = kinds("if_statement")


def lower_statements(lowering: Lowering, nodes: list[Node], *, one_by_one: bool = True) -> Steps:
    """Lower a statement list, its function declarations first (hoisting).

    ``one_by_one`` says that each statement is reached from the one before only.
    """
    build = lowering.build
    others = []
    for node in nodes:
        if node.kind_id in _HOISTED:
            yield lowering.lower(node)
        else:
            others.append(node)
    passed: list[Narrowing] = []
    checks = lowering.stretches.checks and one_by_one
    for node in others:
        begin = len(build.unit.code)
        work = lowering.lower(node)
        if type(work) is not int:
            yield work
        if checks and node.kind_id in _IF and node.child_by_field_name("alternative") is None:
            test = node.child_by_field_name("condition")
            if test is not None and exits(node.child_by_field_name("consequence")):
                passed += lowering.stretches.checked(test, begin, holds=False)
    lowering.stretches.end(passed)
    return build.undefined


def _lower_statement_block(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    yield from lower_statements(lowering, build.children(node))
    build.scope = outer
    return build.undefined


def _lower_expression_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    if build.unit.outer is None and node.start_byte in build.completing:
        return _completed(lowering, node)
    return lowering.lower(build.children(node)[0])


def _completed(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    register = yield lowering.lower(build.children(node)[0])
    build.emit(Op.COMPLETE, node, register)
    return build.undefined


def _lower_empty_statement(lowering: Lowering, _node: Node) -> Work:
    return lowering.build.undefined


def _each(lowering: Lowering, node: Node) -> Steps:
    """Lower the children in order, for statements whose control flow does not matter."""
    build = lowering.build
    for child in build.children(node):
        work = lowering.lower(child)
        if type(work) is not int:
            yield work
    return build.undefined


def _lower_if_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    test, then = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    otherwise = node.child_by_field_name("alternative")
    assert test is not None  # noqa: S101 - the grammar requires both
    assert then is not None  # noqa: S101
    begin = len(build.unit.code)
    yield lowering.lower(test)
    passed = lowering.stretches.checked(test, begin, holds=True)
    yield where(lowering, test, begin, then)
    lowering.stretches.end(passed)
    if otherwise is not None:
        passed = lowering.stretches.checked(test, begin, holds=False)
        yield lowering.lower(otherwise)
        lowering.stretches.end(passed)
    return build.undefined


def _scoped(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    yield from _each(lowering, node)
    build.scope = outer
    return build.undefined


def _lower_switch_body(lowering: Lowering, node: Node) -> Work:
    """Lower all cases in one block scope, their function declarations first."""
    build = lowering.build
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    statements = [part for case in build.children(node) for part in build.children(case)]
    yield from lower_statements(lowering, statements, one_by_one=False)
    build.scope = outer
    return build.undefined


def _lower_catch_clause(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    parameter, body = node.child_by_field_name("parameter"), node.child_by_field_name("body")
    if parameter is not None:
        register = build.emit(Op.CAUGHT, node)
        yield lowering.bind(parameter, register, parameter, "let")
    if body is not None:
        yield from lower_statements(lowering, build.children(body))
    build.scope = outer
    return build.undefined


def _lower_return_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    children = build.children(node)
    register = (yield lowering.lower(children[0])) if children else build.undefined
    build.emit(Op.COMPLETE if build.unit.outer is None else Op.RETURN, node, register)
    return build.undefined


def _lower_throw_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    register = yield lowering.lower(build.children(node)[0])
    build.emit(Op.THROW, node, register)
    return build.undefined


def _lower_with_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    subject = node.child_by_field_name("object")
    register = build.undefined if subject is None else (yield lowering.lower(subject))
    build.emit(Op.WITH, node, register)
    body = node.child_by_field_name("body")
    if body is not None:
        yield lowering.lower(body)
    return build.undefined


def _lower_import_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    build.emit(Op.STATIC_IMPORT, node)
    return build.undefined


HANDLERS: Final[Mapping[str, Handler]] = {
    "statement_block": _lower_statement_block,
    "expression_statement": _lower_expression_statement,
    "empty_statement": _lower_empty_statement,
    "if_statement": _lower_if_statement,
    "switch_body": _lower_switch_body,
    "catch_clause": _lower_catch_clause,
    "return_statement": _lower_return_statement,
    "throw_statement": _lower_throw_statement,
    "with_statement": _lower_with_statement,
    "import_statement": _lower_import_statement,
    "debugger_statement": _lower_empty_statement,
    "break_statement": _lower_empty_statement,
    "continue_statement": _lower_empty_statement,
    "statement_identifier": _lower_empty_statement,
    "comment": _lower_empty_statement,
    "else_clause": _each,
    "while_statement": _each,
    "do_statement": _each,
    "labeled_statement": _each,
    "try_statement": _each,
    "finally_clause": _each,
    "switch_statement": _each,
    "for_statement": _scoped,
    "export_statement": _lower_import_statement,
}
