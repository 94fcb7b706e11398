"""GetMethod: the methods that the payload itself defines on an object or its prototypes (ECMA-262 §7.3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, NULL, UNKNOWN, V_UNKNOWN, Known, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.named_lists import own_elements
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.recursion import Recursion

_ROOT = "Object.prototype"
_USUAL_CHAIN = 24  # prototypes; each one beyond them costs a step


class MethodLookup:
    """Methods that the payload defines; the built-in ones are modelled by the operations that call them."""

    def __init__(self, dataflow: Dataflow, machine: Recursion) -> None:
        self._dataflow = dataflow
        self._machine = machine

    def get_method(self, target: HeapObject, name: str) -> Value:
        """Return a method that the payload itself defined on the object or a prototype of it (ECMA-262 §7.3.10)."""
        self._dataflow.steps += 1
        if not (target.getters or target.extensible or target.prototype):
            target.readers[self._dataflow.reader] = None
            return target.properties.get(name, BOTTOM)
        result: Value = BOTTOM
        seen: set[Atom] = {target}
        pending = [target]
        while pending:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            result = join(result, current.properties.get(name, BOTTOM))
            if name in current.getters:
                result = join(
                    result,
                    self._machine.call(current.getters[name], of(target), (), Span.at(current.start)),
                )
            if current.extensible:
                result = join(result, own_elements(current))
            if UNKNOWN in current.prototype:
                result = join(result, V_UNKNOWN)
            parents = objects_of(current.prototype) - seen
            seen |= parents  # at once: objects that are prototypes of each other are walked through once
            pending.extend(parents)
        self._dataflow.spend(len(seen) >> 2)
        return result

    def defined_of(self, target: HeapObject, names: frozenset[str]) -> frozenset[str]:
        """Return those names of members that the payload may have defined on an object or a prototype of it."""
        found: set[str] = set()
        seen: set[Atom] = {target}
        pending = [target]
        while pending:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            if current.extensible or UNKNOWN in current.prototype:
                return names
            found |= names.intersection(current.properties) | names.intersection(current.getters)
            parents = objects_of(current.prototype) - seen
            seen |= parents
            pending.extend(parents)
            if len(seen) > _USUAL_CHAIN:
                self._dataflow.spend()
        return names.intersection(found)

    def inherits_only_from(self, target: HeapObject, builtin: str, without: str = "") -> bool:
        """Whether an object and all prototypes above it are the payload's own, and end in one built-in prototype.

        Any other built-in prototype, or an object of a built-in class among the prototypes, brings methods and an
        internal slot that decide what the object converts to; an object that other code has may have got any. None of
        them may have a member of the name ``without``.
        """
        seen: set[Atom] = {target}
        pending = [target]
        while pending:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            self._dataflow.spend(len(seen) > _USUAL_CHAIN)
            if current.escaped or current.extensible or current.kind not in {"object", target.kind}:
                return False
            if without in current.properties or without in current.getters:
                return False
            for parent in current.prototype:
                if isinstance(parent, HeapObject):
                    if parent not in seen:
                        seen.add(parent)
                        pending.append(parent)
                elif parent is not NULL and not (type(parent) is Known and parent.path in {builtin, _ROOT}):
                    return False
        return True
