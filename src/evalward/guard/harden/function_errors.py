"""Early errors of functions, methods and object literals (ECMA-262 §13.2.5.1, §15)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evalward.guard.harden import literal_text, name_errors, operand_errors
from evalward.guard.harden.declared_names import Scope
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail, same_frame
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.walking import Frame

_PATTERN_KINDS: Final = frozenset({"array_pattern", "object_pattern", "assignment_pattern", "rest_pattern"})
_METHOD_FLAGS: Final = frozenset({"static", "async", "get", "set", "*"})
_DIRECTIVES: Final = frozenset({b"'use strict'", b'"use strict"'})


def has_use_strict(statements: list[Node], walk: Walk) -> bool:
    """Return whether a body begins with directives, and one of them is ``use strict`` (§11.2.1)."""
    for statement in statements:
        if KIND_NAMES[statement.kind_id] != "expression_statement":
            return False
        parts = walk.children(statement)
        if KIND_NAMES[parts[0].kind_id] != "string":
            return False
        if walk.text(parts[0]) in _DIRECTIVES:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a function is, for the rules of its parameters and body."""

    is_async: bool = False
    generator: bool = False
    unique: bool = False  # two parameters never share a name
    arrow: bool = False
    super_property: bool = False
    super_call: bool = False


_same_kind: Final = cache(_Kind)


