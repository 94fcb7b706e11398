"""Inherited setters that a write calls (OrdinarySet, ECMA-262 §10.1.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import Known, Value, of
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.objects.page_sinks import PageSinks
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState


class Setters:
    """Inherited setters."""

    def __init__(self, state: RunState, sinks: PageSinks, machine: Recursion) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._catalogue = state.surroundings.catalogue
        self._sinks = sinks
        self._machine = machine

    def call_on_host(self, atom: Atom, name: str, value: Value, span: Span) -> None:
        """Call the setters that the payload defined on objects of the host, or in classes of elements."""
        setters = self._store.setters_on(atom, name)
        if setters:
            self._machine.call(setters, of(atom), (value,), span)
        for element in self._store.custom_elements(atom):
            if isinstance(element, HeapObject):
                self.inherited_setter(element, element, name, value, span)

    def judge_inherited_setter(self, target: HeapObject, name: str, value: Value, span: Span) -> None:
        """Judge a write of a property that an object of the host has from its built-in prototype."""
        for parent in target.prototype:
            if type(parent) is Known:
                self.inherited_setter(parent, target, name, value, span)

    def inherited_setter(self, parent: Atom, target: HeapObject, name: str, value: Value, span: Span) -> None:
        for _ in range(16):
            if type(parent) is Known:
                kind = self._catalogue.get(parent.path).sinks.get(name)
                if kind is not None:
                    self._sinks.sink(kind, value, span)
            if not isinstance(parent, HeapObject):
                return
            parent.readers[self._dataflow.reader] = None
            if name in parent.setters:
                self._machine.call(parent.setters[name], of(target), (value,), span)
                return
            above = sorted(parent.prototype, key=lambda atom: isinstance(atom, HeapObject), reverse=True)
            if not above:
                return
            parent = above[0]
