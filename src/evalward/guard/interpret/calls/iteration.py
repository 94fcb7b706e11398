"""Iteration and promises: the values of ``for of``, spread, ``await`` and thenables (ECMA-262 §7.4, §27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ANY_SYMBOL,
    BOTTOM,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import ENTRY_KEYS, SYMBOL_ASYNC_ITERATOR, SYMBOL_ITERATOR
from evalward.guard.domain.texts import character_of
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState


_MAX_NESTING = 24


class Iteration:
    """Iterators, thenables and promises."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        host_objects: HostObjects,
        method_lookup: MethodLookup,
        coercion: Coercion,
        properties: Properties,
        elements: Elements,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._host_objects = host_objects
        self._method_lookup = method_lookup
        self._coercion = coercion
        self._properties = properties
        self._elements = elements
        self._machine = machine

    def resolve_promise(self, target: HeapObject, value: Value, span: Span) -> None:
        """Resolve a promise, also with the result of a thenable (ECMA-262 §27.2.1.3)."""
        target.readers[self._dataflow.reader] = None
        for container in target.elements:
            if isinstance(container, HeapObject):
                self._store.put_element(container, self.await_value(value, span))

    def await_value(self, value: Value, span: Span) -> Value:
        """Return what ``await`` gives: a promise's value, a thenable's result or itself (ECMA-262 §27.7.5.3)."""
        result: Value = BOTTOM
        for atom in value.union(*map(self._exposure.custom_elements, value)):
            if not isinstance(atom, HeapObject):
                result = join(result, of(atom))
                continue
            atom.readers[self._dataflow.reader] = None
            if atom.kind == "promise":
                result = join(result, atom.elements)
                if "then" not in atom.properties:
                    continue
            then = self._method_lookup.get_method(atom, "then")
            if (
                "then" not in atom.properties
            ):  # a property of an unknown name: only what is certainly a function
                then = frozenset(a for a in then if isinstance(a, (HeapObject, Known)))
            if then:
                self._judgement.use(then, Flow.CALLBACK, span)
                container = self._store.allocate("promise", atom.start, "then")
                ways = (
                    of(self.create_resolving_function(container)),
                    of(self.create_resolving_function(container, rejects=True)),
                )
                self._machine.call(then, of(atom), ways, span)
                result = join(result, container.elements)
                container.readers[self._dataflow.reader] = None
            result = join(result, of(atom))
        return result

    def generator_resume(self, target: HeapObject, value: Value) -> None:
        """Send a value into a generator, or throw it there; other objects do not change (ECMA-262 §27.5.3.3)."""
        dataflow = self._dataflow
        if target.kind == "generator" and target.unit is not None:
            dataflow.write(target.unit.sent, value)
            dataflow.write(dataflow.thrown, value)

    def create_resolving_function(self, container: HeapObject, *, rejects: bool = False) -> HeapObject:
        """Return a function that settles a promise; a rejected value may also be caught (ECMA-262 §27.2.1.3)."""
        made = self._store.allocate("rejecter" if rejects else "resolver", container.start, "resolver")
        self._store.put_element(made, of(container))
        return made

    def iterate(self, value: Value, index: int | None, span: Span) -> Value:
        """Return the element of an iteration at an index, or the join of all elements (ECMA-262 §7.4)."""
        result: Value = BOTTOM
        for atom in value:
            made = self._iterate_atom(atom, index, span)
            if index is not None and made and self._may_end(atom):
                made = join(made, V_UNDEFINED)
            result = join(result, made)
        return result

    @staticmethod
    def _may_end(atom: Atom) -> bool:
        """Whether an iteration may have fewer elements than a pattern; those that it lacks are undefined."""
        if type(atom) is Known:
            return True
        return isinstance(atom, HeapObject) and not (atom.kind in {"array", "arguments"} and atom.exact)

    def _iterate_patched(self, atom: Known, span: Span) -> Value:
        """Return the values of iterators that the payload assigned to a host object."""
        result: Value = BOTTOM
        for name in (SYMBOL_ITERATOR, SYMBOL_ASYNC_ITERATOR):
            iterator = self._patches.read(f"{atom.path}.{name}")
            iterator |= self._exposure.defined_on(atom, name)
            if iterator:
                result = join(result, self._stepped(iterator, atom, span))
        for element in objects_of(self._exposure.custom_elements(atom)):
            result = join(result, self._iterate_own(element, span))
        return result

    def _stepped(self, iterator: Value, atom: Atom, span: Span) -> Value:
        """Return the values of a payload iterator's steps, and those that the iterator holds."""
        self._judgement.use(iterator, Flow.CALLBACK, span)
        made = self._machine.call(iterator, of(atom), (), span)
        step = self._machine.call(self._properties.get(made, "next", span), made, (), span)
        for each in made:
            if isinstance(each, HeapObject):  # IteratorClose: a loop or a pattern ends early
                closed = self._machine.call(
                    self._method_lookup.get_method(each, "return"), made, (V_UNKNOWN,), span
                )
                self.await_value(closed, span)  # as `for await` does
        inner = self._properties.get(self.await_value(step, span), "value", span)
        if self._coercion.nesting >= _MAX_NESTING:
            return join(inner, V_UNKNOWN)
        self._coercion.nesting += 1
        try:
            return join(inner, self.iterate(frozenset(a for a in made if a is not atom), None, span))
        finally:
            self._coercion.nesting -= 1

    def _iterate_own(self, atom: HeapObject, span: Span) -> Value:
        """Return the values of an iterator that the payload put on an object of a built-in class."""
        iterator = self._method_lookup.get_method(atom, SYMBOL_ITERATOR)
        return self._stepped(iterator, atom, span) if iterator else BOTTOM

    @staticmethod
    def _is_iterator(atom: HeapObject) -> bool:
        """Whether an object is of a subclass of ``Iterator``."""
        parents = list(objects_of(atom.prototype)) if atom.kind == "object" else []
        for parent in parents:
            if any(type(above) is Known and above.path == "Iterator.prototype" for above in parent.prototype):
                return True
            parents.extend(above for above in objects_of(parent.prototype) if above not in parents)
        return False

    def _next_of(self, atom: HeapObject, span: Span) -> Value:
        """Return the values of a ``next`` that the payload put on a built-in iterator."""
        method = self._method_lookup.get_method(atom, "next")
        step = self._machine.call(method, of(atom), (), span)
        return self._properties.get(self.await_value(step, span), "value", span)

    def _iterate_atom(self, atom: Atom, index: int | None, span: Span) -> Value:
        self._dataflow.spend()
        if type(atom) is str:
            if index is not None:
                return of(atom[index]) if index < len(atom) else V_UNDEFINED
            characters = set(atom)
            return frozenset(characters) if len(characters) <= 16 else character_of(of(atom))  # noqa: PLR2004 - a small set
        if type(atom) is Known:
            return join(self._elements.get_element(atom, span.start), self._iterate_patched(atom, span))
        if not isinstance(atom, HeapObject):
            return self._elements.get_element(atom, span.start)
        atom.readers[self._dataflow.reader] = None
        if atom.kind == "proxy":
            given = self._properties.call_trap(atom, "get", (of(ANY_SYMBOL), of(atom)), span)
            made = self._machine.call(given, of(atom), (), span)
            if self._coercion.nesting >= _MAX_NESTING:
                return V_UNKNOWN
            self._coercion.nesting += 1
            try:
                through = join(self.iterate(atom.proxied(), None, span), self.iterate(made, None, span))
            finally:
                self._coercion.nesting -= 1
            return join(join(through, atom.contents()), V_UNKNOWN)
        for parent in atom.prototype if atom.kind == "object" else ():
            if type(parent) is Known and (
                member := self._catalogue.get(parent.path).members.get(SYMBOL_ITERATOR)
            ):
                listed = self._host_objects.materialize(
                    self._catalogue.get(member.result[1:]).result, span.start
                )
                given = join(atom.contents(), self.iterate(listed, index, span))
                return join(given, self._iterate_own(atom, span))
            if type(parent) is Known and self._catalogue.get(parent.path).element:
                given = join(atom.contents(), self._elements.get_element(parent, span.start))
                return join(given, self._iterate_own(atom, span))
        iterator = self._method_lookup.get_method(atom, SYMBOL_ITERATOR) or self._method_lookup.get_method(
            atom, SYMBOL_ASYNC_ITERATOR
        )
        if iterator:
            stepped = self._stepped(iterator, atom, span)
            if not stepped and atom.escaped:
                return V_UNKNOWN  # of an iterator that other code has given it
            return join(stepped, atom.contents()) if atom.kind == "array" else stepped
        if atom.kind == "map" or ENTRY_KEYS in atom.properties:  # a subclass calls its own `set`
            pair = self._store.allocate("array", atom.start, "pair")
            self._store.put_item(pair, 0, atom.properties.get(ENTRY_KEYS, V_UNDEFINED))
            self._store.put_item(pair, 1, atom.elements or V_UNDEFINED)
            if atom.escaped:
                self._store.put_element(pair, V_UNKNOWN)
                self._store.inexact(pair)
            return of(pair) if atom.kind == "map" else join(atom.contents(), of(pair))
        inherits = bool(atom.prototype or atom.getters)
        if (
            atom.kind in {"array", "arguments"}
            and index is not None
            and atom.exact
            and not (atom.escaped or inherits)
        ):
            return (atom.items[index] if index < len(atom.items) else BOTTOM) or V_UNDEFINED
        contents = atom.contents()
        if inherits:  # an array's iterator reads its elements by their indices
            contents = join(contents, self._elements.get_inherited(atom, span.start))
        if atom.kind in {"generator", "iterator"} or self._is_iterator(atom):
            contents = join(contents, self._next_of(atom, span))
        return join(contents, V_UNKNOWN) if atom.escaped else contents or V_UNDEFINED
