"""The state of lowering: registers, constants, the current unit and scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.guard.domain.atoms import UNDEFINED, Value, of
from evalward.guard.domain.instructions import Instruction, Op
from evalward.guard.domain.scope import Reference, Scope, UnitIndex
from evalward.guard.domain.span import NOWHERE, Span
from evalward.guard.lower.compiled_helpers import may_be_compiled
from evalward.guard.lower.drafts import LoweredDraft, UnitDraft
from evalward.guard.lower.node_kinds import kinds
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMENTS: Final = kinds("comment", "html_comment")
_OPTIONAL: Final = kinds("optional_chain")
_PARENTHESES: Final = kinds("parenthesized_expression")
_COMMENT_MARKS: Final = (b"//", b"/*", b"<!--", b"-->")
_NO_INSTRUCTION: Instruction = (Op.LOAD, -1, None, None, None, NOWHERE)


class Builder:
    """The registers, units and scopes of one payload.

    ``ascii`` is the source as text when byte offsets are offsets of characters. ``completing`` are the offsets of the
    expression statements that may give the completion value. ``awaiting`` are the registers of what follows an
    ``await`` that the tree reads as a name.
    """

    __slots__ = (
        "ascii",
        "awaiting",
        "commented",
        "compiled",
        "completing",
        "lowered",
        "scope",
        "source",
        "undefined",
        "unit",
    )

    def __init__(self, source: bytes, *, module: bool, script: bool) -> None:
        self.source = source
        self.ascii = source.decode() if source.isascii() else None
        self.commented = any(mark in source for mark in _COMMENT_MARKS)
        self.compiled = may_be_compiled(source)
        self.completing: set[int] = set()
        self.awaiting: set[int] = set()
        self.lowered = LoweredDraft(source, classes=b"class" in source or b"prototype" in source)
        self.unit = self._unit("", None, 0, len(source))
        self.unit.strict = module
        self.scope = Scope(None, self.unit.index, is_function=True, is_global=script)
        self.undefined = self.constant(of(UNDEFINED))
        self.unit.this = self.register()
        self.unit.result = self.register()

    def _unit(self, name: str, outer: UnitDraft | None, start: int, end: int) -> UnitDraft:
        made = UnitDraft(UnitIndex(len(self.lowered.units)), name, outer, start, end)
        self.lowered.units.append(made)
        return made

    def new_unit(self, name: str, node: Node) -> UnitDraft:
        """Return a unit inside the current one."""
        unit = self._unit(name, self.unit, node.start_byte, node.end_byte)
        unit.strict = self.unit.strict
        unit.this, unit.result = self.register(), self.register()
        unit.sent, unit.yielded = self.register(), self.register()
        unit.new_target = self.register()
        return unit

    def this_unit(self) -> UnitDraft:
        """Return the unit whose ``this`` an expression here reads, and mark it as read."""
        unit = self.unit
        while unit.arrow and unit.outer is not None:
            unit = unit.outer
        unit.uses_this = True
        return unit

    def register(self) -> int:
        """Return a new register."""
        index = self.lowered.registers
        self.lowered.registers = index + 1
        return index

    def constant(self, value: Value) -> int:
        """Return a register that always holds the value."""
        index = self.register()
        self.lowered.constants[index] = value
        return index

    def emit(self, op: Op, node: Node, a: Any = None, b: Any = None, c: Any = None) -> int:
        """Append an instruction to the current unit and return the register that it writes."""
        index = self.lowered.registers
        self.lowered.registers = index + 1
        instruction: Instruction = (op, index, a, b, c, Span(node.start_byte, node.end_byte))
        self.unit.code.append(instruction)
        return index

    def awaited(self, register: int, target: int, node: Node) -> int:
        """Await each link of a chain that follows `await (`: the tree binds the operator to its first link only."""
        if target not in self.awaiting:
            return register
        made = self.emit(Op.JOIN, node, (register, self.emit(Op.AWAIT, node, register)))
        self.awaiting.add(made)
        if register in self.lowered.optional:
            self.lowered.optional.add(made)
        return made

    def chained(self, register: int, target: int, parts: list[Node]) -> int:
        """Note a link of an optional chain: a ``?.`` in it, or in the links before, may end the chain."""
        optional = self.lowered.optional
        if parts[1].kind_id in _OPTIONAL or (target in optional and parts[0].kind_id not in _PARENTHESES):
            optional.add(register)
        return register

    def text(self, node: Node) -> str:
        """Return the source text of a node."""
        if self.ascii is not None:
            return self.ascii[node.start_byte : node.end_byte]
        return self.source[node.start_byte : node.end_byte].decode()

    def name(self, node: Node) -> str:
        """Return an identifier's name with its escapes decoded."""
        text = self.text(node)
        if "\\" in text:
            text = literals.identifier(text)
        return f"@@{text}" if text[:1] == "#" else text  # no string key is a private name

    def reference(self, name: str) -> Reference:
        """Return a use of a name in the current scope, to be resolved at the end."""
        use = Reference(name, self.scope)
        if name == "arguments":
            unit: UnitDraft | None = self.unit
            while unit is not None and unit.arrow:
                unit = unit.outer
            if unit is not None:
                unit.uses_arguments = True
        self.lowered.references.append(use)
        return use

    def ask_type(self, register: int) -> None:
        """Note that of a member that the last instruction reads by a computed key, only the type is asked."""
        operation, made, owner, key, _, span = self.unit.code[-1] if self.unit.code else _NO_INSTRUCTION
        if operation is Op.GET and made == register and type(key) is int:
            self.unit.code[-1] = (operation, made, owner, key, True, span)

    def declare(self, name: str, kind: str) -> int:
        """Bind a name (``var``, ``function``, ``let``, ``const``, ``class``, ``parameter``) and return its register."""
        scope = self.scope.var_scope() if kind == "var" else self.scope
        if kind == "var" and name == "arguments" and not scope.is_global:
            return self.register()  # no binding of its own: the name stays the function's object (§10.2.11)
        register = scope.names.get(name)
        if register is None:
            outer = scope.outer
            if kind == "var" and outer is not None and outer.unit == scope.unit and name in outer.names:
                return outer.names[name]  # a body's `var` of a parameter's name starts as the parameter
            register = self.register()
            scope.names[name] = register
        if scope.is_global and kind == "var":
            scope.global_vars.add(name)
        if kind == "function" and not self.unit.strict and not scope.is_function:
            register = scope.names[name] = self._declare_annex_b(name, scope, register)
        return register

    @staticmethod
    def _declare_annex_b(name: str, scope: Scope, register: int) -> int:
        """Hoist a function of a block to the function's scope too (Annex B.3.3); both names share a register."""
        target = scope.var_scope()
        if name not in target.names and target.is_global:
            target.global_vars.add(name)
        return target.names.setdefault(name, register)

    def children(self, node: Node) -> list[Node]:
        """Return the named children that are not comments."""
        if not self.commented:
            return node.named_children
        return [child for child in node.named_children if child.kind_id not in _COMMENTS]

    def parts(self, node: Node) -> list[Node]:
        """Return all children but comments, the tokens too: a place among them is found faster than a field."""
        if not self.commented:
            return node.children
        return [child for child in node.children if child.kind_id not in _COMMENTS]
