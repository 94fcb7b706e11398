"""Functions, methods and classes: each body becomes a unit of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.scope import Scope
from evalward.guard.lower.call_expressions import named, property_key
from evalward.guard.lower.compiled_helpers import FUNCTIONS, helper_of
from evalward.guard.lower.destructuring import bind_parameters
from evalward.guard.lower.lowering import unmodelled

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.drafts import UnitDraft
    from evalward.guard.lower.lowering import Handler, Lowering, Work


def _lower_function_expression(lowering: Lowering, node: Node) -> Work:
    return named_function(lowering, node, "")


def _lower_function_declaration(lowering: Lowering, node: Node) -> Work:
    """Bind the function's name; ``lower_statements`` calls this before the other statements of the list."""
    build = lowering.build
    name_node = node.child_by_field_name("name")
    name = build.name(name_node) if name_node is not None else ""
    build.declare(name, "function")
    register = yield function(lowering, node, name)
    build.emit(Op.STORE, node, build.reference(name), register)
    if build.unit.outer is None and node.start_byte in build.completing:
        build.emit(Op.COMPLETE, node, register)
    return build.undefined


def named_function(lowering: Lowering, node: Node, name: str) -> Work:
    """Lower a function or class expression; its own name binds inside a scope around it."""
    name_node = node.child_by_field_name("name")
    if name_node is not None:
        return _self_named(lowering, node, lowering.build.name(name_node))
    return class_(lowering, node, name) if node.type == "class" else function(lowering, node, name)


def _self_named(lowering: Lowering, node: Node, name: str) -> Work:
    build = lowering.build
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    build.declare(name, "const")
    register = yield class_(lowering, node, name) if node.type == "class" else function(lowering, node, name)
    build.emit(Op.STORE, node, build.reference(name), register)
    build.scope = outer
    return register


def function(lowering: Lowering, node: Node, name: str, *, method: bool = False) -> Work:
    """Lower a function's parameters and body to a unit, and make the function object."""
    build = lowering.build
    unit = build.new_unit(name, node)
    unit.arrow = node.type == "arrow_function"
    unit.method = method
    for child in node.children:
        if child.type == "async":
            unit.asynchronous = True
        elif child.type == "*":
            unit.generator = True
        elif child.type in {"formal_parameters", "statement_block"}:
            break
    unit.generator = unit.generator or node.type.startswith("generator_function")
    if build.compiled and node.type in FUNCTIONS:
        unit.helper, unit.calls_helper = helper_of(node, build.source)
    body = node.child_by_field_name("body")
    if body is not None and is_strict(build, body):
        unit.strict = True
    single = node.child_by_field_name("parameter")
    formal = node.child_by_field_name("parameters")
    parameters = [single] if single is not None else build.children(formal) if formal is not None else []
    saved = build.unit, build.scope
    build.unit = unit
    listing = lowering.stretches.callbacks.pop(node.start_byte, None)
    if listing is not None:
        listing.unit = unit
        lowering.stretches.listing.append(listing)
    build.scope = Scope(build.scope, unit.index, is_function=True)
    yield from bind_parameters(lowering, parameters)
    if body is not None and body.type == "statement_block":
        build.scope = Scope(build.scope, unit.index, is_function=True)
        yield from lowering.statements(build.children(body))
    elif body is not None:
        work = lowering.lower(body)
        register = work if type(work) is int else (yield work)
        build.emit(Op.RETURN, body, register)
    build.unit, build.scope = saved
    if listing is not None:
        lowering.stretches.listing.remove(listing)
    return build.emit(Op.FUNCTION, node, unit.index)


def is_strict(build: Builder, body: Node) -> bool:
    """Whether a body begins with a directive prologue that holds ``use strict``."""
    if body.type != "statement_block" or b"use strict" not in build.source[body.start_byte : body.end_byte]:
        return False
    return has_directive(build, build.children(body))


