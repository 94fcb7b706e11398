"""Operators: unary, binary and conditional ones, assignments, ``await`` and ``yield``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import NAMESPACES
from evalward.guard.lower.call_expressions import MEMBERS, member, named, unwrapped
from evalward.guard.lower.lowering import where
from evalward.guard.lower.node_kinds import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.lowering import Handler, Lowering, Work

_MEMBER = kinds("member_expression")
_IDENTIFIER = kinds("identifier")
_STRING = kinds("string")
_PRIVATE = kinds("private_property_identifier")


def _lower_ternary_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    condition, _, consequence, _, alternative = build.parts(node)
    begin = len(build.unit.code)
    tested = yield lowering.lower(condition)
    passed = lowering.stretches.checked(condition, begin, holds=True)
    left = yield where(lowering, condition, begin, consequence)
    lowering.stretches.end(passed)
    passed = lowering.stretches.checked(condition, begin, holds=False)
    right = yield lowering.lower(alternative)
    lowering.stretches.end(passed)
    return build.emit(Op.JOIN, node, (left, right), tested if _asks_for_builtin(build, condition) else None)


def _lower_binary_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    left_node, operator_node, right_node = build.parts(node)
    begin = len(build.unit.code)
    left = build.undefined if left_node.kind_id in _PRIVATE else lowering.lower(left_node)
    if type(left) is not int:
        left = yield left
    operator = operator_node.type
    if operator == "&&" or (operator == "||" and lowering.stretches.checks):
        passed = lowering.stretches.checked(left_node, begin, holds=operator == "&&")
        if operator == "&&":
            right = yield where(lowering, left_node, begin, right_node)
        else:
            right = yield lowering.lower(right_node)
        lowering.stretches.end(passed)
    else:
        right = lowering.lower(right_node)
        if type(right) is not int:
            right = yield right
    if operator == "||" and _asks_for_builtin(build, left_node):
        return build.emit(Op.JOIN, node, (left, right), left)
    return build.emit(Op.BINARY, node, operator, left, right)


def _asks_for_builtin(build: Builder, node: Node) -> bool:
    """Whether an expression asks for a function of the language, as in ``Object.assign || function …``."""
    owner = build.parts(node)[0] if node.kind_id in _MEMBER else None
    return owner is not None and owner.kind_id in _IDENTIFIER and build.text(owner) in NAMESPACES


def _lower_unary_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    operator_node, argument = build.parts(node)
    operator = operator_node.type
    if operator == "delete":
        inner = unwrapped(build, argument)
        if inner.kind_id in MEMBERS:
            target, key = yield from member(lowering, inner)
            return build.emit(Op.DELETE, node, target, key)
    register = yield lowering.lower(argument)
    if operator == "typeof":
        build.ask_type(register)
    return build.emit(Op.UNARY, node, operator, register)


def _lower_update_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    first, last = build.parts(node)
    prefix = first.type in {"++", "--"}
    operator, target = (first, last) if prefix else (last, first)
    inner = unwrapped(build, target)
    step = 1 if operator.type == "++" else -1
    if inner.kind_id in MEMBERS:
        owner, key = yield from member(lowering, inner)
        old = build.emit(Op.GET, inner, owner, key)
        new = build.emit(Op.UPDATE, node, old, step, False)
        build.emit(Op.SET, node, owner, key, new)
    else:
        old = yield lowering.lower(inner)
        new = build.emit(Op.UPDATE, node, old, step, True)
        yield lowering.bind(inner, new, node, "")
        if inner.kind_id in _IDENTIFIER:
            build.lowered.counted.append(build.lowered.references[-1])
    return new if prefix else build.emit(Op.UNARY, node, "+", old)


def _lower_assignment_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    parts = build.parts(node)
    left, right = unwrapped(build, parts[-3]), parts[-1]  # `using` may precede them
    if left.kind_id in MEMBERS:
        owner, key = yield from member(lowering, left)
        value = yield named(lowering, right, "")
        build.emit(Op.SET, node, owner, key, value)
        return value
    value = yield named(lowering, right, build.name(left) if left.kind_id in _IDENTIFIER else "")
    yield lowering.bind(left, value, node, "")
    return value


def _lower_augmented_assignment_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    left, operator, right = build.parts(node)
    left = unwrapped(build, left)
    owner: int | None = None
    key: str | int = ""
    if left.kind_id in MEMBERS:
        owner, key = yield from member(lowering, left)
        old = build.emit(Op.GET, left, owner, key)
    else:
        old = yield lowering.lower(left)
    value = yield lowering.lower(right)
    new = build.emit(Op.BINARY, node, operator.type[:-1], old, value)
    if key == "innerHTML" and operator.type == "+=" and right.kind_id in _STRING:
        build.lowered.appended[new] = value
    if owner is not None:
        build.emit(Op.SET, node, owner, key, new)
    else:
        yield lowering.bind(left, new, node, "")
    return new


def _lower_await_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    register = yield lowering.lower(build.children(node)[0])
    return build.emit(Op.AWAIT, node, register)


def _lower_yield_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    operands = build.children(node)
    register = (yield lowering.lower(operands[0])) if operands else build.undefined
    delegate = any(child.type == "*" for child in node.children)
    return build.emit(Op.YIELD, node, register, delegate)


HANDLERS: Final[Mapping[str, Handler]] = {
    "ternary_expression": _lower_ternary_expression,
    "binary_expression": _lower_binary_expression,
    "unary_expression": _lower_unary_expression,
    "update_expression": _lower_update_expression,
    "assignment_expression": _lower_assignment_expression,
    "augmented_assignment_expression": _lower_augmented_assignment_expression,
    "await_expression": _lower_await_expression,
    "yield_expression": _lower_yield_expression,
}
