"""Early errors of statements and declarations (ECMA-262 §14, Annex B.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalward.guard.harden import class_errors, function_errors, name_errors, operand_errors, resource_errors
from evalward.guard.harden.declared_names import Declared, Scope
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail
from evalward.guard.syntax.ambiguity import statement_fault
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS: Final = frozenset({"function_declaration", "generator_function_declaration"})
_LOOPS: Final = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_NO_STATEMENTS: Final = frozenset(
    {"lexical_declaration", "class_declaration", "import_statement", "export_statement", *_FUNCTIONS}
)
_PATTERNS: Final = frozenset({"array_pattern", "object_pattern"})


def ended(walk: Walk, node: Node, children: list[Node]) -> list[Node]:
    """Check how a statement ends; return its children without the semicolon."""
    if KIND_NAMES[children[-1].kind_id] == ";":
        return children[:-1]
    walk.check_inserted_semicolon(node, children[-1].end_byte)
    return children


def expression(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check an expression statement (§14.5)."""
    ended(walk, node, children)
    start = node.start_byte
    if walk.source[start] in b"{fcal" and statement_fault(walk.source, start):
        raise fail("an expression statement begins like a declaration or block", node)
    walk.push(children[0], place)


def simple(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``throw`` and ``debugger``: what follows the word is on its line."""
    parts = ended(walk, node, children)
    _same_line(walk, parts)
    walk.push_all(parts, place)


def returning(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check that ``return`` lies in a function (§14.10.1)."""
    if not place.frame.returns:
        raise fail("return outside of a function", node)
    simple(walk, node, children, place)


def _same_line(walk: Walk, parts: list[Node]) -> None:
    if len(parts) > 1 and LINE_BREAK.search(walk.source, parts[0].end_byte, parts[1].start_byte):
        raise fail("a line break behind a word that ends a statement there", parts[0])


def jump(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check the aim of ``break`` and ``continue`` (§14.8.1, §14.9.1)."""
    parts = ended(walk, node, children)
    _same_line(walk, parts)
    continues = KIND_NAMES[parts[0].kind_id] == "continue"
    if len(parts) == 1:
        if not (place.loop if continues else place.breakable):
            raise fail("break or continue outside of a loop", node)
        return
    label = name_errors.check_reference(walk, parts[1], place)
    if not any(label == known and (of_loop or not continues) for known, of_loop in place.labels):
        raise fail("break or continue to a label that does not enclose it", node)


def block(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Visit the statements of a block."""
    walk.push_all(children[1:-1], place.block())


def visit(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Visit all parts of a node without rules of its own."""
    walk.push_all(children, place)


def body(walk: Walk, node: Node, place: Place, *, function: bool = False) -> None:
    """Check what stands where one statement must: no declaration, and no label of a function (§14.6.1, §14.7.1)."""
    kind = KIND_NAMES[node.kind_id]
    if kind in _NO_STATEMENTS:
        plain = kind == "function_declaration" and KIND_NAMES[walk.children(node)[0].kind_id] != "async"
        if not (function and plain and not place.frame.strict):
            raise fail("a declaration where a statement must stand", node)
        walk.push(node, place.block())
        return
    inner = node
    while KIND_NAMES[inner.kind_id] == "labeled_statement":
        inner = walk.children(inner)[-1]
    if inner is not node and KIND_NAMES[inner.kind_id] in _FUNCTIONS:
        raise fail("a labelled function where a statement must stand", inner)
    walk.push(node, replace(place, top=False) if place.top else place)


def if_(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check both branches (§14.6, Annex B.3.3)."""
    walk.push(children[1], place)
    body(walk, children[2], place, function=True)
    if len(children) > 3:  # noqa: PLR2004
        body(walk, walk.children(children[3])[-1], place, function=True)


def while_(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a ``while`` loop."""
    walk.push(children[1], place)
    body(walk, children[2], place.looping())


def do(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a ``do`` loop, whose statement needs an end before ``while``."""
    body(walk, children[1], place.looping())
    walk.push(children[3], place)


def with_(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``with``, which strict code has not (§14.11.1)."""
    if place.frame.strict:
        raise fail("with in strict code", node)
    walk.push(children[1], place)
    body(walk, children[2], place)


def for_(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a ``for`` loop with three parts (§14.7.4)."""
    head = place.block()
    first = children[2]
    kind = KIND_NAMES[first.kind_id]
    found = operand_errors.bare_in(first, walk)
    if found is not None:
        raise fail("in outside of brackets in the head of a for statement", found)
    if kind in {"lexical_declaration", "variable_declaration"}:
        if KIND_NAMES[walk.children(first)[-1].kind_id] != ";":
            raise fail("the head of a for statement lacks a semicolon", first)
    elif walk.source[first.start_byte] in b"{fcal" and statement_fault(walk.source, first.start_byte):
        raise fail("the head of a for statement begins like a declaration", first)
    walk.push_all(children[2:-1], head)
    body(walk, children[-1], head.looping())


def for_in(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check a for-in or for-of loop (§14.7.5.1)."""
    kinds = [KIND_NAMES[child.kind_id] for child in children]
    awaits = kinds[1] == "await"
    parts = children[3:] if awaits else children[2:]
    names = kinds[3:] if awaits else kinds[2:]
    of = "of" in names[1:3]
    if awaits and (not of or not place.frame.is_async or place.frame.parameters):
        raise fail("for await outside of an async function, or with in", node)
    head = place.block()
    declares = names[0] in {"var", "let", "const", "using"}
    target, operator = parts[1 if declares else 0], parts[2 if declares else 1]
    if KIND_NAMES[operator.kind_id] not in {"of", "in"}:
        raise fail("the head of a loop has an initializer", node)
    if names[0] == "using":
        resource_errors.head(walk, parts[0], target, plain=of and not awaits)
    if declares:
        bound = name_errors.bound_names(walk, target, head)
        _declare(bound, head.scope, names[0], of=of)
    elif KIND_NAMES[target.kind_id] in _PATTERNS:
        name_errors.assignment_pattern(walk, target, head)
    else:
        if of and not awaits and walk.text(target) == b"async":
            raise fail("async in front of of", target)
        name_errors.simple_target(walk, target, head)
    right = parts[-3]
    if of:
        operand_errors.require(right, operand_errors.ASSIGNMENT, walk)
    walk.push(right, head)
    body(walk, parts[-1], head.looping())


def _declare(bound: list[tuple[str, Node]], scope: Scope, kind: str, *, of: bool = False) -> None:
    for name, node in bound:
        allowed = (
            scope.declare_var(name, of_head=of)
            if kind == "var"
            else scope.declare_lexical(name, Declared.LEXICAL)
        )
        if not allowed:
            raise fail("a name is declared twice", node)


def declaration(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``var``, ``let`` and ``const`` (§14.3)."""
    parts = ended(walk, node, children)
    kind = KIND_NAMES[parts[0].kind_id]
    for each in parts[1:]:
        if not each.is_named:
            continue
        pieces = walk.children(each)
        if len(pieces) == 1 and (kind == "const" or KIND_NAMES[pieces[0].kind_id] in _PATTERNS):
            raise fail("a declaration without the value that it needs", each)
        _declare(name_errors.bound_names(walk, pieces[0], place), place.scope, kind)
        if len(pieces) > 1:
            walk.push(pieces[-1], place)


def function(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Declare a function's name, and check the function."""
    name = next(child for child in children if KIND_NAMES[child.kind_id] == "identifier")
    text = name_errors.check_bound(walk, name, place)
    scope = place.scope
    if scope.function and not (walk.module and place.top):
        allowed = scope.declare_var(text)
    else:
        plain = len(children) == len(("function", "name", "parameters", "body")) and not place.frame.strict
        allowed = scope.declare_lexical(text, Declared.FUNCTION if plain else Declared.LEXICAL)
    if not allowed:
        raise fail("a name is declared twice", name)
    function_errors.function(walk, node, children, place)


def class_(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Declare a class's name, and check the class."""
    _declare([(name_errors.check_bound(walk, children[1], place), children[1])], place.scope, "class")
    class_errors.class_(walk, node, children, place)


def labelled(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a label, and the statement behind it (§14.13.1)."""
    name = name_errors.check_reference(walk, children[0], place)
    if any(name == known for known, _ in place.labels):
        raise fail("a label is declared twice", children[0])
    statement = children[-1]
    inner = statement
    while KIND_NAMES[inner.kind_id] == "labeled_statement":
        inner = walk.children(inner)[-1]
    of_loop = KIND_NAMES[inner.kind_id] in _LOOPS
    inside = replace(place, labels=(*place.labels, (name, of_loop)), top=False)
    if KIND_NAMES[statement.kind_id] in _NO_STATEMENTS:
        plain = len(walk.children(statement)) == len(("function", "name", "parameters", "body"))
        if KIND_NAMES[statement.kind_id] != "function_declaration" or not plain or place.frame.strict:
            raise fail("a label of a declaration", statement)
    walk.push(statement, inside)


def switch(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a ``switch`` (§14.12.1): its cases are one scope."""
    walk.push(children[1], place)
    inside = replace(place.block(), breakable=True)
    defaults = 0
    for clause in walk.children(children[2])[1:-1]:
        defaults += KIND_NAMES[clause.kind_id] == "switch_default"
        walk.push_all(walk.children(clause), inside)
    if defaults > 1:
        raise fail("a switch with two defaults", children[2])


def try_(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``try`` (§14.15.1): it has a handler or a finalizer."""
    if len(children) <= len(("try", "body")):
        raise fail("try without catch and finally", node)
    walk.push(children[1], place)
    for clause in children[2:]:
        parts = walk.children(clause)
        if KIND_NAMES[clause.kind_id] == "catch_clause":
            _catch(walk, parts, place)
        else:
            walk.push(parts[-1], place)


def _catch(walk: Walk, parts: list[Node], place: Place) -> None:
    inside = place.block()
    if len(parts) > len(("catch", "body")):
        bound = name_errors.bound_names(walk, parts[2], inside)
        names = {name for name, _ in bound}
        if len(names) != len(bound):
            raise fail("a catch parameter binds a name twice", parts[2])
        inside.scope.excluded = names
        if KIND_NAMES[parts[2].kind_id] == "identifier":
            inside.scope.simple_catch = bound[0][0]
        else:
            inside.scope.excludes_var = names
    walk.push_all(walk.children(parts[-1])[1:-1], inside)
