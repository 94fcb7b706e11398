"""Expressions: literals, names, members, calls, operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.guard.resolver import literals
from evalward.guard.resolver.ir import Op
from evalward.guard.resolver.lowering.builder import Builder, Work
from evalward.guard.resolver.values import (
    ANY_BIGINT,
    FALSE,
    NULL,
    TRUE,
    V_STRING,
    number,
    of,
    string,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from tree_sitter import Node


class Expressions(Builder):
    """Lowering of expressions."""

    if TYPE_CHECKING:  # the builder's other parts

        def assign(self, target: Node, register: int, node: Node) -> Work: ...
        def method(self, node: Node) -> Generator[Any, int, tuple[str, str | int, int]]: ...
        def named_function(self, node: Node, name: str) -> Work: ...

    # Literals and names

    def lower_string(self, node: Node) -> Work:
        value = literals.unescape(self.text(node)[1:-1])
        return self.constant(V_STRING if value is None else string(value))

    def lower_number(self, node: Node) -> Work:
        value = literals.number(self.text(node))
        return self.constant(of(ANY_BIGINT) if value is None else of(number(value)))

    def lower_true(self, _node: Node) -> Work:
        return self.constant(of(TRUE))

    def lower_false(self, _node: Node) -> Work:
        return self.constant(of(FALSE))

    def lower_null(self, _node: Node) -> Work:
        return self.constant(of(NULL))

    def lower_regex(self, node: Node) -> Work:
        pattern, _, flags = self.text(node)[1:].rpartition("/")
        return self.emit(Op.REGEXP, node, pattern, flags)

    def lower_identifier(self, node: Node) -> Work:
        return self.emit(Op.LOAD, node, self.reference(self.name(node)))

    lower_undefined = lower_identifier
    lower_shorthand_property_identifier = lower_identifier

    def lower_this(self, node: Node) -> Work:
        return self.emit(Op.THIS, node, self.this_unit())

    def lower_super(self, node: Node) -> Work:
        return self.emit(Op.SUPER, node, self.this_unit())

    def this_unit(self) -> Any:
        """Return the unit whose ``this`` an expression here sees."""
        unit = self.unit
        while unit.arrow and unit.outer is not None:
            unit = unit.outer
        return unit

    def lower_meta_property(self, node: Node) -> Work:
        if self.text(node).startswith("new"):
            return self.emit(Op.NEW_TARGET, node, self.this_unit())
        return self.emit(Op.IMPORT_META, node)

    def lower_template_string(self, node: Node) -> Work:
        parts = yield from self.template_parts(node)
        return self.emit(Op.TEMPLATE, node, tuple(register for register, _ in parts))

    def template_parts(self, node: Node) -> Generator[Any, int, list[tuple[int, bool]]]:
        """Return the registers of a template's chunks and substitutions; the flag marks a substitution.

        Chunks are what stands between the substitutions: the tree splits them at escapes.
        """
        parts: list[tuple[int, bool]] = []
        position = node.start_byte + 1
        for child in self.children(node):
            if child.type != "template_substitution":
                continue
            parts.append((self._chunk(position, child.start_byte), False))
            inner = self.children(child)
            if inner:
                parts.append(((yield self.lower(inner[0])), True))
            position = child.end_byte
        parts.append((self._chunk(position, node.end_byte - 1), False))
        return parts

    def _chunk(self, start: int, end: int) -> int:
        value = literals.template_chunk(self.source[start:end].decode())
        return self.constant(V_STRING if value is None else string(value))

    # Grouping

    def lower_parenthesized_expression(self, node: Node) -> Work:
        return self.lower(self.children(node)[0])

    def lower_sequence_expression(self, node: Node) -> Work:
        register = self.undefined
        for child in self.children(node):
            register = yield self.lower(child)
        return register

    def lower_ternary_expression(self, node: Node) -> Work:
        condition, consequence, alternative = self.children(node)
        yield self.lower(condition)
        left = yield self.lower(consequence)
        right = yield self.lower(alternative)
        return self.emit(Op.JOIN, node, (left, right))

    # Objects and arrays

    def lower_array(self, node: Node) -> Work:
        elements: list[int] = []
        hole = True
        for child in node.children:
            if not child.is_named:
                if child.type == ",":
                    if hole:
                        elements.append(self.undefined)
                    hole = True
                continue
            if child.type in {"comment", "html_comment"}:
                continue
            hole = False
            elements.append((yield self.argument(child)))
        return self.emit(Op.ARRAY, node, tuple(elements))

    def argument(self, node: Node) -> Generator[Any, int, int]:
        """Return an element's register, or its complement when the element is spread."""
        if node.type != "spread_element":
            return (yield self.lower(node))
        return ~(yield self.lower(self.children(node)[0]))

    def lower_object(self, node: Node) -> Work:
        entries: list[tuple[str, str | int, int]] = []
        for child in self.children(node):
            match child.type:
                case "pair":
                    key_node, value_node = (
                        child.child_by_field_name("key"),
                        child.child_by_field_name("value"),
                    )
                    if key_node is None or value_node is None:
                        continue
                    key = yield from self.property_key(key_node)
                    entries.append(("init", key, (yield self.named(value_node, key))))
                case "spread_element":
                    entries.append(("spread", "", (yield self.lower(self.children(child)[0]))))
                case "shorthand_property_identifier":
                    entries.append(("init", self.name(child), (yield self.lower(child))))
                case "method_definition":
                    kind, key, register = yield from self.method(child)
                    entries.append((kind, key, register))
                case _:
                    entries.append(("spread", "", (yield self.lower_unmodelled(child))))
        return self.emit(Op.OBJECT, node, tuple(entries))

    def named(self, node: Node, name: str | int) -> Work:
        """Lower a value that takes its name from the place it is assigned to."""
        if isinstance(name, str) and node.type in {
            "function_expression",
            "arrow_function",
            "class",
            "generator_function",
        }:
            return self.named_function(node, name)
        return self.lower(node)

    def property_key(self, node: Node) -> Generator[Any, int, str | int]:
        """Return a property's name, or the register of a computed one."""
        match node.type:
            case "computed_property_name":
                return (yield self.lower(self.children(node)[0]))
            case "string":
                value = literals.unescape(self.text(node)[1:-1])
                return value if value is not None else self.constant(V_STRING)
            case "number":
                number_value = literals.number(self.text(node))
                return number(number_value).text if number_value is not None else self.constant(V_STRING)
            case _:
                return self.name(node)

    # Members and calls

    def lower_member_expression(self, node: Node) -> Work:
        target, key = yield from self.member(node)
        return self.awaited(self.emit(Op.GET, node, target, key), target, node)

    lower_subscript_expression = lower_member_expression

    def member(self, node: Node) -> Generator[Any, int, tuple[int, str | int]]:
        """Return the register of a member's object, and its name or its computed key's register."""
        target = node.child_by_field_name("object")
        assert target is not None  # noqa: S101 - the grammar requires it
        index = node.child_by_field_name("index")
        if index is not None and target.type == "identifier" and self.text(target) == "await":
            # `await [x]`: the tree reads the operator as a name, and the array as a subscript.
            element = yield self.lower(index)
            array = self.emit(Op.ARRAY, node, (element,))
            holder = self.emit(Op.OBJECT, node, (("init", "array", array),))
            self.awaiting.add(holder)
            return holder, "array"
        register = yield self.lower(target)
        if index is not None:
            if index.type == "string":
                return register, (yield from self.property_key(index))
            return register, (yield self.lower(index))
        name = node.child_by_field_name("property")
        assert name is not None  # noqa: S101 - the grammar requires it
        return register, self.name(name)

    def unwrapped(self, node: Node) -> Node:
        """Return the expression inside any number of parentheses."""
        while node.type == "parenthesized_expression":
            node = self.children(node)[0]
        return node

    def lower_call_expression(self, node: Node) -> Work:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        assert function is not None  # noqa: S101 - the grammar requires both
        assert arguments is not None  # noqa: S101
        function = self.unwrapped(function)
        if arguments.type == "template_string":
            return (yield self._tagged(node, function, arguments))
        kind = function.type
        if kind == "identifier" and self.text(function) == "await":
            registers = yield from self.arguments(arguments)
            value = registers[-1] if registers else self.undefined
            self.awaiting.add(value)
            return self.awaited(value, value, node)
        if kind == "import":
            registers = yield from self.arguments(arguments)
            return self.emit(Op.IMPORT, node, registers)
        if kind == "super":
            registers = yield from self.arguments(arguments)
            return self.emit(Op.SUPER_CALL, node, self.this_unit(), registers)
        if kind in {"member_expression", "subscript_expression"}:
            target, key = yield from self.member(function)
            registers = yield from self.arguments(arguments)
            return self.awaited(self.emit(Op.CALL_METHOD, node, target, key, registers), target, node)
        callee = yield self.lower(function)
        registers = yield from self.arguments(arguments)
        return self.awaited(self.emit(Op.CALL, node, callee, registers), callee, node)

    def arguments(self, node: Node) -> Generator[Any, int, tuple[int, ...]]:
        """Return the registers of call arguments, the complement for a spread one."""
        registers = []
        for child in self.children(node):
            registers.append((yield self.argument(child)))
        return tuple(registers)

    def _tagged(self, node: Node, function: Node, template: Node) -> Work:
        if function.type in {"member_expression", "subscript_expression"}:
            callee: tuple[int, str | int | None] = yield from self.member(function)
        else:
            callee = ((yield self.lower(function)), None)
        parts = yield from self.template_parts(template)
        chunks = tuple(register for register, substitution in parts if not substitution)
        values = tuple(register for register, substitution in parts if substitution)
        strings = self.emit(Op.ARRAY, template, chunks)
        return self.emit(Op.TAGGED, node, callee, strings, values)

    def lower_new_expression(self, node: Node) -> Work:
        constructor = node.child_by_field_name("constructor")
        assert constructor is not None  # noqa: S101 - the grammar requires it
        callee = yield self.lower(constructor)
        arguments = node.child_by_field_name("arguments")
        registers = (yield from self.arguments(arguments)) if arguments is not None else ()
        return self.emit(Op.NEW, node, callee, registers)

    # Operators

    def lower_binary_expression(self, node: Node) -> Work:
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        assert left_node is not None  # noqa: S101 - the grammar requires all three
        assert right_node is not None  # noqa: S101
        assert operator is not None  # noqa: S101
        left = (
            self.undefined
            if left_node.type == "private_property_identifier"
            else (yield self.lower(left_node))
        )
        right = yield self.lower(right_node)
        return self.emit(Op.BINARY, node, operator.type, left, right)

    def lower_unary_expression(self, node: Node) -> Work:
        operator, argument = node.child_by_field_name("operator"), node.child_by_field_name("argument")
        assert operator is not None  # noqa: S101 - the grammar requires both
        assert argument is not None  # noqa: S101
        if operator.type == "delete":
            inner = self.unwrapped(argument)
            if inner.type in {"member_expression", "subscript_expression"}:
                target, key = yield from self.member(inner)
                return self.emit(Op.DELETE, node, target, key)
        register = yield self.lower(argument)
        return self.emit(Op.UNARY, node, operator.type, register)

    def lower_update_expression(self, node: Node) -> Work:
        target = node.child_by_field_name("argument")
        assert target is not None  # noqa: S101 - the grammar requires it
        inner = self.unwrapped(target)
        prefix = node.children[0].type in {"++", "--"}
        step = 1 if (node.children[0] if prefix else node.children[-1]).type == "++" else -1
        if inner.type in {"member_expression", "subscript_expression"}:
            owner, key = yield from self.member(inner)
            old = self.emit(Op.GET, inner, owner, key)
            new = self.emit(Op.UPDATE, node, old, step, False)
            self.emit(Op.SET, node, owner, key, new)
        else:
            old = yield self.lower(inner)
            new = self.emit(Op.UPDATE, node, old, step, True)
            yield self.assign(inner, new, node)
        return new if prefix else self.emit(Op.UNARY, node, "+", old)

    def lower_assignment_expression(self, node: Node) -> Work:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        assert left is not None  # noqa: S101 - the grammar requires both
        assert right is not None  # noqa: S101
        left = self.unwrapped(left)
        if left.type in {"member_expression", "subscript_expression"}:
            owner, key = yield from self.member(left)
            value = yield self.named(right, "")
            self.emit(Op.SET, node, owner, key, value)
            return value
        value = yield self.named(right, self.name(left) if left.type == "identifier" else "")
        yield self.assign(left, value, node)
        return value

    def lower_augmented_assignment_expression(self, node: Node) -> Work:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        assert left is not None  # noqa: S101 - the grammar requires all three
        assert right is not None  # noqa: S101
        assert operator is not None  # noqa: S101
        left = self.unwrapped(left)
        owner: int | None = None
        key: str | int = ""
        if left.type in {"member_expression", "subscript_expression"}:
            owner, key = yield from self.member(left)
            old = self.emit(Op.GET, left, owner, key)
        else:
            old = yield self.lower(left)
        value = yield self.lower(right)
        new = self.emit(Op.BINARY, node, operator.type[:-1], old, value)
        if owner is not None:
            self.emit(Op.SET, node, owner, key, new)
        else:
            yield self.assign(left, new, node)
        return new

    def lower_await_expression(self, node: Node) -> Work:
        register = yield self.lower(self.children(node)[0])
        return self.emit(Op.AWAIT, node, register)

    def lower_yield_expression(self, node: Node) -> Work:
        operands = self.children(node)
        register = (yield self.lower(operands[0])) if operands else self.undefined
        delegate = any(child.type == "*" for child in node.children)
        return self.emit(Op.YIELD, node, register, delegate)
