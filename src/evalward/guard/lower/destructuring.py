"""Patterns: what a declaration, a parameter or an assignment takes apart, and where the pieces go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.lower.builder import kinds
from evalward.guard.lower.expressions import Expressions

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.lower.builder import Steps, Work


_IDENTIFIER = kinds("identifier")


class Patterns(Expressions):
    """Lowering of binding and assignment patterns."""

    def assign(self, target: Node, register: int, node: Node) -> Work:
        """Assign a register to a name, a member or a pattern."""
        return self.bind(target, register, node, "")

    def bind(self, target: Node, register: int, node: Node, declare: str) -> Work:
        """Take a value apart as a pattern says; ``declare`` is the kind of declaration, empty for an assignment."""
        if target.kind_id in _IDENTIFIER:
            return self._bind_name(target, register, node, declare)
        match target.type:
            case "shorthand_property_identifier_pattern" | "shorthand_property_identifier" | "undefined":
                return self._bind_name(target, register, node, declare)
            case "member_expression" | "subscript_expression":
                return self._bind_member(target, register, node)
            case "parenthesized_expression":
                return self.bind(self.unwrapped(target), register, node, declare)
            case "assignment_pattern" | "object_assignment_pattern" | "assignment_expression":
                return self._bind_default(target, register, node, declare)
            case "object_pattern" | "object":
                return self._bind_object(target, register, declare)
            case "array_pattern" | "array":
                return self._bind_array(target, register, declare)
            case "rest_pattern" | "spread_element":
                return self.bind(self.children(target)[0], register, node, declare)
            case _:
                return self.lower_unmodelled(target)

    def _bind_name(self, target: Node, register: int, node: Node, declare: str) -> int:
        name = self.name(target)
        if declare:
            self.declare(name, declare)
        return self.emit(Op.STORE, node, self.reference(name), register)

    def _bind_member(self, target: Node, register: int, node: Node) -> Work:
        owner, key = yield from self.member(target)
        return self.emit(Op.SET, node, owner, key, register)

    def _bind_default(self, target: Node, register: int, node: Node, declare: str) -> Work:
        left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
        assert left is not None  # noqa: S101 - the grammar requires both
        assert right is not None  # noqa: S101
        default = yield self.named(
            right, self.name(left) if left.type.endswith(("identifier", "_pattern")) else ""
        )
        value = self.emit(Op.JOIN, target, (register, default))
        return (yield self.bind(left, value, node, declare))

    def _bind_object(self, target: Node, register: int, declare: str) -> Work:
        taken: list[str | int] = []
        for child in self.children(target):
            match child.type:
                case "pair_pattern" | "pair":
                    key_node, value_node = (
                        child.child_by_field_name("key"),
                        child.child_by_field_name("value"),
                    )
                    if key_node is None or value_node is None:
                        continue
                    key = yield from self.property_key(key_node)
                    taken.append(key)
                    piece = self.emit(Op.GET, child, register, key)
                    yield self.bind(value_node, piece, child, declare)
                case "rest_pattern" | "spread_element":
                    piece = self.emit(Op.OMIT, child, register, tuple(taken))
                    yield self.bind(self.children(child)[0], piece, child, declare)
                case "object_assignment_pattern" | "assignment_expression":
                    left = child.child_by_field_name("left")
                    if left is None:
                        continue
                    taken.append(self.name(left))
                    piece = self.emit(Op.GET, child, register, self.name(left))
                    yield self.bind(child, piece, child, declare)
                case _:
                    taken.append(self.name(child))
                    piece = self.emit(Op.GET, child, register, self.name(child))
                    yield self.bind(child, piece, child, declare)
        return register

    def _bind_array(self, target: Node, register: int, declare: str) -> Work:
        index = 0
        for child in target.children:
            if not child.is_named:
                index += child.type == ","
                continue
            if child.type in {"comment", "html_comment"}:
                continue
            rest = child.type in {"rest_pattern", "spread_element"}
            piece = self.emit(Op.REST if rest else Op.ITERATE, child, register, index)
            yield self.bind(child, piece, child, declare)
        return register

    def bind_parameters(self, nodes: list[Node]) -> Steps:
        """Bind a function's parameters from the registers that its arguments arrive in."""
        for node in nodes:
            register = self.register()
            if node.type == "rest_pattern":
                self.unit.rest = register
            else:
                self.unit.parameters.append(register)
            if node.kind_id in _IDENTIFIER:
                self.scope.names[self.name(node)] = register
                continue
            yield self.bind(node, register, node, "parameter")
        return self.undefined
