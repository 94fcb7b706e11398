"""Expressions: literals, names, members, calls, operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import (
    ANY_BIGINT,
    FALSE,
    NAMESPACES,
    NULL,
    TRUE,
    V_STRING,
    number,
    of,
    string,
)
from evalward.guard.lower.builder import kinds
from evalward.guard.lower.call_expressions import MEMBERS, CallLowering
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Generator

    from tree_sitter import Node

    from evalward.guard.domain.instructions import Unit
    from evalward.guard.lower.builder import Work


_SIMPLE = kinds("identifier", "this")  # what an object mostly is
_MEMBER = kinds("member_expression")
_IDENTIFIER = kinds("identifier")
_PRIVATE = kinds("private_property_identifier")
_PAIR = kinds("pair")
_FALSE = of(FALSE)
_TRUE = of(TRUE)
_NULL = of(NULL)


class Expressions(CallLowering):
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
        return self.constant(of(ANY_BIGINT) if value is None else number(value).value)

    def lower_true(self, _node: Node) -> Work:
        return self.constant(_TRUE)

    def lower_false(self, _node: Node) -> Work:
        return self.constant(_FALSE)

    def lower_null(self, _node: Node) -> Work:
        return self.constant(_NULL)

    def lower_regex(self, node: Node) -> Work:
        pattern, _, flags = self.text(node)[1:].rpartition("/")
        return self.emit(Op.REGEXP, node, pattern, flags)

    def lower_identifier(self, node: Node) -> Work:
        start, end = node.start_byte, node.end_byte
        text = self.ascii[start:end] if self.ascii is not None else self.source[start:end].decode()
        use = self.reference(self.name(node) if "\\" in text else text)
        index = (
            self.lowered.registers
        )  # as `emit` does, without a call: two instructions in five are this one
        self.lowered.registers = index + 1
        self.unit.code.append((Op.LOAD, index, use, None, None, start, end))
        return index

    lower_undefined = lower_identifier
    lower_shorthand_property_identifier = lower_identifier

    def lower_this(self, node: Node) -> Work:
        return self.emit(Op.THIS, node, self.this_unit())

    def lower_super(self, node: Node) -> Work:
        register = self.emit(Op.SUPER, node, self.this_unit())
        self.lowered.supers[register] = self.this_unit()
        return register

    def this_unit(self) -> Unit:
        """Return the unit whose ``this`` an expression here sees, and note that it is seen."""
        unit = self.unit
        while unit.arrow and unit.outer is not None:
            unit = unit.outer
        unit.uses_this = True
        return unit

    def lower_meta_property(self, node: Node) -> Work:
        if self.text(node).startswith("new"):
            return self.emit(Op.NEW_TARGET, node, self.this_unit())
        return self.emit(Op.IMPORT_META, node)

    def lower_template_string(self, node: Node) -> Work:
        parts = yield from self.template_parts(node)
        return self.emit(Op.TEMPLATE, node, tuple(register for register, _ in parts))

    # Grouping

    def lower_parenthesized_expression(self, node: Node) -> Work:
        return self.lower(self.children(node)[0])

    def lower_sequence_expression(self, node: Node) -> Work:
        register = self.undefined
        for child in self.children(node):
            register = yield self.lower(child)
        return register

    def lower_ternary_expression(self, node: Node) -> Work:
        condition, _, consequence, _, alternative = self.parts(node)
        begin = len(self.unit.code)
        tested = yield self.lower(condition)
        passed = self.checked(condition, begin, holds=True)
        left = yield self.lower_where(condition, begin, consequence)
        self.end(passed)
        passed = self.checked(condition, begin, holds=False)
        right = yield self.lower(alternative)
        self.end(passed)
        return self.emit(Op.JOIN, node, (left, right), tested if self._asks_for_builtin(condition) else None)

    # Objects and arrays

    def lower_array(self, node: Node) -> Work:
        elements: list[int] = []
        hole, holes = True, False
        for child in node.children:
            if not child.is_named:
                if child.type == ",":
                    if hole:
                        elements.append(self.undefined)
                        holes = True
                    hole = True
                continue
            if child.type in {"comment", "html_comment"}:
                continue
            hole = False
            element = self.argument(child)
            elements.append(element if type(element) is int else (yield element))
        return self.emit(Op.ARRAY, node, tuple(elements), holes)

    def lower_object(self, node: Node) -> Work:
        entries: list[tuple[str, str | int, int]] = []
        for child in self.children(node):
            if child.kind_id in _PAIR:
                key_node, _, value_node = self.parts(child)
                key = yield from self.property_key(key_node)
                value = self.named(value_node, key)
                entries.append(("init", key, value if type(value) is int else (yield value)))
                continue
            match child.type:
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

    # Members and calls

    def lower_member_expression(self, node: Node) -> Work:
        parts = self.parts(node)
        if parts[0].kind_id not in _SIMPLE:
            return self.lower_subscript_expression(node)
        return self.emit(Op.GET, node, self.lower(parts[0]), self.name(parts[-1]))

    def lower_subscript_expression(self, node: Node) -> Work:
        target, key = yield from self.member(node)
        register = self.emit(Op.GET, node, target, key)
        if key == "constructor" and self.known_instances:
            self.read_constructor(target)
        return self.awaited(register, target, node)

    # Operators

    def lower_binary_expression(self, node: Node) -> Work:
        left_node, operator_node, right_node = self.parts(node)
        begin = len(self.unit.code)
        left = self.undefined if left_node.kind_id in _PRIVATE else self.lower(left_node)
        if type(left) is not int:
            left = yield left
        operator = operator_node.type
        if operator == "&&" or (operator == "||" and self.checks):
            passed = self.checked(left_node, begin, holds=operator == "&&")
            if operator == "&&":
                right = yield self.lower_where(left_node, begin, right_node)
            else:
                right = yield self.lower(right_node)
            self.end(passed)
        else:
            right = self.lower(right_node)
            if type(right) is not int:
                right = yield right
        if operator == "||" and self._asks_for_builtin(left_node):
            return self.emit(Op.JOIN, node, (left, right), left)
        return self.emit(Op.BINARY, node, operator, left, right)

    def _asks_for_builtin(self, node: Node) -> bool:
        """Whether an expression asks for a function of the language, as in ``Object.assign || function …``."""
        owner = self.parts(node)[0] if node.kind_id in _MEMBER else None
        return owner is not None and owner.kind_id in _IDENTIFIER and self.text(owner) in NAMESPACES

    def lower_unary_expression(self, node: Node) -> Work:
        operator_node, argument = self.parts(node)
        operator = operator_node.type
        if operator == "delete":
            inner = self.unwrapped(argument)
            if inner.kind_id in MEMBERS:
                target, key = yield from self.member(inner)
                return self.emit(Op.DELETE, node, target, key)
        register = yield self.lower(argument)
        if operator == "typeof":
            self.ask_type(register)
        return self.emit(Op.UNARY, node, operator, register)

    def lower_update_expression(self, node: Node) -> Work:
        first, last = self.parts(node)
        prefix = first.type in {"++", "--"}
        operator, target = (first, last) if prefix else (last, first)
        inner = self.unwrapped(target)
        step = 1 if operator.type == "++" else -1
        if inner.kind_id in MEMBERS:
            owner, key = yield from self.member(inner)
            old = self.emit(Op.GET, inner, owner, key)
            new = self.emit(Op.UPDATE, node, old, step, False)
            self.emit(Op.SET, node, owner, key, new)
        else:
            old = yield self.lower(inner)
            new = self.emit(Op.UPDATE, node, old, step, True)
            yield self.assign(inner, new, node)
            if inner.kind_id in _IDENTIFIER:
                self.lowered.counted.append(self.lowered.references[-1])
        return new if prefix else self.emit(Op.UNARY, node, "+", old)

    def lower_assignment_expression(self, node: Node) -> Work:
        parts = self.parts(node)
        left, right = self.unwrapped(parts[-3]), parts[-1]  # `using` may stand before them
        if left.kind_id in MEMBERS:
            owner, key = yield from self.member(left)
            value = yield self.named(right, "")
            self.emit(Op.SET, node, owner, key, value)
            return value
        value = yield self.named(right, self.name(left) if left.kind_id in _IDENTIFIER else "")
        yield self.assign(left, value, node)
        return value

    def lower_augmented_assignment_expression(self, node: Node) -> Work:
        left, operator, right = self.parts(node)
        left = self.unwrapped(left)
        owner: int | None = None
        key: str | int = ""
        if left.kind_id in MEMBERS:
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
