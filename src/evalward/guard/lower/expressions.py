"""Literals, names, groups, objects, arrays and reads of members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import ANY_BIGINT, FALSE, NULL, TRUE, V_ANY_STRING, number, of
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.span import Span
from evalward.guard.lower.call_expressions import argument, member, named, property_key, template_parts
from evalward.guard.lower.lowering import unmodelled
from evalward.guard.lower.node_kinds import kinds
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from evalward.guard.lower.lowering import Handler, Lowering, Work

_SIMPLE = kinds("identifier", "this")  # the usual objects of members
_PAIR = kinds("pair")
_FALSE = of(FALSE)
_TRUE = of(TRUE)
_NULL = of(NULL)


def _lower_string(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    value = literals.unescape(build.text(node)[1:-1])
    return build.constant(V_ANY_STRING if value is None else of(value))


def _lower_number(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    value = literals.number(build.text(node))
    return build.constant(of(ANY_BIGINT) if value is None else number(value).value)


def _lower_true(lowering: Lowering, _node: Node) -> Work:
    return lowering.build.constant(_TRUE)


def _lower_false(lowering: Lowering, _node: Node) -> Work:
    return lowering.build.constant(_FALSE)


def _lower_null(lowering: Lowering, _node: Node) -> Work:
    return lowering.build.constant(_NULL)


def _lower_regex(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    pattern, _, flags = build.text(node)[1:].rpartition("/")
    return build.emit(Op.REGEXP, node, pattern, flags)


def _lower_identifier(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    span = Span(node.start_byte, node.end_byte)
    text = (
        build.ascii[span.start : span.end]
        if build.ascii is not None
        else build.source[span.start : span.end].decode()
    )
    use = build.reference(build.name(node) if "\\" in text else text)
    index = (
        build.lowered.registers
    )  # the same as `emit`, without a Python call: two instructions in five are loads
    build.lowered.registers = index + 1
    build.unit.code.append((Op.LOAD, index, use, None, None, span))
    return index


def _lower_this(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    return build.emit(Op.THIS, node, build.this_unit().index)


def _lower_super(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    register = build.emit(Op.SUPER, node, build.this_unit().index)
    build.lowered.supers[register] = build.this_unit().index
    return register


def _lower_meta_property(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    if build.text(node).startswith("new"):
        return build.emit(Op.NEW_TARGET, node, build.this_unit().index)
    return build.emit(Op.IMPORT_META, node)


def _lower_template_string(lowering: Lowering, node: Node) -> Work:
    parts = yield from template_parts(lowering, node)
    return lowering.build.emit(Op.TEMPLATE, node, tuple(register for register, _ in parts))


def _lower_parenthesized_expression(lowering: Lowering, node: Node) -> Work:
    return lowering.lower(lowering.build.children(node)[0])


def _lower_sequence_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    register = build.undefined
    for child in build.children(node):
        register = yield lowering.lower(child)
    return register


def _lower_array(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    elements: list[int] = []
    hole, holes = True, False
    for child in node.children:
        if not child.is_named:
            if child.type == ",":
                if hole:
                    elements.append(build.undefined)
                    holes = True
                hole = True
            continue
        if child.type in {"comment", "html_comment"}:
            continue
        hole = False
        element = argument(lowering, child)
        elements.append(element if type(element) is int else (yield element))
    return build.emit(Op.ARRAY, node, tuple(elements), holes)


def _lower_object(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    entries: list[tuple[str, str | int, int]] = []
    for child in build.children(node):
        if child.kind_id in _PAIR:
            key_node, _, value_node = build.parts(child)
            key = yield from property_key(lowering, key_node)
            value = named(lowering, value_node, key)
            entries.append(("init", key, value if type(value) is int else (yield value)))
            continue
        match child.type:
            case "spread_element":
                entries.append(("spread", "", (yield lowering.lower(build.children(child)[0]))))
            case "shorthand_property_identifier":
                entries.append(("init", build.name(child), (yield lowering.lower(child))))
            case "method_definition":
                kind, key, register = yield from lowering.method(child)
                entries.append((kind, key, register))
            case _:
                entries.append(("spread", "", (yield unmodelled(lowering, child))))
    return build.emit(Op.OBJECT, node, tuple(entries))


def _lower_member_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    parts = build.parts(node)
    if parts[0].kind_id not in _SIMPLE:
        return _lower_subscript_expression(lowering, node)
    target = lowering.lower(parts[0])
    assert type(target) is int  # noqa: S101 - a name and `this` are lowered at once
    return build.chained(build.emit(Op.GET, node, target, build.name(parts[-1])), target, parts)


def _lower_subscript_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    target, key = yield from member(lowering, node)
    register = build.chained(build.emit(Op.GET, node, target, key), target, build.parts(node))
    if key == "constructor" and lowering.stretches.known_instances:
        lowering.stretches.read_constructor(target)
    return build.awaited(register, target, node)


HANDLERS: Final[Mapping[str, Handler]] = {
    "string": _lower_string,
    "number": _lower_number,
    "true": _lower_true,
    "false": _lower_false,
    "null": _lower_null,
    "regex": _lower_regex,
    "identifier": _lower_identifier,
    "this": _lower_this,
    "super": _lower_super,
    "meta_property": _lower_meta_property,
    "template_string": _lower_template_string,
    "parenthesized_expression": _lower_parenthesized_expression,
    "sequence_expression": _lower_sequence_expression,
    "array": _lower_array,
    "object": _lower_object,
    "member_expression": _lower_member_expression,
    "subscript_expression": _lower_subscript_expression,
    "undefined": _lower_identifier,
    "shorthand_property_identifier": _lower_identifier,
}