def has_directive(build: Builder, nodes: list[Node]) -> bool:
    """Whether statements begin with the directive ``use strict`` (ECMA-262 §11.2.1)."""
    for node in nodes:
        inner = build.children(node) if node.type == "expression_statement" else []
        if not inner or inner[0].type != "string":
            return False
        if build.text(inner[0])[1:-1] == "use strict":
            return True
    return False


def method(lowering: Lowering, node: Node) -> Generator[Any, int, tuple[str, str | int, int]]:
    """Lower a method definition to its kind (``init``, ``get``, ``set``), its key and its function's register."""
    kind = "init"
    for child in node.children:
        if child.type in {"get", "set"}:
            kind = child.type
    name_node = node.child_by_field_name("name")
    key: str | int = "" if name_node is None else (yield from property_key(lowering, name_node))
    register = yield function(lowering, node, key if isinstance(key, str) else "", method=True)
    return kind, key, register


def _lower_class_declaration(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    name_node = node.child_by_field_name("name")
    name = build.name(name_node) if name_node is not None else ""
    build.declare(name, "class")
    register = yield class_(lowering, node, name)
    build.emit(Op.STORE, node, build.reference(name), register)
    return build.undefined


def class_(lowering: Lowering, node: Node, name: str) -> Work:
    """Lower a class: members, and one unit each for the initialisers of instances and of the class itself."""
    build = lowering.build
    heritage = next((child for child in build.children(node) if child.type == "class_heritage"), None)
    parent = (yield lowering.lower(build.children(heritage)[0])) if heritage is not None else None
    was_strict, build.unit.strict = build.unit.strict, True
    body = node.child_by_field_name("body")
    instance = build.new_unit(f"{name} fields", node)
    static = build.new_unit(f"{name} static", node)
    instance.method = static.method = True
    constructor: int | None = None
    keys: list[int] = []  # of fields, which other units read: the class has them as operands
    members: list[tuple[bool, str, str | int, int]] = []
    for child in build.children(body) if body is not None else []:
        is_static = any(part.type == "static" for part in child.children)
        if child.type == "method_definition":
            kind, key, register = yield from method(lowering, child)
            if key == "constructor" and not is_static:
                constructor = register
            else:
                members.append((is_static, kind, key, register))
        elif child.type == "field_definition":
            keys.append((yield _field(lowering, child, static if is_static else instance)))
        elif child.type == "class_static_block":
            yield _static_block(lowering, child, static)
        else:
            yield unmodelled(lowering, child)
    build.unit.strict = was_strict
    return build.emit(
        Op.CLASS,
        node,
        (name, parent, constructor, tuple(keys)),
        tuple(members),
        (instance.index, static.index),
    )


def _field(lowering: Lowering, node: Node, unit: UnitDraft) -> Work:
    build = lowering.build
    property_node = node.child_by_field_name("property")
    value_node = node.child_by_field_name("value")
    key: str | int = "" if property_node is None else (yield from property_key(lowering, property_node))
    saved = build.unit, build.scope
    build.unit, build.scope = unit, Scope(build.scope, unit.index, is_function=True)
    value = build.undefined if value_node is None else (yield named(lowering, value_node, key))
    unit.uses_this = True
    this = build.emit(Op.THIS, node, unit.index)
    build.emit(Op.SET, node, this, key, value)
    build.unit, build.scope = saved
    return key if isinstance(key, int) else build.undefined


def _static_block(lowering: Lowering, node: Node, unit: UnitDraft) -> Work:
    build = lowering.build
    body = node.child_by_field_name("body")
    saved = build.unit, build.scope
    build.unit, build.scope = unit, Scope(build.scope, unit.index, is_function=True)
    yield from lowering.statements(build.children(body) if body is not None else [])
    build.unit, build.scope = saved
    return build.undefined


HANDLERS: Final[Mapping[str, Handler]] = {
    "function_expression": _lower_function_expression,
    "function_declaration": _lower_function_declaration,
    "class_declaration": _lower_class_declaration,
    "arrow_function": _lower_function_expression,
    "generator_function": _lower_function_expression,
    "class": _lower_function_expression,
    "generator_function_declaration": _lower_function_declaration,
}