def function(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a function that is no method or arrow function; its own name is checked too."""
    _no_break_behind_async(walk, children)
    is_async = KIND_NAMES[children[0].kind_id] == "async"
    generator = any(KIND_NAMES[child.kind_id] == "*" for child in children[1:3])
    name = next((child for child in children[1:4] if KIND_NAMES[child.kind_id] == "identifier"), None)
    strict = _code(walk, children[-2], children[-1], place, _same_kind(is_async, generator))
    if name is not None:
        own = (
            place
            if strict is place.frame.strict
            else replace(place, frame=replace(place.frame, strict=strict))
        )
        name_errors.check_bound(walk, name, own)


def _no_break_behind_async(walk: Walk, children: list[Node]) -> None:
    for child, following in pairwise(children):
        if KIND_NAMES[child.kind_id] == "async" and LINE_BREAK.search(
            walk.source, child.end_byte, following.start_byte
        ):
            raise fail("a line break behind async", child)


def arrow(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check an arrow function (§15.3.1): no line break before ``=>``, no ``await`` or ``yield`` in its parameters."""
    _no_break_behind_async(walk, children)
    goes_to, body = children[-2:]
    if LINE_BREAK.search(walk.source, children[-3].end_byte, goes_to.start_byte):
        raise fail("a line break in front of =>", goes_to)
    is_async = KIND_NAMES[children[0].kind_id] == "async" and len(children) > len("p=>")
    if KIND_NAMES[body.kind_id] != "statement_block":
        if walk.source[body.start_byte : body.start_byte + 1] == b"{":
            raise fail("a brace behind => begins a block", body)
        operand_errors.require(body, operand_errors.ASSIGNMENT, walk)
    _code(walk, children[-3], body, place, _same_kind(is_async, unique=True, arrow=True))


def _code(walk: Walk, parameters: Node, body: Node, place: Place, kind: _Kind) -> bool:
    """Check parameters and body of a function; return whether its code is strict."""
    outer = place.frame
    block = KIND_NAMES[body.kind_id] == "statement_block"
    statements = walk.children(body)[1:-1] if block else []
    directive = has_use_strict(statements, walk)
    strict = outer.strict or directive
    if kind.arrow:
        frame = same_frame(
            strict,
            kind.is_async,
            returns=block,
            new_target=outer.new_target,
            super_property=outer.super_property,
            super_call=outer.super_call,
            arguments=outer.arguments,
        )
    else:
        frame = same_frame(
            strict=strict,
            is_async=kind.is_async,
            generator=kind.generator,
            returns=True,
            new_target=True,
            super_property=kind.super_property,
            super_call=kind.super_call,
        )
    names, simple = _parameters(walk, parameters, place, frame)
    if directive and not simple:
        raise fail("use strict in a function with parameters that are not simple", body)
    known = set(names)
    if len(known) != len(names) and (strict or kind.unique or not simple):
        raise fail("two parameters have the same name", parameters)
    scope = Scope(function=True)
    scope.excluded = known
    code = place.inside(frame, scope)
    if block:
        walk.push_all(statements, code)
    else:
        walk.push(body, code)
    return strict


def _parameters(walk: Walk, parameters: Node, outer: Place, frame: Frame) -> tuple[list[str], bool]:
    """Return the names that parameters bind, and whether they are a simple list."""
    place = outer.inside(frame, outer.scope)
    if KIND_NAMES[parameters.kind_id] != "formal_parameters":
        return [name_errors.check_bound(walk, parameters, place)], True
    parts = walk.children(parameters)[1:-1]
    if not parts:
        return [], True
    name_errors.rest_is_last(parts)
    names: list[str] = []
    simple = True
    for part in parts:
        if KIND_NAMES[part.kind_id] == "identifier":
            names.append(name_errors.check_bound(walk, part, place))
            continue
        if not part.is_named:
            continue
        if not place.frame.parameters:
            place = outer.inside(replace(frame, parameters=True), Scope(function=True))
        if KIND_NAMES[part.kind_id] == "rest_pattern":
            part = walk.children(part)[1]  # noqa: PLW2901
            simple = False
        elif KIND_NAMES[part.kind_id] in _PATTERN_KINDS:
            simple = False
        names += [name for name, _ in name_errors.bound_names(walk, part, place)]
    return names, simple


def static_name(walk: Walk, node: Node) -> str | None:
    """Return the name of a property that is not computed or private."""
    kind = KIND_NAMES[node.kind_id]
    if kind == "property_identifier":
        return name_errors.decoded(walk, node)
    if kind == "string":
        try:
            return literal_text.decoded_string(walk.text(node)).value
        except literal_text.InvalidLiteralError as error:
            raise fail(str(error), node) from error
    return None


def method(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check a method of an object literal, which has no `static`."""
    static = next((child for child in children[:-3] if KIND_NAMES[child.kind_id] == "static"), None)
    if static is not None:
        raise fail("a static method of an object literal", static)
    method_parts(walk, children, place, super_call=False)


def method_parts(walk: Walk, children: list[Node], place: Place, *, super_call: bool) -> None:
    """Check a method of an object literal or a class; ``super_call`` says whether it may call ``super()``."""
    name, parameters, body = children[-3:]
    flags = [KIND_NAMES[child.kind_id] for child in children[:-3]]
    if not set(flags) <= _METHOD_FLAGS or ("async" in flags and {"get", "set"} & set(flags)):
        raise fail("modifiers of a method that do not go together", children[0])
    _no_break_behind_async(walk, children)
    if KIND_NAMES[name.kind_id] == "private_property_identifier" and not place.in_class:
        raise fail("a private name in an object", name)
    parts = [part for part in walk.children(parameters) if part.is_named]
    if "get" in flags and parts:
        raise fail("a getter with parameters", parameters)
    if "set" in flags and (len(parts) != 1 or KIND_NAMES[parts[0].kind_id] == "rest_pattern"):
        raise fail("a setter needs one parameter", parameters)
    if KIND_NAMES[name.kind_id] != "private_property_identifier":
        walk.push(name, place)
    kind = _same_kind("async" in flags, "*" in flags, unique=True, super_property=True, super_call=super_call)
    _code(walk, parameters, body, place, kind)


def literal(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check an object literal: one ``__proto__`` at most (Annex B.3.1), no private names."""
    outside = replace(place, in_class=False) if place.in_class else place
    protos = 0
    for child in children:
        kind = KIND_NAMES[child.kind_id]
        if kind == "pair":
            key, _, value = walk.children(child)
            if KIND_NAMES[key.kind_id] == "private_property_identifier":
                raise fail("a private name in an object", key)
            if walk.protos:
                protos += static_name(walk, key) == "__proto__"
            operand_errors.require(value, operand_errors.ASSIGNMENT, walk)
            walk.push(key, place)
            walk.push(value, place)
        else:
            walk.push(child, outside)
    if protos > 1:
        raise fail("__proto__ is set twice in one literal", children[0])
