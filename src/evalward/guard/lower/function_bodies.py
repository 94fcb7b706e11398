"""Functions, methods and classes: each body becomes a unit of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.guard.domain.instructions import Op, Unit
from evalward.guard.domain.scope import Scope
from evalward.guard.lower.compiled_helpers import FUNCTIONS, helper_of
from evalward.guard.lower.destructuring import Patterns

if TYPE_CHECKING:
    from collections.abc import Generator

    from tree_sitter import Node

    from evalward.guard.lower.builder import Steps, Work


class Functions(Patterns):
    """Lowering of everything that has a body of its own."""

    if TYPE_CHECKING:  # the builder's other parts

        def lower_statements(self, nodes: list[Node]) -> Steps: ...

    def new_unit(self, name: str, node: Node) -> Unit:
        """Return a unit inside the current one."""
        unit = Unit(name, self.unit, node.start_byte)
        unit.strict = self.unit.strict
        unit.this, unit.result = self.register(), self.register()
        unit.sent, unit.yielded = self.register(), self.register()
        unit.new_target = self.register()
        self.lowered.units.append(unit)
        return unit

    def lower_function_expression(self, node: Node) -> Work:
        return self.named_function(node, "")

    lower_arrow_function = lower_function_expression
    lower_generator_function = lower_function_expression
    lower_class = lower_function_expression

    def lower_function_declaration(self, node: Node) -> Work:
        """Bind the function's name; ``lower_statements`` calls this before the other statements of the list."""
        name_node = node.child_by_field_name("name")
        name = self.name(name_node) if name_node is not None else ""
        self.declare(name, "function")
        register = yield self.function(node, name)
        self.emit(Op.STORE, node, self.reference(name), register)
        return self.undefined

    lower_generator_function_declaration = lower_function_declaration

    def named_function(self, node: Node, name: str) -> Work:
        """Lower a function or class expression; its own name binds inside a scope around it."""
        name_node = node.child_by_field_name("name")
        if name_node is not None:
            return self._self_named(node, self.name(name_node))
        return self.class_(node, name) if node.type == "class" else self.function(node, name)

    def _self_named(self, node: Node, name: str) -> Work:
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        self.declare(name, "const")
        register = yield self.class_(node, name) if node.type == "class" else self.function(node, name)
        self.emit(Op.STORE, node, self.reference(name), register)
        self.scope = outer
        return register

    def function(self, node: Node, name: str, *, method: bool = False) -> Work:
        """Lower a function's parameters and body to a unit, and make the function object."""
        unit = self.new_unit(name, node)
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
        if self.compiled and node.type in FUNCTIONS:
            unit.helper, unit.calls_helper = helper_of(node, self.source)
        body = node.child_by_field_name("body")
        if body is not None and self.is_strict(body):
            unit.strict = True
        single = node.child_by_field_name("parameter")
        formal = node.child_by_field_name("parameters")
        parameters = [single] if single is not None else self.children(formal) if formal is not None else []
        saved = self.unit, self.scope
        self.unit = unit
        listing = self.callbacks.pop(node.start_byte, None)
        if listing is not None:
            listing.unit = unit
            self.listing.append(listing)
        self.scope = Scope(self.scope, unit, is_function=True)
        yield from self.bind_parameters(parameters)
        if body is not None and body.type == "statement_block":
            self.scope = Scope(self.scope, unit, is_function=True)
            yield from self.lower_statements(self.children(body))
        elif body is not None:
            work = self.lower(body)
            register = work if type(work) is int else (yield work)
            self.emit(Op.RETURN, body, register)
        self.unit, self.scope = saved
        if listing is not None:
            self.listing.remove(listing)
        return self.emit(Op.FUNCTION, node, unit)

    def is_strict(self, body: Node) -> bool:
        """Whether a body begins with a directive prologue that holds ``use strict``."""
        if (
            body.type != "statement_block"
            or b"use strict" not in self.source[body.start_byte : body.end_byte]
        ):
            return False
        return self.has_directive(self.children(body))

    def has_directive(self, nodes: list[Node]) -> bool:
        """Whether statements begin with the directive ``use strict`` (ECMA-262 §11.2.1)."""
        for node in nodes:
            inner = self.children(node) if node.type == "expression_statement" else []
            if not inner or inner[0].type != "string":
                return False
            if self.text(inner[0])[1:-1] == "use strict":
                return True
        return False

    def method(self, node: Node) -> Generator[Any, int, tuple[str, str | int, int]]:
        """Lower a method definition to its kind (``init``, ``get``, ``set``), its key and its function's register."""
        kind = "init"
        for child in node.children:
            if child.type in {"get", "set"}:
                kind = child.type
        name_node = node.child_by_field_name("name")
        key: str | int = "" if name_node is None else (yield from self.property_key(name_node))
        register = yield self.function(node, key if isinstance(key, str) else "", method=True)
        return kind, key, register

    # Classes

    def lower_class_declaration(self, node: Node) -> Work:
        name_node = node.child_by_field_name("name")
        name = self.name(name_node) if name_node is not None else ""
        self.declare(name, "class")
        register = yield self.class_(node, name)
        self.emit(Op.STORE, node, self.reference(name), register)
        return self.undefined

    def class_(self, node: Node, name: str) -> Work:
        """Lower a class: members, and one unit each for the initialisers of instances and of the class itself."""
        heritage = next((child for child in self.children(node) if child.type == "class_heritage"), None)
        parent = (yield self.lower(self.children(heritage)[0])) if heritage is not None else None
        was_strict, self.unit.strict = self.unit.strict, True
        body = node.child_by_field_name("body")
        instance = self.new_unit(f"{name} fields", node)
        static = self.new_unit(f"{name} static", node)
        instance.method = static.method = True
        constructor: int | None = None
        keys: list[int] = []  # of fields, which other units read: the class has them as operands
        members: list[tuple[bool, str, str | int, int]] = []
        for child in self.children(body) if body is not None else []:
            is_static = any(part.type == "static" for part in child.children)
            if child.type == "method_definition":
                kind, key, register = yield from self.method(child)
                if key == "constructor" and not is_static:
                    constructor = register
                else:
                    members.append((is_static, kind, key, register))
            elif child.type == "field_definition":
                keys.append((yield self._field(child, static if is_static else instance)))
            elif child.type == "class_static_block":
                yield self._static_block(child, static)
            else:
                yield self.lower_unmodelled(child)
        self.unit.strict = was_strict
        return self.emit(
            Op.CLASS, node, (name, parent, constructor, tuple(keys)), tuple(members), (instance, static)
        )

    def _field(self, node: Node, unit: Unit) -> Work:
        property_node = node.child_by_field_name("property")
        value_node = node.child_by_field_name("value")
        key: str | int = "" if property_node is None else (yield from self.property_key(property_node))
        saved = self.unit, self.scope
        self.unit, self.scope = unit, Scope(self.scope, unit, is_function=True)
        value = self.undefined if value_node is None else (yield self.named(value_node, key))
        unit.uses_this = True
        this = self.emit(Op.THIS, node, unit)
        self.emit(Op.SET, node, this, key, value)
        self.unit, self.scope = saved
        return key if isinstance(key, int) else self.undefined

    def _static_block(self, node: Node, unit: Unit) -> Work:
        body = node.child_by_field_name("body")
        saved = self.unit, self.scope
        self.unit, self.scope = unit, Scope(self.scope, unit, is_function=True)
        yield from self.lower_statements(self.children(body) if body is not None else [])
        self.unit, self.scope = saved
        return self.undefined
