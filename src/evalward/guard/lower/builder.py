"""The state that lowering builds up: registers, constants, the current unit and scope, and the generator stack."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import tree_sitter_javascript
from tree_sitter import Language

from evalward.guard.domain.instructions import Instruction, Lowered, Op, Unit
from evalward.guard.domain.scope import Reference, Scope
from evalward.guard.domain.values import UNDEFINED, Atom, Value, of, string
from evalward.guard.lower.allow_lists import (
    Check,
    Narrowing,
    checks_of,
    is_written_out,
    may_check,
)
from evalward.guard.lower.compiled_helpers import may_be_compiled
from evalward.guard.lower.enumeration import Listing
from evalward.guard.lower.instance_checks import Instance, instances_of
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tree_sitter import Node

Steps: TypeAlias = "Generator[Any, int, int]"
Work: TypeAlias = "int | Steps"

LANGUAGE: Final = Language(tree_sitter_javascript.language())
KINDS: Final = [LANGUAGE.node_kind_for_id(i) or "" for i in range(LANGUAGE.node_kind_count)]


def kinds(*names: str) -> frozenset[int]:
    """Return the numbers of named node kinds; a name may have several."""
    return frozenset(i for i, name in enumerate(KINDS) if name in names and LANGUAGE.node_kind_is_named(i))


_COMMENTS: Final = kinds("comment", "html_comment")
_COMMENT_MARKS: Final = (b"//", b"/*", b"<!--", b"-->")


_NO_INSTRUCTION: Instruction = (Op.LOAD, -1, None, None, None, 0, 0)


class Builder:
    """Shared state and the small operations on it."""

    def __init__(self, source: bytes, *, module: bool, script: bool) -> None:
        self.source = source
        self.ascii = source.decode() if source.isascii() else None  # where offsets are those of characters
        self.may_list = b"keys" in source
        self.handlers = self.handlers_by_kind()
        self.commented = any(mark in source for mark in _COMMENT_MARKS)
        self.compiled = may_be_compiled(source)
        self.lowered = Lowered()
        self.lowered.classes = b"class" in source or b"prototype" in source
        top = Unit("", None, 0)
        top.strict = module
        self.lowered.units.append(top)
        self.unit = top
        self.scope = Scope(None, top, is_function=True, is_global=script)
        self.undefined = self.constant(of(UNDEFINED))
        self.listings: list[Listing] = []
        self.listing: list[Listing] = []  # those that the current code may be in
        self.narrowings: list[Narrowing] = []
        self.checks = may_check(source)
        self.instances: list[Instance] = []
        self.known_instances: list[Instance] = []  # those that the current code may be in
        self.callbacks: dict[int, Listing] = {}  # by where the function begins
        self.awaiting: set[int] = set()  # what stands right of an `await` that the tree reads as a name
        top.this = self.register()
        top.result = self.register()

    @classmethod
    @cache
    def handlers_by_kind(cls) -> list[Callable[[Any, Node], Work]]:
        """Return the method for each node kind: ``lower_<kind>``, or the one for what is not modelled."""
        return [
            getattr(cls, f"lower_{name}", cls.lower_unmodelled)
            if LANGUAGE.node_kind_is_named(kind)
            else cls.lower_unmodelled
            for kind, name in enumerate(KINDS)
        ]

    def run(self, work: Work) -> int:
        """Run a generator and all that it yields to completion; an int is its own result."""
        if type(work) is int:
            return work
        stack: list[Any] = [work]
        value: int | None = None
        while stack:
            try:
                item = stack[-1].send(value)
            except StopIteration as stop:
                stack.pop()
                value = stop.value
                continue
            if type(item) is int:
                value = item
            else:
                stack.append(item)
                value = None
        return value if value is not None else self.undefined

    def lower(self, node: Node) -> Work:
        """Return the register of an expression, or the generator that makes it; statements give ``undefined``."""
        return self.handlers[node.kind_id](self, node)

    def lower_unmodelled(self, node: Node) -> Work:
        """Evaluate the children and make the result unknown, with all that they reach (the havoc rule)."""
        operands = []
        for child in self.children(node):
            operands.append((yield self.lower(child)))  # noqa: PERF401  a comprehension cannot yield
        return self.emit(Op.HAVOC, node, tuple(operands))

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
        instruction: Instruction = (op, index, a, b, c, node.start_byte, node.end_byte)
        self.unit.code.append(instruction)
        return index

    def awaited(self, register: int, target: int, node: Node) -> int:
        """Await each link of a chain that follows `await (`: the tree binds the operator to its first link only."""
        if target not in self.awaiting:
            return register
        made = self.emit(Op.JOIN, node, (register, self.emit(Op.AWAIT, node, register)))
        self.awaiting.add(made)
        return made

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
            unit: Unit | None = self.unit
            while unit is not None and unit.arrow:
                unit = unit.outer
            if unit is not None:
                unit.uses_arguments = True
        self.lowered.references.append(use)
        return use

    def list_keys(self, subject: str, *, key: str = "", lister: str = "", index: int = -1) -> Listing:
        """Return a new stretch of code in which a name holds a key of what another name holds."""
        made = Listing(self.reference(subject) if subject else None, self.unit, self.unit)
        made.key = self.reference(key) if key else None
        made.lister = self.reference(lister) if lister else None
        made.index, made.first = index, len(self.unit.code)
        self.listings.append(made)
        return made

    def checked(self, test: Node, begin: int, *, holds: bool) -> list[Narrowing]:
        """Begin the code behind a test that holds, or does not; ``begin`` is where the test's own code begins."""
        found = checks_of(test, self.text, holds=holds) if self.checks else ()
        made = [
            Narrowing(self.unit, self.reference(self.name(check.key)), listed, begin, len(self.unit.code))
            for check in found
            if (listed := self._allow_list(check)) is not None
        ]
        self.narrowings.extend(made)
        return made

    def _allow_list(self, check: Check) -> Reference | int | None:
        if check.listed.type == "identifier":
            return self.reference(self.name(check.listed))
        if not is_written_out(check.listed):
            return None
        texts = [literals.unescape(self.text(each)[1:-1]) for each in check.listed.named_children]
        known = [string(text) for text in texts if text is not None]
        return self.constant(frozenset[Atom]().union(*known)) if len(known) == len(texts) else None

    def end(self, stretches: list[Narrowing]) -> None:
        """End the stretches of code that begin with a check."""
        for each in stretches:
            each.last = len(self.unit.code)

    def lower_where(self, condition: Node, first: int, node: Node) -> Work:
        """Lower what runs only where a condition holds, whose code begins at ``first``."""
        found = instances_of(condition, self.unit, first)
        self.known_instances.extend(found)
        register = yield self.lower(node)
        for instance in found:
            instance.last = len(self.unit.code)
            self.known_instances.remove(instance)
            if instance.reads:
                self.instances.append(instance)
        return register

    def ask_type(self, register: int) -> None:
        """Note that of a member that the last instruction reads by a computed key, only the type is asked."""
        operation, made, owner, key, _, start, end = self.unit.code[-1] if self.unit.code else _NO_INSTRUCTION
        if operation is Op.GET and made == register and type(key) is int:
            self.unit.code[-1] = (operation, made, owner, key, True, start, end)

    def read_constructor(self, target: int) -> None:
        """Note that the last instruction reads ``constructor`` of what a name may hold that was tested."""
        loaded = self.unit.code[-2:-1]
        if loaded and loaded[0][0] is Op.LOAD and loaded[0][1] == target:
            for instance in self.known_instances:
                if instance.unit is self.unit:
                    instance.reads.append((len(self.unit.code) - 1, loaded[0][2]))

    def declare(self, name: str, kind: str) -> int:
        """Bind a name (``var``, ``function``, ``let``, ``const``, ``class``, ``parameter``) and return its register."""
        scope = self.scope.var_scope() if kind == "var" else self.scope
        if kind == "var" and name == "arguments" and not scope.is_global:
            return self.register()  # no binding of its own: the name stays the function's object (§10.2.11)
        register = scope.names.get(name)
        if register is None:
            outer = scope.outer
            if kind == "var" and outer is not None and outer.unit is scope.unit and name in outer.names:
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
