"""Calls of methods whose names the payload decodes: any method of the owner may be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    FUNCTION_FROM_TEXT,
    STRING_UNKNOWNS,
    UNDEFINED,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    V_UNKNOWN,
    Known,
    Value,
    of,
)
from evalward.guard.domain.call import Call
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.texts import part_of
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.machine import Machine, Transfer
    from evalward.guard.interpret.run_state import RunState


class DecodedCalls:
    """Calls by decoded names."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        iteration: Iteration,
        calls: Calls,
        transfers: Mapping[str, Transfer],
        machine: Machine,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._iteration = iteration
        self._calls = calls
        self._transfers = transfers
        self._machine = machine

    def call_decoded(self, owner: Value, args: Sequence[Value], span: Span) -> Value:
        """Call a method whose name the payload decodes: callbacks and the result may get any property of the owner.

        Of a function it may be `call` or `apply`.
        """
        inside = given = BOTTOM
        for atom in owner:
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                inside = join(inside, atom.contents())
                self._iteration.generator_resume(atom, args[0] if args else BOTTOM)
            elif type(atom) is Known and self._catalogue.get(atom.path).callable:
                method = Call("Function.prototype.call", of(atom), args, BOTTOM, span)
                self._transfers["Function.prototype.call"](self._machine, method)
                self._transfers["Function.prototype.apply"](self._machine, method)
        for value in args:
            given = join(given, value)
        callbacks: Value = BOTTOM
        for atom in given:
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                held = of(atom) if atom.callable else atom.everything()
                callbacks = join(
                    callbacks, frozenset(a for a in held if isinstance(a, HeapObject) and a.callable)
                )
                self._judgement.use(
                    frozenset(a for a in held if a is FUNCTION_FROM_TEXT or a is UNKNOWN_CONSTRUCTOR),
                    Flow.CALLBACK,
                    span,
                )
        passed = join(join(owner, inside), given - callbacks)
        made = self._calls.call(callbacks, of(UNKNOWN, UNDEFINED), (passed, passed), span, V_UNKNOWN)
        texts = frozenset(atom for atom in owner if type(atom) is str or atom in STRING_UNKNOWNS)
        if texts:
            made = join(made, part_of(texts))
        array = self._store.allocate("array", span.start, "decoded")
        self._store.inexact(array)
        made = join(made, inside)
        self._store.put_element(array, join(made, given - callbacks))
        return join(made, of(array)) if made or given else BOTTOM
