"""Reads of ``super``'s properties: an accessor's receiver is ``this``, not the prototype (ECMA-262 §13.3.7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, Known, Value
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.objects.listed_keys import ListedKeys
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState


class SuperReads:
    """Reads through ``super``."""

    def __init__(
        self,
        state: RunState,
        property_keys: PropertyKeys,
        properties: Properties,
        elements: Elements,
        listed_keys: ListedKeys,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._lowered = state.surroundings.lowered
        self._property_keys = property_keys
        self._properties = properties
        self._elements = elements
        self._listed_keys = listed_keys
        self._machine = machine

    def get(self, register: int, key: str | int, span: Span) -> tuple[Value, Value]:
        """Return a read of the ``super`` in a register, by a name or the key in a register, and its ``this``."""
        above = self._values[register]
        this = self._dataflow.read(self._dataflow.units[self._lowered.supers[register]].this)
        if isinstance(key, str):
            return self._get_named(above, key, this, span) or V_UNDEFINED, this
        keys = self._values[key]
        resolved = self._property_keys.to_property_key(keys, span)
        found: Value = BOTTOM
        for name in resolved.names:
            found = join(found, self._get_named(above, name, this, span) or V_UNDEFINED)
        if not resolved.names or resolved.numeric or resolved.unknown:
            found = join(found, self._listed_keys.get_by(above, key, span))
        for atom in above:
            if isinstance(atom, HeapObject) and resolved.numeric:
                found = join(found, self._elements.get_element(atom, span.start, this))
            if isinstance(atom, HeapObject) and resolved.unknown:
                found = join(found, self._give(atom, this, span))
        return found, this

    def _get_named(self, above: Value, name: str, this: Value, span: Span) -> Value:
        result: Value = BOTTOM
        for atom in above:
            result = join(result, self._properties.get_from(atom, name, this, span))
            if type(atom) is Known:  # an accessor of the host's reads what it keeps in the receiver
                for target in objects_of(this):
                    target.readers[self._dataflow.reader] = None
                    result = join(result, target.properties.get(name, BOTTOM))
        return result

    def _give(self, target: HeapObject, this: Value, span: Span) -> Value:
        """Return what every accessor of an object and of its prototypes gives for a receiver."""
        result: Value = BOTTOM
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            self._dataflow.spend()
            current.readers[self._dataflow.reader] = None
            for getter in list(current.getters.values()):
                result = join(result, self._machine.call(getter, this, (), span))
            for parent in current.prototype:
                if isinstance(parent, HeapObject) and parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result
