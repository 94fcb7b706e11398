"""GetMethod: the methods that the payload itself defines on an object or its prototypes (ECMA-262 §7.3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, UNKNOWN, V_UNKNOWN, of
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.recursion import Recursion

_USUAL_CHAIN = 24  # prototypes; each one beyond them costs a step


class MethodLookup:
    """Methods that the payload defines; the built-in ones are modelled by the operations that call them."""

    def __init__(self, dataflow: Dataflow, machine: Recursion) -> None:
        self._dataflow = dataflow
        self._machine = machine

    def get_method(self, target: HeapObject, name: str) -> Value:
        """Return a method that the payload itself defined on the object or a prototype of it (ECMA-262 §7.3.10)."""
        self._dataflow.steps += 1
        result: Value = BOTTOM
        seen: set[Atom] = set()
        pending = [target]
        while pending:
            current = pending.pop()
            seen.add(current)
            if len(seen) > _USUAL_CHAIN:
                self._dataflow.spend()
            current.readers[self._dataflow.reader] = None
            result = join(result, current.properties.get(name, BOTTOM))
            if name in current.getters:
                result = join(
                    result,
                    self._machine.call(current.getters[name], of(target), (), Span.at(current.start)),
                )
            if current.extensible:
                result = join(result, current.elements)
            if UNKNOWN in current.prototype:
                result = join(result, V_UNKNOWN)
            pending.extend(atom for atom in objects_of(current.prototype) if atom not in seen)
        return result
