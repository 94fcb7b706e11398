"""Callbacks that the payload passes to array methods and promises of unknown objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.accumulation import reached
from evalward.guard.domain.atoms import (
    BOTTOM,
    FUNCTION_FROM_TEXT,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    V_ANY_NUMBER,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.run_state import RunState


_LEADING = frozenset({UNKNOWN_CONSTRUCTOR, UNKNOWN, UNKNOWN_NESTED_DATA, FUNCTION_FROM_TEXT})
_MAPPING = frozenset({"map", "flatMap"})  # give what the callback gives
REDUCING = frozenset({"reduce", "reduceRight"})


class UnknownCallbacks:
    """Calls of callbacks by methods whose owner is not known."""

    def __init__(
        self, state: RunState, judgement: Judgement, elements: Elements, iteration: Iteration, calls: Calls
    ) -> None:
        self._store = state.store
        self._judgement = judgement
        self._elements = elements
        self._iteration = iteration
        self._calls = calls

    def settle(self, args: list[Value], span: Span) -> Value:
        """Return a promise of the results of callbacks that are passed to a promise of the host."""
        given: Value = BOTTOM
        for value in args:
            functions = frozenset(a for a in value if isinstance(a, HeapObject) and a.kind == "function")
            given = join(
                given,
                self._iteration.await_value(
                    self._calls.call(functions, V_UNDEFINED, (V_UNKNOWN,), span), span
                ),
            )
        if not given:
            return BOTTOM
        made = self._store.allocate("promise", span.start, "of the host")
        self._store.put_element(made, join(given, V_UNKNOWN))
        return made.value

    def iterate(self, atom: Atom, key: str, args: list[Value], rest: Value, span: Span) -> Value:
        """Call back as the array method of the name would: with an element, its index and the array."""
        element = self._elements.get_element(atom, span.start) or V_UNKNOWN
        given: Value = BOTTOM
        result = V_TAINTED_DATA if atom is TAINTED_DATA else V_UNKNOWN
        called = BOTTOM
        for index, value in enumerate((*args, rest)):
            functions = frozenset(a for a in value if isinstance(a, HeapObject) and a.kind == "function")
            each: tuple[Value, ...] = (element, V_ANY_NUMBER, of(atom))
            if key in REDUCING:
                given = join(given, self._reduce(functions, each, args[1] if len(args) > 1 else rest, span))
            else:
                # What follows a callback is its `this`, as it is or as the owner's own algorithm has it.
                this = V_UNKNOWN.union(*args[index + 1 :], rest)
                given = join(given, self._calls.call(functions, this, each, span))
            self._judgement.leak(value if called else value - functions, Flow.ARGUMENT, span)
            called |= functions
        if key in REDUCING:
            if atom is not TAINTED_DATA:  # a stream, which promises what the callback gives
                self._judgement.leak(frozenset(a for a in given if type(a) is Known), Flow.ARGUMENT, span)
            return join(join(result, given), args[1] if len(args) > 1 else rest)
        if key not in _MAPPING or not given:
            return result
        if (
            atom is not TAINTED_DATA
        ):  # an iterator or a stream, whose own members give what the callback gives
            self._judgement.leak(given, Flow.ARGUMENT, span)
        if key == "flatMap":
            given = join(given, self._iteration.iterate(given, None, span))
        made = self._store.allocate("array", span.start, "iterated")
        self._store.inexact(made)
        self._store.put_element(made, given)
        return result | of(made)

    def _reduce(self, functions: Value, each: tuple[Value, ...], initial: Value, span: Span) -> Value:
        """Return what reducing gives, which is what the function is given next."""
        leads_on = any(a.callable if isinstance(a, HeapObject) else a in _LEADING for a in initial)

        def step(given: Value) -> Value:
            # Methods of data, called one after another, lead to no function; read, they do.
            before = given if leads_on else given - {FUNCTION_FROM_TEXT}
            return self._calls.call(functions, V_UNKNOWN, (join(join(each[0], initial), before), *each), span)

        return reached(step)
