"""Objects that the host makes, as the catalogue describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.values import (
    ANY_BIGINT,
    ANY_BOOLEAN,
    ANY_NUMBER,
    ANY_STRING,
    ANY_SYMBOL,
    DATA,
    TEXT,
    U2,
    V_U1,
    V_UNDEFINED,
    Value,
    known,
    of,
    pinned,
)
from evalward.guard.interpret.conversion.iteration import Iteration

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject

_RESULTS: dict[str, Value] = {
    "string": of(ANY_STRING),
    "text": of(TEXT),
    "number": of(ANY_NUMBER),
    "boolean": of(ANY_BOOLEAN),
    "bigint": of(ANY_BIGINT),
    "undefined": V_UNDEFINED,
    "plain": of(U2),
    "navigate": V_UNDEFINED,
    "dom-write": V_UNDEFINED,
    "data": of(DATA),
    "unknown": V_U1,
    "symbol": of(ANY_SYMBOL),
    "": V_U1,
}


class HostObjects(Iteration):
    """What a catalogue result stands for."""

    def constant(self, result: str, label: str | None) -> Value | None:
        """Return the value of a result that is the same wherever it is read, None for one that makes an object."""
        value: Value | None = self.catalogue.constants.get((result, label))
        if value is not None:
            return value
        value = _RESULTS.get(result)
        if value is None and result.startswith("@"):
            path = result[1:]
            value = of(pinned(path, label if label is not None else self.catalogue.get(path).label))
        if value is not None:
            self.catalogue.constants[result, label] = value
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
            self.extend(made)  # its elements stand under their names, too
            for name in ("item", "namedItem"):
                self.put(made, name, of(known(f"{inner[1:]}.{name}")))
        self.put_element(made, self.materialize(inner, start))
        return made.value

    def _made_by_host(self, kind: str, start: int, tag: str, member: str) -> HeapObject:
        if not member:
            return self.allocate(kind, start, tag)
        outer, self.context = self.context, 0
        made = self.allocate(kind, 0, f"{tag} of {member}")
        self.context = outer
        return made

    def instance(self, path: str, start: int, of_member: str = "") -> Value:
        """Return an object that inherits from a built-in prototype."""
        made = self._made_by_host("object", start, path, of_member)
        made.prototype = of(known(path))
        return made.value
