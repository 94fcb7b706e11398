"""Escapes: what the host may do with an object that it gets hold of (guard.md §2, carriers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    UNKNOWN_CONSTRUCTOR,
    V_GLOBAL,
    V_UNKNOWN,
    Known,
    Value,
    is_prototype,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import MAY_HAVE_ANY_RECEIVER, MAY_HAVE_FOREIGN_CONSTRUCTOR, PRIVATE_PREFIX
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.interpret.calls.bound_functions import unbound

if TYPE_CHECKING:
    from evalward.guard.interpret.calls.constructions import Constructions
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.run_state import RunState

_CALLEE = frozenset({"callee"})
_EVENT = known("Event.prototype")
_TARGETS = frozenset({"currentTarget", "target"})
# What a method is called on is anything.
_DOUBTS = (MAY_HAVE_FOREIGN_CONSTRUCTOR, MAY_HAVE_ANY_RECEIVER)


class Escapes:
    """The host's reads, writes and calls."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        iteration: Iteration,
        ordinary_calls: OrdinaryCalls,
        constructions: Constructions,
        held: HeldTexts,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._exposure = state.exposure
        self._lowered = state.surroundings.lowered
        self._catalogue = state.surroundings.catalogue
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._iteration = iteration
        self._ordinary_calls = ordinary_calls
        self._constructions = constructions
        self._held = held

    def escape(self, target: HeapObject) -> None:
        """Let the host do what it may with an object: read and replace its properties, call it with anything."""
        dataflow = self._dataflow
        dataflow.reader = target
        dataflow.spend(1 + (len(target.properties) + len(target.items) >> 2))
        # What is hidden is the payload's own function, or what the host itself put there, the window among it.
        named = _TARGETS if _EVENT in target.prototype else frozenset[str]()
        hidden = _CALLEE if target.kind == "arguments" else named
        for parent in target.prototype:
            if type(parent) is Known and parent.path in self._catalogue.lenders:
                self._exposure.lend(parent)
        # The window is in every event: one that the payload puts there leads no other code further.
        held = V_GLOBAL if _EVENT in target.prototype else BOTTOM
        elements = target.elements - held
        visible = [
            value - held
            for name, value in target.properties.items()
            if not name.startswith(PRIVATE_PREFIX) and name not in hidden
        ]
        self._bind(target, visible)
        self._judgement.judge_constructor(target.properties.get("constructor", BOTTOM))
        if target.kind == "object" and ("prototype" in target.properties or target.extensible):
            self._judgement.judge_constructor(target.elements)
            if "prototype" in target.properties or any(
                a.callable if isinstance(a, HeapObject) else type(a) is Known for a in target.elements
            ):
                self._exposure.expect_constructors()
        direct = not target.owners or target.handed or self._strict or not self._lowered.classes
        methods = frozenset[HeapObject]() if direct else self._methods_of(target)
        for method in sorted(methods, key=lambda function: function.serial):
            self._exposure.escape_method(method, target)
        for value in [*visible, elements, *target.items]:
            self._judgement.judge_answer(value, Span.at(target.start))
            self._judgement.leak(value - methods, Flow.RETURN, Span.at(target.start))
        if self._strict:
            # Other code that has an object does not give back its built-in prototype.
            above = frozenset(a for a in target.prototype if type(a) is Known and not is_prototype(a))
            self._judgement.use(above, Flow.RETURN, Span.at(target.start))
            if any(UNKNOWN_CONSTRUCTOR in value for value in [*visible, target.elements, *target.items]):
                self._judgement.use(of(UNKNOWN_CONSTRUCTOR), Flow.ARGUMENT, Span.at(target.start))
        for accessor in (*target.getters.values(), *target.setters.values()):
            self._judgement.leak(accessor, Flow.CALLBACK, Span.at(target.start))
        if target.bound is not None:
            self._lend_bound(target, target.bound[0])
        unit = target.unit
        if target.kind == "class":
            self._judgement.leak(
                self._constructions.construct(of(target), (), Span.at(target.start), V_UNKNOWN),
                Flow.RETURN,
                Span.at(target.start),
            )
        elif target.kind == "arguments":
            self._store.put_element(target, join(target.contents(), V_UNKNOWN))
        elif unit is not None and target.kind == "generator":
            self._iteration.generator_resume(target, V_UNKNOWN)
        elif unit is not None and target.kind == "function":
            dataflow.write(self._exposure.escaped_functions, of(target))
            previous, dataflow.unit = dataflow.unit, unit
            doubtful = self._store.patches.has_any(_DOUBTS, target)
            self._ordinary_calls.ordinary_call(
                target,
                (BOTTOM if doubtful else target.holders) or V_UNKNOWN,
                [V_UNKNOWN] * len(unit.parameters),
                V_UNKNOWN,
            )
            dataflow.unit = previous
            given = join(self._values[unit.result], self._values[unit.yielded] if unit.generator else BOTTOM)
            self._held.tell((given,))
            self._judgement.judge_answer(given, Span.at(target.start))
            self._judgement.leak(given, Flow.RETURN, Span.at(target.start))
            if self._strict and UNKNOWN_CONSTRUCTOR in given:  # what calls the function may give it back
                self._judgement.use(of(UNKNOWN_CONSTRUCTOR), Flow.ARGUMENT, Span.at(target.start))

    def _lend_bound(self, target: HeapObject, function: Value) -> None:
        self._judgement.leak(function, Flow.CALLBACK, Span.at(target.start))
        innermost, *_ = unbound(self._dataflow, target, (), BOTTOM)
        if any(type(atom) is Known for atom in innermost):
            self._exposure.lend_function(target)

    def expect_call(self, function: HeapObject) -> None:
        """Let the host call what nothing is seen to call, a method on what has it."""
        followed = self._lowered.classes and not self._strict
        prototypes = [o for o in self._store.objects.values() if self._has(o, function)] if followed else []
        for prototype in prototypes:
            self._exposure.escape_method(function, prototype)
        if not prototypes:
            self._dataflow.escape_object(function)

    def expect_bound_calls(self) -> None:
        """Let the host call the bound functions that nothing is seen to call."""
        for target in list(self._store.objects.values()):
            if target.bound is not None and not target.called:
                self._dataflow.escape_object(target)

    def _has(self, target: HeapObject, function: HeapObject) -> bool:
        """Whether an object is a prototype that has a function as a method."""
        return bool(target.owners) and any(
            function in value for name, value in target.properties.items() if name != "constructor"
        )

    def give_inherited(self) -> None:
        """Judge what objects that the host has inherit from the payload: it gives back the object, not a copy.

        Methods and accessors are not called with what a host might give them: what their calls gave is what counts.
        It is called until a round changes nothing.
        """
        escaped = [each for each in self._store.objects.values() if each.escaped]
        pending = [parent for each in escaped for parent in objects_of(each.prototype)]
        seen = {*escaped, *pending}
        while pending:
            holder = pending.pop()
            self._dataflow.spend()
            given = self._given_by(holder)
            self._judgement.use(given, Flow.RETURN, Span.at(holder.start))
            inside = objects_of(given | holder.prototype) - seen
            seen |= inside
            pending.extend(inside)

    def _given_by(self, holder: HeapObject) -> Value:
        """Return what an object holds, and what its accessors and methods, or it itself, gave when they were called."""
        hidden = (
            _CALLEE if holder.kind == "arguments" else _TARGETS if _EVENT in holder.prototype else frozenset()
        )
        given = {*holder.elements}.union(*holder.items)
        for name, value in holder.properties.items():
            if name not in hidden and not name.startswith(PRIVATE_PREFIX):
                given |= value
        functions = set[HeapObject]([holder]).union(*map(objects_of, holder.getters.values()))
        for function in functions:
            if (unit := function.unit) is not None:
                given.update(self._values[unit.result], self._values[unit.yielded] if unit.generator else ())
                given.update(*(outcome.result for outcome in unit.outcomes.values()))
        return frozenset(given)

    def _bind(self, owner: HeapObject, methods: list[Value]) -> None:
        """Let the host call an object's own methods on the object."""
        for value in methods:
            for atom in value:
                if isinstance(atom, HeapObject) and atom.unit is not None and not atom.unit.arrow:
                    self._dataflow.write(atom.unit.this, of(owner))

    @staticmethod
    def _methods_of(prototype: HeapObject) -> frozenset[HeapObject]:
        """Return the functions that are found on a prototype, its ``constructor`` aside."""
        return frozenset(
            atom
            for name, value in prototype.properties.items()
            if name != "constructor"
            for atom in value
            if isinstance(atom, HeapObject) and atom.kind == "function" and atom.bound is None
        )
