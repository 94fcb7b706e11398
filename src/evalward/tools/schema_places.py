"""What a JSON Schema declares about each place in the arguments: the view that routing needs.

All branches are merged (``allOf``, ``anyOf``, ``oneOf``, ``if``, local ``$ref``); ``commands`` checks whether a value
satisfies the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalward.errors import canonical_json
from evalward.tools.pointer import ANY, steps_of
from evalward.tools.schema_patterns import is_found

_BRANCHES = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else")
Node = Mapping[str, Any]


MAX_PLACES = 2_000
"""The limit of places in one schema: references can multiply them without bound."""


class TooManyPlacesError(ValueError):
    """A schema describes more places than ``MAX_PLACES``."""


class Place(NamedTuple):
    """All schemas that describe one place in the arguments; empty: nothing is declared there."""

    nodes: tuple[Node, ...]
    root: Node

    @property
    def declares(self) -> bool:
        """Whether the schema gives an object here a closed set of names."""
        return any("properties" in node or "patternProperties" in node for node in self.nodes)

    @property
    def is_open(self) -> bool:
        """Whether the schema of an object here explicitly permits other names than the declared ones."""
        return any(node.get("additionalProperties", False) is not False for node in self.nodes)

    @property
    def names(self) -> list[str]:
        """The properties that are declared here, in order."""
        return list(dict.fromkeys(name for node in self.nodes for name in _mapping(node.get("properties"))))

    def types(self) -> frozenset[str]:
        """Return the JSON types that are declared here; empty if none are."""
        found: set[str] = set()
        for node in self.nodes:
            kind = node.get("type", ())
            found.update([kind] if isinstance(kind, str) else kind)
        return frozenset(found)

    def takes_text(self) -> bool:
        """Return whether the schema permits a string here."""
        types = self.types()
        return not types or "string" in types

    def takes_only_containers(self) -> bool:
        """Return whether the schema permits only objects and arrays here."""
        types = self.types()
        free = any("enum" in node or "const" in node for node in self.nodes)
        return bool(types) and types <= {"object", "array"} and not free

    def is_closed(self) -> bool:
        """Return whether the schema permits only listed values here."""
        return any("enum" in node or "const" in node for node in self.nodes) and "array" not in self.types()

    def has_default(self, value: object) -> bool:
        """Return whether ``value`` is the default here."""
        return any("default" in node and _same(node["default"], value) for node in self.nodes)

    def declared(self, name: str) -> bool:
        """Return whether an object here declares the member ``name``."""
        return any(
            name in _mapping(node.get("properties"))
            or any(is_found(pattern, name) for pattern in _mapping(node.get("patternProperties")))
            for node in self.nodes
        )

    def member(self, name: str) -> Place:
        """Return the place of the member ``name`` of an object here."""
        found: list[Any] = []
        for node in self.nodes:
            named = [*_own(node, name)]
            found += named or [node.get("additionalProperties")]
        return place(found, self.root)

    def element(self, index: int | None = None) -> Place:
        """Return the place of an array's element; None: of any of them."""
        found: list[Any] = []
        for node in self.nodes:
            items = node.get("items")
            first = node.get("prefixItems", items if isinstance(items, list) else [])
            later = node.get("additionalItems") if isinstance(items, list) else items
            if index is None:
                found += [*first, later]
            else:
                found.append(first[index] if index < len(first) else later)
        return place(found, self.root)


def root_place(schema: Node) -> Place:
    """Return the place of the arguments themselves."""
    return place([schema], schema)


def place(schemas: Sequence[Any], root: Node) -> Place:
    """Return the place that ``schemas`` describe together, with every branch of each."""
    seen: dict[int, Node] = {}
    todo = list(schemas)
    while todo:
        node = todo.pop(0)
        if not isinstance(node, Mapping) or id(node) in seen:
            continue
        seen[id(node)] = node
        for keyword in _BRANCHES:
            todo += node.get(keyword, ())
        todo += [node[keyword] for keyword in _CONDITIONS if keyword in node]
        if "$ref" in node:
            todo.append(resolve(node["$ref"], root))
    return Place(tuple(seen.values()), root)


def resolve(reference: object, root: Node) -> Any:
    """Return the schema that a reference within ``root`` leads to, or None for any other."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = root
    for step in steps_of(reference[1:]):
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def at(pattern: tuple[str, ...], start: Place) -> Place | None:
    """Return the place that ``pattern`` names below ``start``; None when the schema lacks it.

    Below a place without declarations every place exists.
    """
    here = start
    for step in pattern:
        if step == ANY:
            here = place([*here.element().nodes, *_members(here)], here.root)
        elif here.declares and not here.declared(step):
            return None
        else:
            here = here.member(step)
    return here


def walk(start: Place) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield every declared property with the pattern of its place; recursive schemas are followed once.

    Raise TooManyPlacesError for a schema whose parts combine to more than ``MAX_PLACES`` places.
    """
    todo: list[tuple[tuple[str, ...], Place]] = [((), start)]
    seen: set[frozenset[int]] = set()
    while todo:
        steps, here = todo.pop(0)
        identity = frozenset(map(id, here.nodes))
        if not here.nodes or identity in seen:
            continue
        seen.add(identity)
        if len(seen) > MAX_PLACES:
            raise TooManyPlacesError
        for name in here.names:
            below = here.member(name)
            yield (*steps, name), below
            todo.append(((*steps, name), below))
        todo.append(((*steps, ANY), place([*here.element().nodes, *_extra(here)], here.root)))


def subschemas(schema: Any) -> Iterator[Node]:
    """Yield every mapping in a schema, under any keyword."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping):
            yield node
            todo += node.values()
        elif isinstance(node, list):
            todo += node


def _members(here: Place) -> list[Any]:
    return [
        *_extra(here),
        *(each for node in here.nodes for each in _mapping(node.get("properties")).values()),
    ]


def _extra(here: Place) -> list[Any]:
    return [
        each
        for node in here.nodes
        for each in (*_mapping(node.get("patternProperties")).values(), node.get("additionalProperties"))
    ]


def _own(node: Node, name: str) -> Iterator[Any]:
    properties = _mapping(node.get("properties"))
    if name in properties:
        yield properties[name]
    for pattern, schema in _mapping(node.get("patternProperties")).items():
        if is_found(pattern, name):
            yield schema


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and canonical_json(left) == canonical_json(right)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
