"""Statements, and the payload's top level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Lowered, Op
from evalward.guard.domain.scope import Scope
from evalward.guard.domain.values import UNDEFINED, of
from evalward.guard.lower.allow_lists import exits, narrow
from evalward.guard.lower.builder import kinds
from evalward.guard.lower.compiled_helpers import bind_helpers
from evalward.guard.lower.enumeration import (
    Listing,
    certain_keys,
    listed_by_keys,
    lister_of,
    subject_of,
)
from evalward.guard.lower.function_bodies import Functions
from evalward.guard.lower.instance_checks import bind_instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.lower.allow_lists import Narrowing
    from evalward.guard.lower.builder import Steps, Work

_STORE = Op.STORE
_HOISTED = kinds("function_declaration", "generator_function_declaration")
_DECLARATIONS = _HOISTED | kinds(
    *("class_declaration", "lexical_declaration", "variable_declaration", "using_declaration"),
    "empty_statement",
)
_DECLARATOR = kinds("variable_declarator")
_IDENTIFIER = kinds("identifier")
_IF = kinds("if_statement")


class Statements(Functions):
    """Lowering of statements."""

    def lower_program(self, nodes: Sequence[Node], *, expression: bool) -> Lowered:
        """Lower the payload's top level and resolve every name in it."""
        statements = [
            node for node in nodes if node.type not in {"comment", "html_comment", "hash_bang_line"}
        ]
        if expression:
            # One expression, which comments may precede and follow.
            for node in statements:
                self.emit(Op.COMPLETE, node, self.run(self.lower(node)))
        else:
            if self.has_directive(statements):
                self.unit.strict = True
            self.run(self._top_level(statements))
        top = self.scope
        free = [reference for reference in self.lowered.references if not reference.resolve()]
        assigned = {
            instruction[2].name
            for unit in self.lowered.units
            for instruction in unit.code
            if instruction[0] is _STORE and instruction[2].owner is None
        }
        for name in sorted(assigned):
            self.lowered.global_registers[name] = self.register()
        for reference in free if assigned else ():
            register = self.lowered.global_registers.get(reference.name)
            if register is not None:
                reference.register, reference.implicit = register, True
        self.lowered.listed = certain_keys(self.lowered, self.listings)
        if self.compiled:
            bind_helpers(self.lowered)
        if self.instances:
            bind_instances(self.lowered, self.instances)
        narrow(self.lowered, self.narrowings)
        self.lowered.counters = {reference.register for reference in self.lowered.counted}
        if top.is_global:
            self.lowered.global_registers |= top.names
        return self.lowered

    def _top_level(self, nodes: list[Node]) -> Work:
        self._completing = self._completions(nodes)
        return (yield from self.lower_statements(nodes))

    def _completions(self, nodes: list[Node]) -> set[int]:
        """Return the offsets of the expression statements that may give the script's completion value.

        The last statement that has a value counts, in each branch of a compound one (ECMA-262 §8.4).
        """
        offsets: set[int] = set()
        pending = [nodes]
        while pending:
            for node in reversed(pending.pop()):
                if node.type == "expression_statement":
                    offsets.add(node.start_byte)
                    break
                if node.kind_id in _DECLARATIONS:
                    continue
                pending.append(
                    [child for child in self.children(node) if not child.type.endswith("_expression")]
                )
                if node.type not in {"statement_block", "labeled_statement"}:
                    continue
                break
        return offsets

    def lower_statements(self, nodes: list[Node], *, one_by_one: bool = True) -> Steps:
        """Lower a statement list, its function declarations first (hoisting).

        ``one_by_one`` says that each statement is reached from the one before only.
        """
        others = []
        for node in nodes:
            if node.kind_id in _HOISTED:
                yield self.lower(node)
            else:
                others.append(node)
        passed: list[Narrowing] = []
        checks = self.checks and one_by_one
        for node in others:
            begin = len(self.unit.code)
            work = self.lower(node)
            if type(work) is not int:
                yield work
            if checks and node.kind_id in _IF and node.child_by_field_name("alternative") is None:
                test = node.child_by_field_name("condition")
                if test is not None and exits(node.child_by_field_name("consequence")):
                    passed += self.checked(test, begin, holds=False)
        self.end(passed)
        return self.undefined

    def lower_statement_block(self, node: Node) -> Work:
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        yield from self.lower_statements(self.children(node))
        self.scope = outer
        return self.undefined

    def lower_expression_statement(self, node: Node) -> Work:
        if self.unit.outer is None and node.start_byte in self._completing:
            return self._completed(node)
        return self.lower(self.children(node)[0])

    def _completed(self, node: Node) -> Work:
        register = yield self.lower(self.children(node)[0])
        self.emit(Op.COMPLETE, node, register)
        return self.undefined

    def lower_empty_statement(self, _node: Node) -> Work:
        return self.undefined

    lower_debugger_statement = lower_empty_statement
    lower_break_statement = lower_empty_statement
    lower_continue_statement = lower_empty_statement
    lower_statement_identifier = lower_empty_statement
    lower_comment = lower_empty_statement

    def _each(self, node: Node) -> Steps:
        """Lower the children in order, for statements whose control flow does not matter."""
        for child in self.children(node):
            work = self.lower(child)
            if type(work) is not int:
                yield work
        return self.undefined

    def lower_if_statement(self, node: Node) -> Work:
        test, then = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        otherwise = node.child_by_field_name("alternative")
        assert test is not None  # noqa: S101 - the grammar requires both
        assert then is not None  # noqa: S101
        begin = len(self.unit.code)
        yield self.lower(test)
        passed = self.checked(test, begin, holds=True)
        yield self.lower_where(test, begin, then)
        self.end(passed)
        if otherwise is not None:
            passed = self.checked(test, begin, holds=False)
            yield self.lower(otherwise)
            self.end(passed)
        return self.undefined

    lower_else_clause = _each
    lower_while_statement = _each
    lower_do_statement = _each
    lower_labeled_statement = _each
    lower_try_statement = _each
    lower_finally_clause = _each
    lower_switch_statement = _each

    def _scoped(self, node: Node) -> Work:
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        yield from self._each(node)
        self.scope = outer
        return self.undefined

    lower_for_statement = _scoped

    def lower_switch_body(self, node: Node) -> Work:
        """Lower all cases in one block scope, their function declarations first."""
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        statements = [part for case in self.children(node) for part in self.children(case)]
        yield from self.lower_statements(statements, one_by_one=False)
        self.scope = outer
        return self.undefined

    def _declaration(self, node: Node) -> Work:
        first = node.children[0].type
        kind = first if first in {"let", "const", "var"} else "const"
        for child in self.children(node):
            if child.kind_id not in _DECLARATOR:
                continue
            name, *initializer = self.parts(child)
            if not initializer:
                register = self.declare(self.name(name), kind)
                if kind == "var":
                    self.lowered.constants.setdefault(register, of(UNDEFINED))
                else:
                    self.emit(Op.STORE, child, self.reference(self.name(name)), self.undefined)
                continue
            simple = name.kind_id in _IDENTIFIER
            work = self.named(initializer[-1], self.name(name) if simple else "")
            register = work if type(work) is int else (yield work)
            work = self.bind(name, register, child, kind)
            if type(work) is not int:
                yield work
            if node.type == "using_declaration":
                self._dispose(child, register)
        return self.undefined

    lower_lexical_declaration = _declaration
    lower_variable_declaration = _declaration
    lower_using_declaration = _declaration

    def _dispose(self, node: Node, register: int) -> None:
        """End a resource with its block; what that throws is thrown with what the block threw (a SuppressedError)."""
        for method in ("@@dispose", "@@asyncDispose"):
            self.emit(Op.CALL_METHOD, node, register, method, ())
        thrown = self.emit(Op.CAUGHT, node)
        both = (("init", "error", thrown), ("init", "suppressed", thrown))
        self.emit(Op.THROW, node, self.emit(Op.OBJECT, node, both))

    def lower_for_in_statement(self, node: Node) -> Work:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator, body = node.child_by_field_name("operator"), node.child_by_field_name("body")
        kind = node.child_by_field_name("kind")
        assert left is not None  # noqa: S101 - the grammar requires all four
        assert right is not None  # noqa: S101
        assert operator is not None  # noqa: S101
        assert body is not None  # noqa: S101
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        value_node = node.child_by_field_name("value")
        if value_node is not None and kind is not None:  # Annex B.3.5: for (var a = 1 in o)
            initial = yield self.lower(value_node)
            yield self.bind(left, initial, left, kind.type)
        subject = yield self.lower(right)
        if operator.type == "in":
            element = self.emit(Op.KEYS, right, subject)
        else:
            element = self.emit(Op.ITERATE, right, subject)
            if any(child.type == "await" for child in node.children):
                element = self.emit(Op.AWAIT, right, element)
        is_using = any(child.type == "using" for child in node.children)
        yield self.bind(left, element, left, "const" if is_using else kind.type if kind is not None else "")
        listing: Listing | None = None
        if left.type == "identifier":
            lister, listed = "", subject_of(right, self.source)
            if operator.type != "in":
                lister, listed = "Object", listed_by_keys(right, self.source)
                if not listed:
                    lister, listed = lister_of(right, self.source)
            listing = self.list_keys(listed, key=self.name(left), lister=lister)
            listing.element = element
            listing.fresh = kind is not None and kind.type in {"let", "const"}
            self.listing.append(listing)
        yield self.lower(body)
        if listing is not None:
            self.listing.remove(listing)
            listing.last = len(self.unit.code)
        if is_using:
            self._dispose(left, element)
        self.scope = outer
        return self.undefined

    def lower_catch_clause(self, node: Node) -> Work:
        outer = self.scope
        self.scope = Scope(outer, self.unit)
        parameter, body = node.child_by_field_name("parameter"), node.child_by_field_name("body")
        if parameter is not None:
            register = self.emit(Op.CAUGHT, node)
            yield self.bind(parameter, register, parameter, "let")
        if body is not None:
            yield from self.lower_statements(self.children(body))
        self.scope = outer
        return self.undefined

    def lower_return_statement(self, node: Node) -> Work:
        children = self.children(node)
        register = (yield self.lower(children[0])) if children else self.undefined
        self.emit(Op.COMPLETE if self.unit.outer is None else Op.RETURN, node, register)
        return self.undefined

    def lower_throw_statement(self, node: Node) -> Work:
        register = yield self.lower(self.children(node)[0])
        self.emit(Op.THROW, node, register)
        return self.undefined

    def lower_with_statement(self, node: Node) -> Work:
        subject = node.child_by_field_name("object")
        register = self.undefined if subject is None else (yield self.lower(subject))
        self.emit(Op.WITH, node, register)
        body = node.child_by_field_name("body")
        if body is not None:
            yield self.lower(body)
        return self.undefined

    def lower_import_statement(self, node: Node) -> Work:
        self.emit(Op.STATIC_IMPORT, node)
        return self.undefined

    lower_export_statement = lower_import_statement
