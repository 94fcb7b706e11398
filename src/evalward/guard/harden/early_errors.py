"""ECMA-262's early errors, which tree-sitter does not report and engines do (§5.2.3 and the sections of each rule).

A program that passes is one that ECMA-262 accepts, read as ECMA-262 reads it: the walk also checks that operands
have the level of the expression grammar, and that semicolons are inserted where the standard inserts them. What it does
not know, it refuses. Some programs that engines accept are refused, too: ``let``, ``yield`` and ``await`` as names,
``await`` in front of an array, a call as the target of ``++``, and the initializer of a for-in loop.

The walk is one loop over a stack of nodes; each node's children are read once or twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.harden import (
    class_errors,
    expression_errors,
    function_errors,
    module_errors,
    operand_errors,
    resource_errors,
    statement_errors,
)
from evalward.guard.harden.await_chains import may_misread_await
from evalward.guard.harden.declared_names import Scope
from evalward.guard.harden.walking import (
    KIND_NAMES,
    NAMED,
    PASSED,
    VISITED,
    EarlyErrorFoundError,
    Frame,
    Place,
    Walk,
    all_children,
    without_comments,
)
from evalward.guard.rules import Limits
from evalward.guard.screen.quiet import is_quiet
from evalward.guard.syntax.grammar import LANGUAGE
from evalward.guard.syntax.shapes import Rejection
from evalward.guard.syntax.survey import survey
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

    Handler = Callable[[Walk, Node, list[Node], Place], None]

_HANDLERS: Final[dict[str, Handler]] = {
    "array": statement_errors.visit,
    "arrow_function": function_errors.arrow,
    "assignment_expression": expression_errors.assignment,
    "augmented_assignment_expression": expression_errors.compound,
    "await_expression": expression_errors.awaiting,
    "binary_expression": operand_errors.binary,
    "break_statement": statement_errors.jump,
    "call_expression": expression_errors.call,
    "class": class_errors.class_,
    "class_declaration": statement_errors.class_,
    "computed_property_name": statement_errors.visit,
    "continue_statement": statement_errors.jump,
    "debugger_statement": statement_errors.simple,
    "do_statement": statement_errors.do,
    "export_statement": module_errors.export,
    "expression_statement": statement_errors.expression,
    "for_in_statement": statement_errors.for_in,
    "for_statement": statement_errors.for_,
    "function_declaration": statement_errors.function,
    "function_expression": function_errors.function,
    "generator_function": function_errors.function,
    "generator_function_declaration": statement_errors.function,
    "identifier": expression_errors.name,
    "if_statement": statement_errors.if_,
    "import_statement": module_errors.import_,
    "labeled_statement": statement_errors.labelled,
    "lexical_declaration": statement_errors.declaration,
    "member_expression": expression_errors.member,
    "meta_property": expression_errors.meta,
    "method_definition": function_errors.method,
    "new_expression": expression_errors.new,
    "number": expression_errors.number,
    "object": function_errors.literal,
    "parenthesized_expression": statement_errors.visit,
    "property_identifier": expression_errors.property_name,
    "regex": expression_errors.regex,
    "return_statement": statement_errors.returning,
    "sequence_expression": expression_errors.sequence,
    "shorthand_property_identifier": expression_errors.name,
    "spread_element": statement_errors.visit,
    "statement_block": statement_errors.block,
    "string": expression_errors.string,
    "subscript_expression": expression_errors.member,
    "switch_statement": statement_errors.switch,
    "template_string": expression_errors.template,
    "ternary_expression": operand_errors.ternary,
    "throw_statement": statement_errors.simple,
    "try_statement": statement_errors.try_,
    "unary_expression": expression_errors.unary,
    "update_expression": expression_errors.update,
    "using_declaration": resource_errors.using,
    "variable_declaration": statement_errors.declaration,
    "while_statement": statement_errors.while_,
    "with_statement": statement_errors.with_,
    "yield_expression": expression_errors.yielding,
}
# These have no rules and no parts.
_PASSED: Final = frozenset(
    {"comment", "empty_statement", "false", "hash_bang_line", "null", "this", "true", "undefined"}
)
HANDLED: Final = frozenset(_HANDLERS) | _PASSED
"""The kinds that the walk meets; the parts of others are read with their parents."""
_TABLE: Final = tuple(_HANDLERS.get(name, expression_errors.misplaced) for name in KIND_NAMES)
_LIMITS: Final = Limits()
_ODD: Final = re.compile(rb"[\\\x80-\xff]")


_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier"})


def _visited(*, odd: bool) -> tuple[int, ...]:
    """Return by kind whether a node is visited; ``odd`` says that names and strings may be other than plain."""
    named = _NAMES | {"property_identifier", "string"} if odd else _NAMES
    left_out = _PASSED if odd else _PASSED | {"property_identifier", "string"}
    return tuple(
        PASSED
        if name in left_out or not LANGUAGE.node_kind_is_named(number)
        else NAMED
        if name in named
        else VISITED
        for number, name in enumerate(KIND_NAMES)
    )


_TABLES: Final = {odd: _visited(odd=odd) for odd in (False, True)}


@dataclass(frozen=True, slots=True)
class EarlyError:
    """Why ECMA-262 rejects a program, or why it is not understood; offsets are those of the payload.

    ``construct`` is the construct's label where the survey of the syntax stage denies it.
    """

    message: str
    start: int
    end: int
    construct: str | None = None


def early_error(
    program: ParsedProgram, *, limits: Limits = _LIMITS, surveyed: bool = False
) -> EarlyError | None:
    """Return the first early error that the walk meets, or None when an engine accepts the program.

    The survey of the syntax stage runs first, because it finds what engines read otherwise; a quiet program needs none.
    ``surveyed`` says that it did so already, as for each program that the guard judged.
    """
    rejection = None if surveyed or is_quiet(program, limits) else survey(program, limits)
    if isinstance(rejection, Rejection):
        reason = rejection.construct or (
            f"the limit {rejection.limit}" if rejection.budget else "no JavaScript"
        )
        message = f"the survey refuses it: {reason}"
        return EarlyError(message, rejection.start, rejection.end, rejection.construct)
    try:
        _walk(program)
    except EarlyErrorFoundError as found:
        start = min(max(found.node.start_byte - program.offset, 0), program.length)
        end = min(max(found.node.end_byte - program.offset, start), program.length)
        return EarlyError(found.message, start, end)
    return None


def _walk(program: ParsedProgram) -> None:
    source = program.source
    walk = Walk(
        source,
        module=Shape.MODULE in program.shapes,
        visited=_TABLES[_ODD.search(source) is not None],
        children=without_comments if b"//" in source or b"/*" in source else all_children,
        awaits=may_misread_await(source),
        protos=b"__proto__" in source or b"\\" in source,
    )
    roots = [root for root in program.roots if KIND_NAMES[root.kind_id] != "comment"]
    place = _top(program, roots, walk)
    top = place
    walk.push_all(roots, place)
    stack, table, children = walk.stack, _TABLE, walk.children
    while stack:
        node, place = stack.pop()
        table[node.kind_id](walk, node, children(node), place)
    module_errors.check_exports(walk, top)


_STATEMENT_SHAPES: Final = frozenset({Shape.SCRIPT, Shape.MODULE, Shape.ASYNC_BODY})


def _top(program: ParsedProgram, roots: list[Node], walk: Walk) -> Place:
    """Return the place of the payload's own code: what all of its shapes allow."""
    shapes = frozenset(program.shapes)
    body = shapes <= {Shape.ASYNC_BODY}
    statements = bool(shapes & _STATEMENT_SHAPES)
    strict = walk.module or (statements and function_errors.has_use_strict(roots, walk))
    frame = Frame(
        strict=strict,
        is_async=shapes <= {Shape.ASYNC_BODY, Shape.MODULE},
        returns=body,
        new_target=body,
    )
    return Place(frame, Scope(function=True), top=walk.module)
