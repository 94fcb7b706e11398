"""Calls of payload functions: parameters, `this`, `arguments` and the result (ECMA-262 §10.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import arguments_callee
from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, Value, known, of
from evalward.guard.domain.slots import RETURNED
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join
from evalward.guard.interpret.calls.this_binding import ordinary_call_bind_this

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.heap import Activation, HeapObject
    from evalward.guard.interpret.calls.helper_calls import CompiledHelpers
    from evalward.guard.interpret.calls.inlining import Inlining
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.recursion import Running
    from evalward.guard.interpret.run_state import RunState


class OrdinaryCalls:
    """Entries into the payload's functions."""

    def __init__(
        self,
        state: RunState,
        properties: Properties,
        inlining: Inlining,
        iteration: Iteration,
        helpers: CompiledHelpers,
        machine: Running,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._strict = state.surroundings.strict
        self._properties = properties
        self._inlining = inlining
        self._iteration = iteration
        self._helpers = helpers
        self._machine = machine

    def ordinary_call(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value = BOTTOM
    ) -> Value:
        """Join arguments into a payload function and return what it gives (ECMA-262 §10.2.1)."""
        dataflow = self._dataflow
        unit = target.unit
        if unit is None:
            return BOTTOM
        count = len(unit.parameters)
        dataflow.steps += 1 + count
        if dataflow.steps > dataflow.budget:
            dataflow.spend(0)
        if unit.uses_this and not this <= unit.receivers:
            unit.receivers |= this
        if unit.helper and not rest:
            made = self._helpers.call_helper(unit, args)
            if made is not None:
                return made
        if not rest and unit.inlinable is not False and self._inlining.is_inlinable(unit):
            made = self._inlining.inline(unit, this, args)
            if made is not None:
                unit.ran = True
                return made
        if not unit.executed:
            for register in (*unit.parameters, *([unit.rest] if unit.rest >= 0 else [])):
                dataflow.fed[register] = unit  # patterns read them without a name
        for index, register in enumerate(unit.parameters):
            value = args[index] if index < len(args) else join(rest, V_UNDEFINED)
            dataflow.write(register, value)
        if unit.rest >= 0:
            self._fill(self._store.allocate("array", unit.start, "rest"), unit.rest, args[count:], rest)
        if unit.uses_arguments and not unit.arrow:
            holder = self.arguments_object(unit)
            for index, value in enumerate(args):
                self._store.put_item(holder, index, value)
            if rest:
                self._store.put_element(holder, rest)
        if not unit.arrow:
            dataflow.write(
                unit.this, this if unit.strict else ordinary_call_bind_this(this, strict=self._strict)
            )
        unit.ran = True
        if not unit.executed:  # an earlier inlined run does not cover this call
            dataflow.enqueue(unit)
            self._machine.execute_now(unit)
        return self._outcome(target)

    def arguments_object(self, unit: Activation) -> HeapObject:
        """Return a function's ``arguments`` object (ECMA-262 §10.4.4)."""
        if unit.arguments is None:
            unit.arguments = self._store.allocate("arguments", unit.start, "arguments")
            self._store.put(unit.arguments, "callee", of(known("arguments.callee", arguments_callee.LABEL)))
        return unit.arguments

    def _fill(self, array: HeapObject, register: int, args: Sequence[Value], rest: Value) -> None:
        first = not self._values[register]
        if not first and len(array.items) != len(args):
            self._store.inexact(array)
        for index, value in enumerate(args):
            self._store.put_item(array, index, value)
        if rest:
            self._store.inexact(array)
            self._store.put_element(array, rest)
        self._dataflow.write(register, of(array))

    def _outcome(self, target: HeapObject) -> Value:
        dataflow = self._dataflow
        unit = target.unit
        if unit is None:
            return BOTTOM
        if unit.generator:
            made = self._store.allocate("generator", unit.start, "generator")
            made.unit = unit
            self._store.put_prototype(
                made, self._properties.get(of(target), "prototype", Span.at(unit.start))
            )
            self._store.put_element(made, dataflow.read(unit.yielded))
            self._store.put(made, RETURNED, dataflow.read(unit.result))
            return made.value
        result = dataflow.read(unit.result)
        if unit.asynchronous:
            made = self._store.allocate("promise", unit.start, "async")
            self._store.put_element(
                made, self._iteration.await_value(result, Span.at(unit.start)) or V_UNDEFINED
            )
            return made.value
        return result or V_UNDEFINED
