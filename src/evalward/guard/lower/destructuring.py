"""Binding and assignment patterns: the parts of a value and their targets (ECMA-262 §8.6.2, §13.15.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.lower.call_expressions import member, named, property_key, unwrapped
from evalward.guard.lower.lowering import unmodelled
from evalward.guard.lower.node_kinds import kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.lowering import Lowering, Steps, Work

_IDENTIFIER = kinds("identifier")


def bind(lowering: Lowering, target: Node, register: int, node: Node, declare: str) -> Work:
    """Destructure a value into a pattern; ``declare`` is the kind of declaration, empty for an assignment."""
    build = lowering.build
    if target.kind_id in _IDENTIFIER:
        return _bind_name(build, target, register, node, declare)
    match target.type:
        case "shorthand_property_identifier_pattern" | "shorthand_property_identifier" | "undefined":
            return _bind_name(build, target, register, node, declare)
        case "member_expression" | "subscript_expression":
            return _bind_member(lowering, target, register, node)
        case "parenthesized_expression":
            return bind(lowering, unwrapped(build, target), register, node, declare)
        case "assignment_pattern" | "object_assignment_pattern" | "assignment_expression":
            return _bind_default(lowering, target, register, node, declare)
        case "object_pattern" | "object":
            return _bind_object(lowering, target, register, declare)
        case "array_pattern" | "array":
            return _bind_array(lowering, target, register, declare)
        case "rest_pattern" | "spread_element":
            return bind(lowering, build.children(target)[0], register, node, declare)
        case _:
            return unmodelled(lowering, target)


def _bind_name(build: Builder, target: Node, register: int, node: Node, declare: str) -> int:
    name = build.name(target)
    if declare:
        build.declare(name, declare)
    return build.emit(Op.STORE, node, build.reference(name), register)


def _bind_member(lowering: Lowering, target: Node, register: int, node: Node) -> Work:
    owner, key = yield from member(lowering, target)
    return lowering.build.emit(Op.SET, node, owner, key, register)


def _bind_default(lowering: Lowering, target: Node, register: int, node: Node, declare: str) -> Work:
    build = lowering.build
    left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
    assert left is not None  # noqa: S101 - the grammar requires both
    assert right is not None  # noqa: S101
    default = yield named(
        lowering, right, build.name(left) if left.type.endswith(("identifier", "_pattern")) else ""
    )
    value = build.emit(Op.JOIN, target, (register, default))
    return (yield bind(lowering, left, value, node, declare))


def _bind_object(lowering: Lowering, target: Node, register: int, declare: str) -> Work:
    build = lowering.build
    taken: list[str | int] = []
    for child in build.children(target):
        match child.type:
            case "pair_pattern" | "pair":
                key_node, value_node = (
                    child.child_by_field_name("key"),
                    child.child_by_field_name("value"),
                )
                if key_node is None or value_node is None:
                    continue
                key = yield from property_key(lowering, key_node)
                taken.append(key)
                piece = build.emit(Op.GET, child, register, key)
                yield bind(lowering, value_node, piece, child, declare)
            case "rest_pattern" | "spread_element":
                piece = build.emit(Op.OMIT, child, register, tuple(taken))
                yield bind(lowering, build.children(child)[0], piece, child, declare)
            case "object_assignment_pattern" | "assignment_expression":
                left = child.child_by_field_name("left")
                if left is None:
                    continue
                taken.append(build.name(left))
                piece = build.emit(Op.GET, child, register, build.name(left))
                yield bind(lowering, child, piece, child, declare)
            case _:
                taken.append(build.name(child))
                piece = build.emit(Op.GET, child, register, build.name(child))
                yield bind(lowering, child, piece, child, declare)
    return register


def _bind_array(lowering: Lowering, target: Node, register: int, declare: str) -> Work:
    index = 0
    for child in target.children:
        if not child.is_named:
            index += child.type == ","
            continue
        if child.type in {"comment", "html_comment"}:
            continue
        rest = child.type in {"rest_pattern", "spread_element"}
        piece = lowering.build.emit(Op.REST if rest else Op.ITERATE, child, register, index)
        yield bind(lowering, child, piece, child, declare)
    return register


def bind_parameters(lowering: Lowering, nodes: list[Node]) -> Steps:
    """Bind a function's parameters from the registers that its arguments arrive in."""
    build = lowering.build
    for node in nodes:
        register = build.register()
        if node.type == "rest_pattern":
            build.unit.rest = register
        else:
            build.unit.parameters.append(register)
        if node.kind_id in _IDENTIFIER:
            build.scope.names[build.name(node)] = register
            continue
        yield bind(lowering, node, register, node, "parameter")
    return build.undefined
