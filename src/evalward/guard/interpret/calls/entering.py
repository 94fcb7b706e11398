"""Calls of the payload's own functions: arguments, `this`, `arguments`, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.values import (
    BOTTOM,
    NULL,
    PRIMITIVE_UNKNOWNS,
    U1,
    U2,
    UNDEFINED,
    V_GLOBAL,
    V_UNDEFINED,
    Primitive,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.calls.helper_calls import CompiledHelpers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.heap import Activation, HeapObject

MAX_DEPTH = 48


class Entering(CompiledHelpers):
    """Entries into the payload's functions."""

    def enter(self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value = BOTTOM) -> Value:
        """Join arguments into a payload function and return what it gives."""
        unit = target.unit
        if unit is None:
            return BOTTOM
        count = len(unit.parameters)
        self.steps += 1 + count
        if self.steps > self.budget:
            self.spend(0)
        if unit.uses_this and not this <= unit.receivers:
            unit.receivers |= this
        if unit.helper and not rest:
            made = self.call_helper(unit, args)
            if made is not None:
                return made
        if not rest and unit.inlinable is not False and self.is_inlinable(unit):
            made = self.inline(unit, this, args)
            if made is not None:
                unit.ran = True
                return made
        if not unit.executed:
            for register in (*unit.parameters, *([unit.rest] if unit.rest >= 0 else [])):
                self.fed[register] = unit  # patterns read them without a name
        for index, register in enumerate(unit.parameters):
            value = args[index] if index < len(args) else join(rest, V_UNDEFINED)
            self.write(register, value)
        if unit.rest >= 0:
            self._fill(self.allocate("array", unit.start, "rest"), unit.rest, args[count:], rest)
        if unit.uses_arguments and not unit.arrow:
            holder = self.arguments_of(unit)
            for index, value in enumerate(args):
                self.put_item(holder, index, value)
            if rest:
                self.put_element(holder, rest)
        if not unit.arrow:
            self.write(unit.this, this if unit.strict else self.sloppy_this(this))
        unit.ran = True
        if not unit.executed:  # it may have run inlined, which says nothing about this call
            self.enqueue(unit)
            self.execute_now(unit)
        return self._outcome(target)

    def arguments_of(self, unit: Activation) -> HeapObject:
        """Return a function's ``arguments`` object."""
        if unit.arguments is None:
            unit.arguments = self.allocate("arguments", unit.start, "arguments")
            self.put(unit.arguments, "callee", of(known("arguments.callee", "arguments.callee")))
        return unit.arguments

    def _fill(self, array: HeapObject, register: int, args: Sequence[Value], rest: Value) -> None:
        first = not self.values[register]
        if not first and len(array.items) != len(args):
            self.inexact(array)
        for index, value in enumerate(args):
            self.put_item(array, index, value)
        if rest:
            self.inexact(array)
            self.put_element(array, rest)
        self.write(register, of(array))

    def sloppy_this(self, this: Value) -> Value:
        if not this or UNDEFINED in this or NULL in this or (self.strict and U1 in this):
            this = frozenset(atom for atom in this if atom is not UNDEFINED and atom is not NULL) | V_GLOBAL
        if any(type(atom) is str or type(atom) is Primitive or atom in PRIMITIVE_UNKNOWNS for atom in this):
            return this | of(U2)  # a wrapper
        return this

    def _outcome(self, target: HeapObject) -> Value:
        unit = target.unit
        if unit is None:
            return BOTTOM
        if unit.generator:
            made = self.allocate("generator", unit.start, "generator")
            made.unit = unit
            self.put_prototype(made, self.get(of(target), "prototype", unit.start, unit.start))
            self.put_element(made, self.read(unit.yielded))
            self.put(made, "@@returned", self.read(unit.result))
            return made.value
        result = self.read(unit.result)
        if unit.asynchronous:
            made = self.allocate("promise", unit.start, "async")
            self.put_element(made, self.awaited(result, unit.start, unit.start) or V_UNDEFINED)
            return made.value
        return result or V_UNDEFINED
