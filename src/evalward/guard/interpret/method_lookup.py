"""GetMethod: the methods that the payload itself defines on an object or its prototypes (ECMA-262 §7.3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.recursion import Recursion

_MAX_NESTING = 24


class MethodLookup:
    """Methods that the payload defines; the built-in ones are modelled by the operations that call them."""

    def __init__(self, dataflow: Dataflow, machine: Recursion) -> None:
        self._dataflow = dataflow
        self._machine = machine

    def get_method(self, target: HeapObject, name: str) -> Value:
        """Return a method that the payload itself defined on the object or a prototype of it (ECMA-262 §7.3.10)."""
        self._dataflow.steps += 1
        result: Value = BOTTOM
        seen = 0
        current: HeapObject | None = target
        while current is not None and seen < _MAX_NESTING:
            seen += 1
            current.readers[self._dataflow.reader] = None
            result = join(result, current.properties.get(name, BOTTOM))
            if name in current.getters:
                result = join(
                    result,
                    self._machine.call(current.getters[name], of(target), (), Span.at(current.start)),
                )
            if current.extensible:
                result = join(result, current.elements)
            parents = [atom for atom in current.prototype if isinstance(atom, HeapObject)]
            current = parents[0] if parents else None
        return result
