"""Constructions: ``new``, classes, ``super(…)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    HOST_HELD_TEXT,
    NEVER_CALLABLE,
    NULL,
    OPAQUE_HOST_MEMBER,
    Host,
    Known,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.call import Call
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.limit import AnalysisLimitError
from evalward.guard.domain.slots import CONSTRUCTOR, FIELDS, PRIVATE_PREFIX
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import in_order, objects_of
from evalward.guard.interpret.calls.bound_functions import unbound
from evalward.guard.interpret.dataflow import MAX_DEPTH
from evalward.guard.interpret.objects.intrinsics import OF_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.calls.known_calls import KnownCalls
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.run_state import RunState


def possible_objects(value: Value) -> Value:
    """Return what of a value may be an object, which a constructor may return in place of the instance."""
    return frozenset(
        atom for atom in value if not (type(atom) is str or type(atom) is Primitive or atom in NEVER_CALLABLE)
    )


class Constructions:
    """Constructions of payload classes and built-in ones."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        method_lookup: MethodLookup,
        properties: Properties,
        iteration: Iteration,
        ordinary_calls: OrdinaryCalls,
        known_calls: KnownCalls,
        calls: Calls,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._judgement = judgement
        self._held = held
        self._method_lookup = method_lookup
        self._properties = properties
        self._iteration = iteration
        self._ordinary_calls = ordinary_calls
        self._known_calls = known_calls
        self._calls = calls
        self._initialising: set[tuple[HeapObject, Value, tuple[Value, ...]]] = (
            set()
        )  # `super(…)` that is running

    def construct(self, callee: Value, args: Sequence[Value], span: Span, rest: Value = BOTTOM) -> Value:
        """Return the result of ``new`` (ECMA-262 §7.3.14)."""
        if self._dataflow.depth > MAX_DEPTH:  # what the constructor would make and do is not known
            raise AnalysisLimitError(self._dataflow.budget)
        self._dataflow.depth += 1
        try:
            return self._construct_each(callee, args, span, rest)
        finally:
            self._dataflow.depth -= 1

    def _construct_each(self, callee: Value, args: Sequence[Value], span: Span, rest: Value) -> Value:
        result: Value = BOTTOM
        for atom in in_order(callee):
            if isinstance(atom, HeapObject):
                result = join(result, self._construct_object(atom, args, rest, span))
            elif type(atom) is Known:
                made = Call(atom.path, BOTTOM, args, rest, span, constructing=True)
                result = join(result, self._known_calls.call_known(atom, made))
            elif atom is HOST_HELD_TEXT:
                self._held.hold((*args, rest))
                result |= self._held.given_back()
            elif atom is OPAQUE_HOST_MEMBER:
                self._calls.call_hidden((*args, rest), span)
            elif not (type(atom) is str or type(atom) is Primitive or atom in NEVER_CALLABLE):
                self._judgement.use(of(atom), Flow.CONSTRUCT, span)
                result = join(result, self._calls.call_unknown(atom, args, rest, span, constructing=True))
                if isinstance(atom, Host):
                    result |= of(HOST_HELD_TEXT)
        return result

    def _construct_object(self, target: HeapObject, args: Sequence[Value], rest: Value, span: Span) -> Value:
        if target.bound is not None:
            function, _, given, rest = unbound(self._dataflow, target, args, rest)
            return self.construct(function, given, span, rest)
        if target.kind == "proxy":
            return self._calls.call_proxy(target, BOTTOM, args, rest, span, "construct")
        if target.kind == "class":
            return self.instantiate(target, args, rest, span)
        if target.unit is None:
            return BOTTOM
        instance = self._store.allocate("object", target.start, "instance")
        self._store.put_prototype(instance, self._properties.get(of(target), "prototype", span))
        if target.unit.new_target >= 0:
            self._dataflow.write(target.unit.new_target, of(target))
        result = self._ordinary_calls.ordinary_call(target, of(instance), args, rest)
        objects = frozenset(atom for atom in result if not (type(atom) is str or type(atom) is Primitive))
        return join(of(instance), objects)

    def instantiate(self, target: HeapObject, args: Sequence[Value], rest: Value, span: Span) -> Value:
        """Construct a payload class: run its fields, then its constructor or the parent's (ECMA-262 §10.2.2)."""
        instance = self._store.allocate("object", target.start, "instance")
        self._store.put_prototype(instance, target.properties.get("prototype", BOTTOM))
        self._tell_ancestors(target)
        return join(of(instance), self.initialise(target, of(instance), args, rest, span))

    def _tell_ancestors(self, target: HeapObject) -> None:
        """Write a class to ``new.target`` of the constructors that it inherits."""
        dataflow = self._dataflow
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            dataflow.spend()
            current.readers[dataflow.reader] = None
            for atom in current.properties.get(CONSTRUCTOR, BOTTOM):
                if isinstance(atom, HeapObject) and atom.unit is not None:
                    dataflow.write(atom.unit.new_target, of(target))
            for parent in current.prototype:
                if isinstance(parent, HeapObject) and parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
                    if parent.unit is not None and parent.unit.new_target >= 0:
                        dataflow.write(parent.unit.new_target, of(target))

    def initialise(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value, span: Span
    ) -> Value:
        """Run a class's field initialisers and constructor on an instance; return what replaces it."""
        dataflow = self._dataflow
        dataflow.spend()
        target.readers[dataflow.reader] = None
        self.initialize_instance_elements(target, this)
        own = target.properties.get(CONSTRUCTOR, BOTTOM)
        if not own:
            replaced = self.construct_parent(target, this, args, rest, span)
            if replaced:
                self.give_private_members(target, replaced)
            return replaced
        result: Value = BOTTOM
        for atom in own:
            if isinstance(atom, HeapObject) and atom.unit is not None:
                dataflow.write(atom.unit.new_target, of(target))
                made = self._ordinary_calls.ordinary_call(atom, this, args, rest)
                given = dataflow.read(atom.unit.this)  # `new` gives the result of `super(…)`
                result = join(result, possible_objects(given) | possible_objects(made))
        return result

    def _take_over(self, this: Value, made: Value) -> None:
        """Give instances what the host put on the object that it made: they are that object."""
        for source in objects_of(made) - this:
            source.readers[self._dataflow.reader] = None
            for target in objects_of(this):
                for name, value in source.properties.items():
                    self._store.put(target, name, value)

    def _fill_collection(
        self, parent: Atom, this: Value, args: Sequence[Value], rest: Value, span: Span
    ) -> None:
        """Model ``super(iterable)`` of a Map or Set: it calls the ``set`` or ``add`` that the subclass may override."""
        if type(parent) is not Known or parent.path not in {"Map", "Set", "WeakMap", "WeakSet"}:
            return
        given = join(args[0] if args else BOTTOM, rest)
        entry = self._iteration.iterate(given, None, span)
        key, value = (
            self._properties.get(entry, "0", span),
            self._properties.get(entry, "1", span),
        )
        for atom in this:
            if isinstance(atom, HeapObject):
                self._store.put_element(atom, join(join(entry, key), value))
                for name, arguments in (("set", (key, value)), ("add", (entry,))):
                    self._calls.call(self._method_lookup.get_method(atom, name), of(atom), arguments, span)

    def initialize_instance_elements(self, target: HeapObject, this: Value) -> None:
        """Run a class's field initialisers on an instance, or on what replaces it (ECMA-262 §7.3.33)."""
        for atom in target.properties.get(FIELDS, BOTTOM):
            if isinstance(atom, HeapObject):
                self._ordinary_calls.ordinary_call(atom, this, ())

    def give_private_members(self, target: HeapObject, replaced: Value) -> None:
        """Give what ``super(…)`` returned the private methods and accessors of a class, then its fields."""
        for prototype in objects_of(target.properties.get("prototype", BOTTOM)):
            prototype.readers[self._dataflow.reader] = None
            for name, value in list(prototype.properties.items()):
                if name[:3] == PRIVATE_PREFIX:
                    self._store.put(self._store.private, name, value)
            for setter, table in ((False, prototype.getters), (True, prototype.setters)):
                for name, value in list(table.items()):
                    if name[:3] == PRIVATE_PREFIX:
                        self._store.put_accessor(self._store.private, name, value, setter=setter)
        self.initialize_instance_elements(target, replaced)

    def construct_parent(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value, span: Span
    ) -> Value:
        """Run ``super(…)`` for a class: the parent's constructor on the same instance.

        A class that takes its parent's name, as in ``window.X = class extends X {}``, has itself among its parents: a
        variable holds all that it ever held. A repeated call with the same arguments gives nothing new.
        """
        asked = (target, this, (*args, rest))
        if asked in self._initialising:
            return BOTTOM
        if (
            self._dataflow.depth > MAX_DEPTH
        ):  # the effects of an inherited constructor on `this` would be missed
            raise AnalysisLimitError(self._dataflow.budget)
        self._dataflow.depth += 1
        self._initialising.add(asked)
        try:
            return self._construct_parent(target, this, args, rest, span)
        finally:
            self._dataflow.depth -= 1
            self._initialising.discard(asked)

    def _construct_parent(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value, span: Span
    ) -> Value:
        target.readers[self._dataflow.reader] = None
        result: Value = BOTTOM
        for parent in target.prototype:
            if isinstance(parent, HeapObject) and parent.kind == "class":
                result = join(result, self.initialise(parent, this, args, rest, span))
            elif isinstance(parent, HeapObject) and parent.unit is not None:
                made = self._ordinary_calls.ordinary_call(parent, this, args, rest)
                result = join(result, possible_objects(made))
            elif parent is not NULL and not (type(parent) is Known and parent.path == "Function.prototype"):
                made = self.construct(of(parent), args, span, rest)
                result = join(result, made)
                if type(parent) is not Known or parent.path not in OF_LANGUAGE:
                    self._exposure.hand_to_host(this)  # the host made it, and keeps it
                    self._take_over(this, made)
                self._fill_collection(parent, this, args, rest, span)
        return result
