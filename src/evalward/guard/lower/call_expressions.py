"""Members, calls and what is handed over in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import (
    V_STRING,
    number,
    string,
)
from evalward.guard.lower.builder import Builder, Work, kinds
from evalward.guard.lower.enumeration import callback_of
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Generator

    from tree_sitter import Node

    from evalward.guard.domain.instructions import Unit

_LITERAL_PARTS = kinds(
    *("string", "string_fragment", "escape_sequence", "number", "true", "false", "null", "comment"),
    *("binary_expression", "unary_expression", "parenthesized_expression", "array"),
    *("template_string", "template_substitution"),
)
_NAMED = kinds("function_expression", "arrow_function", "class", "generator_function")
_SPREAD = kinds("spread_element")
_SUBSCRIPT = kinds("subscript_expression")
_PARENTHESES = kinds("parenthesized_expression")
_IDENTIFIER = kinds("identifier")
_STRING = kinds("string")
_TEMPLATE = kinds("template_string")
_OTHER_CALLS = kinds("identifier", "import", "super")
_PROPERTY_NAMES = kinds("property_identifier", "private_property_identifier")
MEMBERS = kinds("member_expression", "subscript_expression")


class CallLowering(Builder):
    """Lowering of members and calls, which the other expressions build on."""

    if TYPE_CHECKING:  # the builder's other parts

        def named_function(self, node: Node, name: str) -> Work: ...
        def this_unit(self) -> Unit: ...

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

    def argument(self, node: Node) -> Work:
        """Return an element's register, or its complement when the element is spread."""
        return self._spread(node) if node.kind_id in _SPREAD else self.lower(node)

    def _spread(self, node: Node) -> Work:
        return ~(yield self.lower(self.children(node)[0]))

    def named(self, node: Node, name: str | int) -> Work:
        """Lower a value that takes its name from the place it is assigned to."""
        if node.kind_id in _NAMED and isinstance(name, str):
            return self.named_function(node, name)
        return self.lower(node)

    def property_key(self, node: Node) -> Generator[Any, int, str | int]:
        """Return a property's name, or the register of a computed one."""
        if node.kind_id in _PROPERTY_NAMES:
            return self.name(node)
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

    def member(self, node: Node) -> Generator[Any, int, tuple[int, str | int]]:
        """Return the register of a member's object, and its name or its computed key's register."""
        parts = self.parts(node)
        target = parts[0]
        if node.kind_id not in _SUBSCRIPT:
            register = self.lower(target)
            if type(register) is not int:
                register = yield register
            return register, self.name(parts[-1])
        index = parts[-2]
        if target.kind_id in _IDENTIFIER and self.text(target) == "await":
            # `await [x]`: the tree reads the operator as a name, and the array as a subscript.
            elements: list[int] = []
            for child in self._sequence(index):
                elements.append((yield self.lower(child)))  # noqa: PERF401  a comprehension cannot yield
            array = self.emit(Op.ARRAY, node, tuple(elements), False)
            holder = self.emit(Op.OBJECT, node, (("init", "array", array),))
            self.awaiting.add(holder)
            return holder, "array"
        register = yield self.lower(target)
        if index.kind_id in _STRING:
            return register, (yield from self.property_key(index))
        by_name = self.listing and index.kind_id in _IDENTIFIER and target.kind_id in _IDENTIFIER
        subject = self.lowered.references[-1] if by_name else None
        key = yield self.lower(index)
        if self._is_closed(index):
            self.lowered.closed.add(key)
        if subject is not None:
            name_use = self.lowered.references[-1]
            for listing in self.listing:
                listing.reads.append((key, subject, name_use, self.unit))
        return register, key

    def _sequence(self, node: Node) -> list[Node]:
        """Return the operands of a comma expression, however the tree nests them."""
        found: list[Node] = []
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type == "sequence_expression":
                pending.extend(reversed(self.children(current)))
            else:
                found.append(current)
        return found

    @staticmethod
    def _is_closed(node: Node) -> bool:
        """Whether an expression is put together from literals alone."""
        pending = [node]
        while pending:
            current = pending.pop()
            if current.kind_id not in _LITERAL_PARTS:
                return False
            pending.extend(current.named_children)
        return True

    def unwrapped(self, node: Node) -> Node:
        """Return the expression inside any number of parentheses."""
        while node.kind_id in _PARENTHESES:
            node = self.children(node)[0]
        return node

    def lower_call_expression(self, node: Node) -> Work:
        parts = self.parts(node)
        function, arguments = self.unwrapped(parts[0]), parts[-1]
        if arguments.kind_id in _TEMPLATE:
            return (yield self._tagged(node, function, arguments))
        kind = function.kind_id
        if kind in MEMBERS:
            called_back = callback_of(node, self.source) if self.may_list else None
            if called_back is not None:
                subject, callback, position = called_back
                listing = self.list_keys(subject, lister="Object", index=position)
                self.callbacks[callback.start_byte] = listing
            target, key = yield from self.member(function)
            registers = yield from self.arguments(arguments)
            if called_back is not None:
                listing.last = len(self.unit.code)
            return self.awaited(self.emit(Op.CALL_METHOD, node, target, key, registers), target, node)
        if kind in _OTHER_CALLS and (kind not in _IDENTIFIER or self.text(function) == "await"):
            registers = yield from self.arguments(arguments)
            if function.type == "import":
                return self.emit(Op.IMPORT, node, registers)
            if function.type == "super":
                return self.emit(Op.SUPER_CALL, node, self.this_unit(), registers)
            value = registers[-1] if registers else self.undefined
            self.awaiting.add(value)
            return self.awaited(value, value, node)
        callee = self.lower(function)
        if type(callee) is not int:
            callee = yield callee
        registers = yield from self.arguments(arguments)
        return self.awaited(self.emit(Op.CALL, node, callee, registers), callee, node)

    def arguments(self, node: Node) -> Generator[Any, int, tuple[int, ...]]:
        """Return the registers of call arguments, the complement for a spread one."""
        registers = []
        for child in self.children(node):
            register = self.argument(child)
            registers.append(register if type(register) is int else (yield register))
        return tuple(registers)

    def _tagged(self, node: Node, function: Node, template: Node) -> Work:
        if function.kind_id in MEMBERS:
            callee: tuple[int, str | int | None] = yield from self.member(function)
        else:
            callee = ((yield self.lower(function)), None)
        parts = yield from self.template_parts(template)
        chunks = tuple(register for register, substitution in parts if not substitution)
        values = tuple(register for register, substitution in parts if substitution)
        raw = self.emit(Op.ARRAY, template, self._raw_chunks(template), False)
        strings = self.emit(Op.ARRAY, node, chunks, False)
        return self.emit(Op.TAGGED, node, callee, (strings, raw), values)

    def _raw_chunks(self, template: Node) -> tuple[int, ...]:
        """Return the registers of a template's chunks as they are written (ECMA-262 §13.2.8)."""
        chunks: list[int] = []
        position = template.start_byte + 1
        for child in self.children(template):
            if child.type == "template_substitution":
                chunks.append(self._raw_chunk(position, child.start_byte))
                position = child.end_byte
        chunks.append(self._raw_chunk(position, template.end_byte - 1))
        return tuple(chunks)

    def _raw_chunk(self, start: int, end: int) -> int:
        text = self.source[start:end].decode().replace("\r\n", "\n").replace("\r", "\n")
        return self.constant(string(text))

    def lower_new_expression(self, node: Node) -> Work:
        constructor = node.child_by_field_name("constructor")
        assert constructor is not None  # noqa: S101 - the grammar requires it
        callee = yield self.lower(constructor)
        arguments = node.child_by_field_name("arguments")
        registers = (yield from self.arguments(arguments)) if arguments is not None else ()
        return self.emit(Op.NEW, node, callee, registers)
