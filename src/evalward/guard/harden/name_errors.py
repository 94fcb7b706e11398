"""Early errors of names and of the patterns that bind or assign them (ECMA-262 §13.1.1, §13.15.1, §14.3.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden import literal_text
from evalward.guard.harden.await_chains import begins_with_await
from evalward.guard.harden.reserved_words import NOTABLE, RESERVED, STRICT, UNASSIGNABLE
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier_pattern", "undefined"})
_ACCESSES: Final = frozenset({"member_expression", "subscript_expression"})
_CHAIN: Final = frozenset({"member_expression", "subscript_expression", "call_expression"})


def decoded(walk: Walk, node: Node) -> str:
    """Return an identifier's name; raise EarlyErrorFoundError when it is none."""
    try:
        return literal_text.name(walk.text(node)).text
    except literal_text.InvalidLiteralError as error:
        raise fail(str(error), node) from error


def check_reference(walk: Walk, node: Node, place: Place) -> str:
    """Check a name that is read; return it."""
    text = walk.source[node.start_byte : node.end_byte]
    if text not in NOTABLE and text.isascii() and b"\\" not in text:
        return text.decode()
    name = decoded(walk, node)
    if name in RESERVED or (place.frame.strict and name in STRICT):
        raise fail("a reserved word is used as a name", node)
    if name == "arguments" and not place.frame.arguments:
        raise fail("arguments in a field initializer or static block", node)
    return name


def check_bound(walk: Walk, node: Node, place: Place) -> str:
    """Check a name that is bound or assigned; return it."""
    name = check_reference(walk, node, place)
    if place.frame.strict and name in UNASSIGNABLE:
        raise fail("eval or arguments is bound or assigned in strict code", node)
    return name


def private_name(walk: Walk, node: Node, place: Place) -> None:
    """Check that a class around declares a private name (§15.7.1)."""
    if decoded(walk, node) not in place.private:
        raise fail("a private name that no class around declares", node)


def inner(node: Node, walk: Walk) -> Node:
    """Return what a chain of parentheses holds."""
    while KIND_NAMES[node.kind_id] == "parenthesized_expression":
        node = walk.children(node)[1]
    return node


def has_optional_link(node: Node, walk: Walk) -> bool:
    """Return whether a chain of members and calls has a ``?.`` in it."""
    while KIND_NAMES[node.kind_id] in _CHAIN:
        children = walk.children(node)
        if any(KIND_NAMES[child.kind_id] == "optional_chain" for child in children[1:3]):
            return True
        node = children[0]
    return False


def simple_target(walk: Walk, node: Node, place: Place) -> None:
    """Check a target of an update or a compound assignment (§8.6.4), and visit its parts."""
    node = inner(node, walk)
    name = KIND_NAMES[node.kind_id]
    if name in _NAMES:
        check_bound(walk, node, place)
        return
    if (
        name not in _ACCESSES
        or has_optional_link(node, walk)
        or (walk.awaits and begins_with_await(node, walk.source))
    ):
        raise fail("the target of an assignment is not valid", node)
    walk.push(node, place)


def bound_names(walk: Walk, pattern: Node, place: Place) -> list[tuple[str, Node]]:
    """Check a binding pattern; return the names that it binds; visit its defaults and keys."""
    return _pattern(walk, pattern, place, binding=True)


def assignment_pattern(walk: Walk, pattern: Node, place: Place) -> None:
    """Check a pattern that is assigned to, and visit its targets, defaults and keys."""
    _pattern(walk, pattern, place, binding=False)


def _pattern(walk: Walk, pattern: Node, place: Place, *, binding: bool) -> list[tuple[str, Node]]:
    names: list[tuple[str, Node]] = []
    stack = [pattern]
    while stack:
        node = stack.pop()
        kind = KIND_NAMES[node.kind_id]
        if kind in _NAMES:
            names.append((check_bound(walk, node, place), node))
        elif kind in _ACCESSES:
            if (
                binding
                or has_optional_link(node, walk)
                or (walk.awaits and begins_with_await(node, walk.source))
            ):
                raise fail("the target of a pattern is not valid", node)
            walk.push(node, place)
        else:
            _inside(walk, node, kind, place, stack, binding=binding)
    return names


def _inside(  # noqa: C901, PLR0912, PLR0913  the kinds of patterns
    walk: Walk, node: Node, kind: str, place: Place, stack: list[Node], *, binding: bool
) -> None:
    children = walk.children(node)
    if kind in {"array_pattern", "object_pattern"}:
        parts = children[1:-1]
        rest_is_last(parts)
        for part in parts:
            if not part.is_named:
                continue
            if KIND_NAMES[part.kind_id] != "rest_pattern":
                stack.append(part)
                continue
            target = walk.children(part)[1]
            if kind == "object_pattern" and KIND_NAMES[target.kind_id] not in _NAMES | _ACCESSES:
                raise fail("the rest of an object is no single target", target)
            stack.append(target)
    elif kind in {"assignment_pattern", "object_assignment_pattern"}:
        target = children[0]
        name = KIND_NAMES[target.kind_id]
        if name == "rest_pattern":
            raise fail("a rest element has no default", node)
        if kind == "object_assignment_pattern" and name not in _NAMES:
            raise fail("a default needs a name", node)
        stack.append(target)
        walk.push(children[-1], place)
    elif kind == "pair_pattern":
        if KIND_NAMES[children[0].kind_id] == "private_property_identifier":
            raise fail("a private name in an object", children[0])
        walk.push(children[0], place)
        if KIND_NAMES[children[-1].kind_id] == "rest_pattern":
            raise fail("a rest element is the value of a property", node)
        stack.append(children[-1])
    elif kind == "rest_pattern" and not binding:
        raise fail("a rest element outside of a pattern", node)
    else:
        raise fail("the target of a pattern is not valid", node)


def rest_is_last(parts: list[Node]) -> None:
    """Check that nothing follows a rest element, not even a comma."""
    for part in parts[:-1]:
        if KIND_NAMES[part.kind_id] == "rest_pattern":
            raise fail("something follows a rest element", part)
