"""Host objects, made as the catalogue describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_BOOLEAN,
    ANY_NUMBER,
    ANY_STRING,
    ANY_SYMBOL,
    DECODED_STRING,
    PLAIN_ELEMENT,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_STRING,
    UNKNOWN_PLAIN,
    V_ANY_STRING,
    V_UNDEFINED,
    V_UNKNOWN,
    Value,
    known,
    of,
    pinned,
)
from evalward.guard.domain.slots import PRIMITIVE_VALUE

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.interpret.run_state import RunState

_RESULTS: dict[str, Value] = {
    "string": of(ANY_STRING),
    "text": of(TAINTED_STRING),
    "decoded": of(DECODED_STRING),
    "number": of(ANY_NUMBER),
    "boolean": of(ANY_BOOLEAN),
    "bigint": of(ANY_BIGINT),
    "numeric": of(ANY_NUMBER, ANY_BIGINT),
    "undefined": V_UNDEFINED,
    "plain": of(UNKNOWN_PLAIN),
    "navigate": V_UNDEFINED,
    "dom-write": V_UNDEFINED,
    "data": of(TAINTED_DATA),
    "unknown": V_UNKNOWN,
    "symbol": of(ANY_SYMBOL),
    "element": of(PLAIN_ELEMENT),
    "": V_UNKNOWN,
}


_MAX_WRAPPED = 64
# The methods of HTMLCollection and what inherits from it; under any other name stands an element.
_OF_COLLECTIONS = ("item", "namedItem", "add", "remove")
_OF_LISTS = frozenset({"@Element", "element"})
_ITEM = of(known("Element.item"))


class HostObjects:
    """Values of catalogue results."""

    def __init__(self, state: RunState) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._catalogue = state.surroundings.catalogue

    def constant(self, result: str, label: str | None) -> Value | None:
        """Return the value of a result that is the same at every site, None for one that makes an object."""
        value: Value | None = self._catalogue.constants.get((result, label))
        if value is not None:
            return value
        value = _RESULTS.get(result)
        if value is None and result.startswith("@"):
            path = result[1:]
            value = of(pinned(path, label if label is not None else self._catalogue.get(path).label))
        if value is not None:
            self._catalogue.constants[result, label] = value
        return value

    def materialize(self, result: str, start: int, label: str | None = None, of_member: str = "") -> Value:
        """Return the value that a catalogue result stands for.

        ``of_member`` names the member that holds it: each read gives the same object, with what was put on it.
        """
        value = self.constant(result, label)
        if value is not None:
            return value
        if result.startswith("new:"):
            return self.instance(result[4:], start, of_member)
        kind, _, inner = result.partition(":")
        made = self._made_by_host("array" if kind == "collection" else kind, start, inner, of_member)
        made.exact = False
        if kind == "collection":
            self._store.extend(made)  # its elements stand under their names, too
            owner = "Element" if inner == "element" else inner[1:]
            for name in _OF_COLLECTIONS:
                self._store.put(made, name, of(known(f"{owner}.{name}")))
        elif inner in _OF_LISTS:  # a NodeList
            self._store.put(made, "item", _ITEM)
        self._store.put_element(made, self.materialize(inner, start))
        return made.value

    def _made_by_host(self, kind: str, start: int, tag: str, member: str) -> HeapObject:
        dataflow = self._dataflow
        if not member:
            return self._store.allocate(kind, start, tag)
        outer, dataflow.context = dataflow.context, 0
        made = self._store.allocate(kind, 0, f"{tag} of {member}")
        dataflow.context = outer
        return made

    def instance(self, path: str, start: int, of_member: str = "") -> Value:
        """Return an object that inherits from a built-in prototype."""
        made = self._made_by_host("object", start, path, of_member)
        made.prototype = of(known(path))
        return made.value

    def instance_of(self, path: str, start: int) -> Value:
        """Return an instance of a catalogued function: an object with its prototype, or a catalogued object."""
        return self.instance(path, start) if path.endswith(".prototype") else of(known(path))

    def wrap(self, made: HeapObject, primitive: Value) -> None:
        """Set the primitive of a wrapper object, and the characters of a String object (ECMA-262 §10.4.3)."""
        self._store.put(made, PRIMITIVE_VALUE, primitive)
        for atom in primitive:
            if type(atom) is str:
                for index, character in enumerate(atom[:_MAX_WRAPPED]):
                    if len(primitive) > 1:
                        made.uncertain.add(str(index))
                    self._store.put(made, str(index), of(character))
            if atom in STRING_UNKNOWNS or (type(atom) is str and len(atom) > _MAX_WRAPPED):
                self._store.extend(made)
                self._store.put_element(made, of(atom) if atom in STRING_UNKNOWNS else V_ANY_STRING)
