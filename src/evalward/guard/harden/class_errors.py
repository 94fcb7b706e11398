"""Early errors of classes (ECMA-262 §15.7.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalward.guard.harden import name_errors, operand_errors
from evalward.guard.harden.declared_names import Scope
from evalward.guard.harden.function_errors import method_parts, static_name
from evalward.guard.harden.walking import KIND_NAMES, Frame, Place, Walk, fail

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS_BEFORE_A_NAME: Final = frozenset({b"get", b"set", b"static", b"async"})
_INITIALIZER: Final = Frame(strict=True, new_target=True, super_property=True, arguments=False)


def class_(  # noqa: C901  a class's parts
    walk: Walk, node: Node, children: list[Node], place: Place
) -> None:
    """Check a class (§15.7.1): all of it is strict."""
    strict = replace(place, frame=replace(place.frame, strict=True), top=False)
    derived = False
    for child in children[:-1]:
        kind = KIND_NAMES[child.kind_id]
        if kind == "identifier":
            name_errors.check_bound(walk, child, strict)
        elif kind == "class_heritage":
            derived = True
            heritage = walk.children(child)[1]
            operand_errors.require(heritage, operand_errors.LEFT, walk)
            walk.push(heritage, strict)
        elif kind not in {"class", "extends"}:
            raise fail("a part of a class that is not known", node)
    members = walk.children(children[-1])
    declared = _private_names(walk, members)
    inside = replace(strict, private=place.private | declared, in_class=True)
    constructors = 0
    for each in members:
        kind = KIND_NAMES[each.kind_id]
        if kind == "method_definition":
            constructors += _class_method(walk, each, inside, derived=derived)
        elif kind == "field_definition":
            _field(walk, each, inside)
        elif kind == "class_static_block":
            _static_block(walk, each, inside)
        elif each.is_named:
            raise fail("a member of a class that is not known", each)
    if constructors > 1:
        raise fail("a class has two constructors", node)


def _private_names(walk: Walk, members: list[Node]) -> frozenset[str]:
    """Return the private names that a class declares; only a getter and a setter share one."""
    found: dict[str, tuple[str, bool]] = {}
    for each in members:
        kind = KIND_NAMES[each.kind_id]
        if kind not in {"method_definition", "field_definition"}:
            continue
        children = walk.children(each)
        name = next(
            (one for one in children if KIND_NAMES[one.kind_id] == "private_property_identifier"), None
        )
        if name is None or (kind == "field_definition" and name is not children[0] and children[0].is_named):
            continue
        text = name_errors.decoded(walk, name)
        flags = {KIND_NAMES[child.kind_id] for child in children}
        accessor = (
            ("get" if "get" in flags else "set" if "set" in flags else "")
            if kind == "method_definition"
            else ""
        )
        static = "static" in flags
        if text == "#constructor":
            raise fail("a private name #constructor", name)
        known = found.get(text)
        if known is not None and not (
            accessor and known[0] and accessor != known[0] and known[0] != "both" and known[1] == static
        ):
            raise fail("two members have the same private name", name)
        found[text] = ("both" if known else accessor, static)
    return frozenset(found)


def _class_method(walk: Walk, node: Node, place: Place, *, derived: bool) -> bool:
    """Check a method of a class; return whether it is the constructor."""
    children = walk.children(node)
    flags = {KIND_NAMES[child.kind_id] for child in children[:-3]}
    name = static_name(walk, children[-3])
    constructor = name == "constructor" and "static" not in flags
    if constructor and flags:
        raise fail("a constructor that is an accessor, a generator or async", node)
    if name == "prototype" and "static" in flags:
        raise fail("a static member called prototype", node)
    method_parts(walk, children, place, super_call=constructor and derived)
    return constructor


def _field(walk: Walk, node: Node, place: Place) -> None:
    children = walk.children(node)
    static = KIND_NAMES[children[0].kind_id] == "static"
    key = children[1] if static else children[0]
    if len(children) not in {1 + static, 3 + static}:
        raise fail("a part of a field that is not known", node)
    name = static_name(walk, key)
    if name == "constructor" or (static and name == "prototype"):
        raise fail("a field called constructor or prototype", key)
    end = children[-1].end_byte
    semicolon = walk.ends_in_semicolon(end)
    alone = semicolon or walk.source.startswith(b"}", walk.next_token(end))
    if not alone and len(children) == 1 + static and walk.text(key) in _WORDS_BEFORE_A_NAME:
        raise fail("a field whose name could be a modifier of what follows", node)
    if not semicolon:
        walk.check_inserted_semicolon(node, end)
    if KIND_NAMES[key.kind_id] != "private_property_identifier":
        walk.push(key, place)
    if len(children) > 1 + static:
        walk.push(children[-1], place.inside(_INITIALIZER, Scope(function=True)))


def _static_block(walk: Walk, node: Node, place: Place) -> None:
    block = walk.children(node)[-1]
    walk.push_all(walk.children(block)[1:-1], place.inside(_INITIALIZER, Scope(function=True)))
