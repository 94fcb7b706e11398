"""Reading patterns, targets of assignments, and property names (ECMA-262 §13.15.5, §14.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.literal_text import decoded_string, number_key
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Access, Binding
from evalward.guard.harden.tree import (
    ArrayPattern,
    Chain,
    Element,
    Expression,
    Key,
    Link,
    Name,
    ObjectPattern,
    PrivateUse,
)
from evalward.guard.syntax.grammar import kind

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader

NAMES: Final = frozenset({kind("identifier"), kind("undefined")})
_SHORTHAND: Final = kind("shorthand_property_identifier_pattern")
_PARENTHESIZED: Final = kind("parenthesized_expression")
_OBJECT_PATTERN: Final = kind("object_pattern")
_ARRAY_PATTERN: Final = kind("array_pattern")
_ASSIGNMENT: Final = kind("assignment_pattern")
_OBJECT_ASSIGNMENT: Final = kind("object_assignment_pattern")
_REST: Final = kind("rest_pattern")
_PAIR: Final = kind("pair_pattern")
_PROPERTY: Final = kind("property_identifier")
_PRIVATE: Final = kind("private_property_identifier")
_STRING: Final = kind("string")
_NUMBER: Final = kind("number")
_COMPUTED: Final = kind("computed_property_name")
_COMMA: Final = token(",")
_VARIABLES: Final = frozenset({"var"})


def key(reader: Reader, node: Node) -> Key:
    """Read a property's name."""
    own = node.kind_id
    if own == _PROPERTY:
        return Key(reader.name(node))
    if own == _STRING:
        return Key(reader.noted(reader.decoded(node, decoded_string, reader.raw(node)).value))
    if own == _NUMBER:
        return Key(reader.decoded(node, number_key, reader.text(node)))
    if own == _COMPUTED:
        return Key(computed=reader.expression(reader.children(node)[1]))
    if own == _PRIVATE:
        return Key(private=private_use(reader, node))
    return reader.unknown(node)


def private_use(reader: Reader, node: Node) -> PrivateUse:
    """Read an occurrence of a private name."""
    if not reader.private:
        reader.refuse(node, "A private name outside of a class.")
    use = PrivateUse(reader.name(node), node.start_byte)
    reader.private[-1][1].append(use)
    return use


def pattern(reader: Reader, node: Node, declares: str) -> Expression:
    """Read a target: a pattern, a name or a member; ``declares`` is the kind of binding, empty for none."""
    own = node.kind_id
    if own in NAMES or own == _SHORTHAND:
        return target_name(reader, node, declares)
    if own == _OBJECT_PATTERN:
        return _object_pattern(reader, node, declares)
    if own == _ARRAY_PATTERN:
        return _array_pattern(reader, node, declares)
    if declares:
        return reader.unknown(node)
    if own == _PARENTHESIZED:
        inner = reader.children(node)[1]
        if inner.kind_id in (_OBJECT_PATTERN, _ARRAY_PATTERN):
            reader.unknown(inner)
        return pattern(reader, inner, "")
    found = reader.expression(node)
    if not isinstance(found, Chain) or not _is_reference(found):
        reader.refuse(node, "This is no target of an assignment.")
    return found


def _is_reference(chain: Chain) -> bool:
    last: Link = chain.links[-1]
    return last.arguments is None and last.quasi is None and not any(link.optional for link in chain.links)


def target_name(reader: Reader, node: Node, declares: str, access: Access = Access.WRITE) -> Name:
    """Read a name that is declared or assigned."""
    found = Name(reader.name(node), node.start_byte)
    if declares and declares not in _VARIABLES:
        found.binding = declared(reader, node, found.name, declares)
        found.binding.writes += 1
        if access is Access.MAKE:
            found.binding.made += 1
        return found
    if declares:
        reader.scopes.declare_variable(found.name)
    reader.scopes.refer(found, access)
    return found


def declared(reader: Reader, node: Node, name: str, kind_of: str) -> Binding:
    """Declare a name in the current scope; a second declaration is an error unless both are parameters."""
    if kind_of != "parameter" and name in reader.scopes.current.names:
        reader.refuse(node, "A name is declared twice.")
    return reader.scopes.declare(name, kind_of)


def element(reader: Reader, node: Node, declares: str) -> Element:
    """Read a target with or without a default."""
    if node.kind_id in (_ASSIGNMENT, _OBJECT_ASSIGNMENT):
        left, _, right = reader.children(node)
        target = pattern(reader, left, declares)
        return Element(target, reader.expression(right))
    return Element(pattern(reader, node, declares))


def _array_pattern(reader: Reader, node: Node, declares: str) -> ArrayPattern:
    elements: list[Element | None] = []
    rest: Expression | None = None
    hole = True
    for child in reader.children(node)[1:-1]:
        if rest is not None:
            reader.unknown(child)
        if child.kind_id == _COMMA:
            if hole:
                elements.append(None)
            hole = True
        elif child.kind_id == _REST:
            rest = pattern(reader, reader.children(child)[1], declares)
        else:
            elements.append(element(reader, child, declares))
            hole = False
    return ArrayPattern(elements, rest)


def _object_pattern(reader: Reader, node: Node, declares: str) -> ObjectPattern:
    properties: list[tuple[Key, Element]] = []
    rest: Expression | None = None
    for child in reader.children(node)[1:-1]:
        own = child.kind_id
        if own == _COMMA and rest is None:
            continue
        if rest is not None:
            reader.unknown(child)
        if own == _PAIR:
            name, _, value = reader.children(child)
            properties.append((key(reader, name), element(reader, value, declares)))
        elif own == _SHORTHAND:
            properties.append((Key(reader.name(child)), element(reader, child, declares)))
        elif own == _OBJECT_ASSIGNMENT:
            left = reader.children(child)[0]
            if left.kind_id != _SHORTHAND:
                reader.unknown(left)
            properties.append((Key(reader.name(left)), element(reader, child, declares)))
        elif own == _REST:
            rest = pattern(reader, reader.children(child)[1], declares)
        else:
            reader.unknown(child)
    return ObjectPattern(properties, rest)
