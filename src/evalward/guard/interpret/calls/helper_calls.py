"""Compiler helpers, interpreted as the ``async`` functions and generators that they replace.

``lower.compiled_helpers`` recognises them. A call that no compiler writes is interpreted like any other call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    NULL,
    UNDEFINED,
    V_ANY_NUMBER,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.heap import Activation, HeapObject
from evalward.guard.domain.instructions import NO_UNIT, RUNS, Unit
from evalward.guard.domain.slots import MAY_BE_REMOVED, MAY_HAVE_OWN_CALL, RETURNED, WRAPPED_FUNCTION
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_REPLACED = ("Promise", "Object", "Symbol", "Iterator", "Function", MAY_HAVE_OWN_CALL, MAY_BE_REMOVED)
_YIELD, _DELEGATE, _RETURN = "4", "5", "2"
_SILENT = frozenset({"3", "7"})  # jumps within the function
_LONGEST = 2  # an operation and its operand
_STATE = frozenset({"label", "sent", "trys", "ops"})


class CompiledHelpers:
    """Calls of compilers' helpers."""

    def __init__(
        self,
        state: RunState,
        method_lookup: MethodLookup,
        elements: Elements,
        iteration: Iteration,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._global_object = state.exposure.global_object
        self._patches = state.store.patches
        self._method_lookup = method_lookup
        self._elements = elements
        self._iteration = iteration
        self._machine = machine

    def call_helper(self, unit: Activation, args: Sequence[Value]) -> Value | None:
        """Return a helper's result, None if no compiler writes such a call or the helper may be replaced."""
        self._global_object.readers[self._dataflow.reader] = None
        replaced = (*self._patches.names(), *self._global_object.properties)
        if any(name.startswith(_REPLACED) for name in replaced):
            return None
        match unit.helper:
            case "awaiter" if len(args) == 4 and self._is_promise(args[2]):  # noqa: PLR2004
                return self._run(args[3], args[0], args[1])
            case "async" if len(args) == 3:  # noqa: PLR2004
                return self._run(args[2], args[0], args[1])
            case "wrapper" if len(args) == 1:
                return self._wrapped(unit, args[0])
            case "generator" if len(args) == 2:  # noqa: PLR2004
                return self._generator(args[1], args[0])
        return None

    @staticmethod
    def _is_promise(value: Value) -> bool:
        return all(atom is UNDEFINED or (type(atom) is Known and atom.path == "Promise") for atom in value)

    def _functions(self, value: Value) -> list[HeapObject] | None:
        """Return the payload functions in a value, None when it holds anything else."""
        found = [atom for atom in value if isinstance(atom, HeapObject) and atom.kind == "function"]
        return sorted(found, key=lambda function: function.serial) if len(found) == len(value) else None

    def _wrapped(self, unit: Activation, value: Value) -> Value | None:
        """Return a function that runs a generator function with its own ``this`` and arguments."""
        functions = self._functions(value)
        steps = self._dataflow.read(unit.called) if unit.called >= 0 else BOTTOM
        if unit.calls_helper and not (
            steps and all(isinstance(a, HeapObject) and a.unit and a.unit.helper == "step" for a in steps)
        ):
            return None
        if functions is None:
            return None
        made: set[HeapObject] = set()
        for function in functions:
            wrapper = self._store.allocate("native", function.start, "compiled")
            wrapper.bound = of(known(RUNS)), (BOTTOM, of(function))
            self._store.put(wrapper, WRAPPED_FUNCTION, of(function))
            made.add(wrapper)
        return frozenset(made)

    def _run(self, generator: Value, this: Value, given: Value) -> Value | None:
        """Run a generator function with the arguments that an array or ``arguments`` holds."""
        items = self._store.items_of(given)
        if items is not None:
            return self.run_async(generator, this, items, BOTTOM)
        rest: Value = BOTTOM
        for atom in given:
            if isinstance(atom, HeapObject) and atom.kind in {"array", "arguments"}:
                rest = join(rest, self._elements.get_element(atom, atom.start))
            elif atom is not UNDEFINED and atom is not NULL:
                return None
        return self.run_async(generator, this, (), rest)

    def run_async(self, generator: Value, this: Value, args: Sequence[Value], rest: Value) -> Value | None:
        """Return the promise of an ``async`` function whose awaits are the yields of a generator function."""
        functions = self._functions(generator)
        if functions is None:
            return None
        promises: set[HeapObject] = set()
        for function in functions:
            start = function.start
            made = self._machine.call(of(function), this, args, Span.at(start), rest)
            promise = self._store.allocate("promise", start, "compiled")
            for atom in made:
                if not isinstance(atom, HeapObject) or atom.unit is None or not self._is_plain_call(atom):
                    return None
                sent = self._iteration.await_value(self._dataflow.read(atom.unit.yielded), Span.at(start))
                self._iteration.generator_resume(atom, join(sent, V_UNDEFINED))
                result = self._iteration.await_value(self._dataflow.read(atom.unit.result), Span.at(start))
                self._store.put_element(promise, result or V_UNDEFINED)
            promises.add(promise)
        return frozenset(promises)

    def _is_plain_call(self, atom: HeapObject) -> bool:
        """Whether an object is a generator with the built-in methods."""
        return (
            atom.kind == "generator"
            and not atom.escaped
            and not any(self._method_lookup.get_method(atom, name) for name in ("next", "throw", "return"))
        )

    def _generator(self, body: Value, this: Value) -> Value | None:
        """Return the generator whose steps the body describes as ``[operation, value]``."""
        dataflow = self._dataflow
        functions = self._functions(body)
        if functions is None:
            return None
        made: set[HeapObject] = set()
        for function in functions:
            start = function.start
            generator = self._store.allocate("generator", start, "compiled")
            if generator.unit is None:
                sent, yielded, result = (dataflow.add_register() for _ in range(3))
                made_from = Unit(NO_UNIT, "", None, start, start, sent=sent, yielded=yielded, result=result)
                generator.unit = Activation(made_from)
                generator.prototype = of(known("Iterator.prototype"))
            state = self._state(generator)
            steps = self._machine.call(of(function), this, (of(state),), Span.at(start))
            left = self._left_in(state)
            if left is None or not all(
                atom is UNDEFINED or self._step(generator, atom) for atom in steps | left
            ):
                return None
            self._store.put_element(generator, dataflow.read(generator.unit.yielded))
            self._store.put(generator, RETURNED, dataflow.read(generator.unit.result))
            made.add(generator)
        return frozenset(made)

    def _state(self, generator: HeapObject) -> HeapObject:
        """Return the argument of a generator's body: ``{label, sent, trys, ops}``."""
        dataflow = self._dataflow
        start = generator.start
        state = self._store.allocate("object", start, "state")
        sent = self._store.allocate("native", start, "sent")
        if generator.unit is not None:
            self._store.put_element(
                sent,
                join(
                    dataflow.read(generator.unit.sent),
                    join(dataflow.read(dataflow.thrown), V_UNDEFINED),
                ),
            )
            self._store.put_element(sent, V_UNKNOWN if dataflow.read(dataflow.thrown) else BOTTOM)
        for name, value in (("label", V_ANY_NUMBER), ("sent", of(sent))):
            self._store.put(state, name, value)
        for name in ("trys", "ops"):
            array = self._store.allocate("array", start, name)
            self._store.inexact(array)
            self._store.put(state, name, of(array))
        return state

    def _left_in(self, state: HeapObject) -> Value | None:
        """Return the steps that the body stores, None when it changes its state in a way that no compiler writes."""
        dataflow = self._dataflow
        state.readers[dataflow.reader] = None
        if state.escaped or state.extensible or not _STATE.issuperset(state.properties) or state.getters:
            return None
        lists: list[HeapObject] = []
        for name in ("trys", "ops"):
            for atom in state.properties[name]:
                if not isinstance(atom, HeapObject) or atom.kind != "array" or atom.escaped:
                    return None
                atom.readers[dataflow.reader] = None
                lists.append(atom)
        if len(lists) != 2:  # noqa: PLR2004 - one each
            return None
        for tried in lists[0].contents():
            if not isinstance(tried, HeapObject) or tried.kind != "array" or tried.escaped:
                return None
            tried.readers[dataflow.reader] = None
            if not all(type(atom) is Primitive for atom in tried.contents()):
                return None
        return lists[1].contents()

    def _step(self, generator: HeapObject, step: object) -> bool:
        """Execute a step; return False when the value is not a step."""
        dataflow = self._dataflow
        unit = generator.unit
        if not isinstance(step, HeapObject) or unit is None or step.kind != "array":
            return False
        step.readers[dataflow.reader] = None
        if (
            not step.exact
            or step.escaped
            or step.getters
            or step.prototype
            or not 1 <= len(step.items) <= _LONGEST
        ):
            return False
        operations = step.items[0]
        value = step.items[1] if len(step.items) > 1 else V_UNDEFINED
        for operation in operations:
            if type(operation) is not Primitive:
                return False
            if operation.text == _YIELD:
                dataflow.write(unit.yielded, value)
            elif operation.text == _RETURN:
                dataflow.write(unit.result, value)
            elif operation.text == _DELEGATE:
                self._delegated(unit, value, step.start)
            elif operation.text not in _SILENT:
                return False
        return True

    def _delegated(self, unit: Activation, value: Value, start: int) -> None:
        """Add the steps of another generator to a generator, as ``yield*`` does."""
        dataflow = self._dataflow
        dataflow.write(unit.yielded, self._iteration.iterate(value, None, Span.at(start)))
        for atom in value:
            if isinstance(atom, HeapObject):
                atom.readers[dataflow.reader] = None
                dataflow.write(unit.sent, atom.properties.get(RETURNED, BOTTOM))
                self._iteration.generator_resume(atom, join(dataflow.read(unit.sent), V_UNDEFINED))
            else:
                dataflow.write(unit.sent, V_UNKNOWN)
