"""Inherited setters that a write calls (OrdinarySet, ECMA-262 §10.1.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import ANY_STRING, BOTTOM, Known, Value, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import PRIVATE_PREFIX, PROXY_HANDLER, PROXY_TARGET
from evalward.guard.interpret.atom_order import objects_of

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
        self._exposure = state.exposure
        self._catalogue = state.surroundings.catalogue
        self._sinks = sinks
        self._machine = machine

    def call_on_host(self, atom: Atom, name: str, value: Value, span: Span) -> None:
        """Call the setters that the payload defined on objects of the host, or in classes of elements."""
        setters = self._exposure.setters_on(atom, name)
        if setters:
            self._machine.call(setters, of(atom), (value,), span)
        for element in self._exposure.custom_elements(atom):
            if isinstance(element, HeapObject):
                self.inherited_setter(element, element, name, value, span)

    def set_private(self, atom: Atom, name: str, value: Value, span: Span) -> None:
        """Write a private member that an object may have got from any class that has one of this name."""
        private = self._store.private
        private.readers[self._dataflow.reader] = None
        if not isinstance(atom, HeapObject):
            self._store.put(private, name, value)
        if name in private.setters:
            self._machine.call(private.setters[name], of(atom), (value,), span)

    def judge_inherited_setter(self, target: HeapObject, name: str, value: Value, span: Span) -> None:
        """Judge a write of a property that an object inherits: call its setter, or judge the sink that it is."""
        for parent in target.prototype:
            self.inherited_setter(parent, target, name, value, span)

    def inherited_setter(self, parent: Atom, target: Atom, name: str, value: Value, span: Span) -> None:
        """Call the setter that a receiver inherits from a prototype, along every branch of the chain."""
        pending, seen = [parent], {parent}
        while pending:
            current = pending.pop()
            if type(current) is Known:
                kind = self._catalogue.get(current.path).sinks.get(name)
                if kind is not None and kind != "text":  # an object of the payload is no script of the page
                    self._sinks.sink(kind, value, span)
            if not isinstance(current, HeapObject):
                continue
            self._dataflow.steps += 1
            current.readers[self._dataflow.reader] = None
            if current.kind == "proxy":
                self.call_traps(current, of(name), value, target, span)
            if name in current.setters:
                self._machine.call(current.setters[name], of(target), (value,), span)
                continue
            for above in current.prototype:
                if above not in seen:
                    seen.add(above)
                    pending.append(above)

    def call_inherited(self, target: HeapObject, this: Atom, value: Value, span: Span) -> None:
        """Call every setter of an object and of its prototypes: a key that is not known may name any."""
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            self._dataflow.steps += 1
            current.readers[self._dataflow.reader] = None
            if current.kind == "proxy" and current is not this:
                self.call_traps(current, of(ANY_STRING), value, this, span)
            for name, setter in list(current.setters.items()):
                if name[:3] != PRIVATE_PREFIX:
                    self._machine.call(setter, of(this), (value,), span)
            for above in objects_of(current.prototype):
                if above not in seen:
                    seen.add(above)
                    pending.append(above)

    def call_traps(self, proxy: HeapObject, key: Value, value: Value, this: Atom, span: Span) -> None:
        """Call the ``set`` trap of a proxy, and ``defineProperty`` if it is the receiver itself (ECMA-262 §10.5)."""
        handler = proxy.properties.get(PROXY_HANDLER, BOTTOM)
        self._machine.call(
            self._machine.get(handler, "set", span),
            handler,
            (proxy.properties.get(PROXY_TARGET, BOTTOM), key, value, of(this)),
            span,
        )
        if this is not proxy:
            return
        descriptor = self._store.allocate("object", span.start, "descriptor")
        self._store.put(descriptor, "value", value)
        given = (proxy.properties.get(PROXY_TARGET, BOTTOM), key, of(descriptor))
        self._machine.call(self._machine.get(handler, "defineProperty", span), handler, given, span)
