"""The helpers of compilers, run as what they were compiled from: ``async`` functions and generators.

``lowering.compiled`` says which functions they are. A call that is not as compilers write it is run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import Activation, HeapObject
from evalward.guard.domain.instructions import NO_UNIT, RUNS, Unit
from evalward.guard.domain.values import (
    BOTTOM,
    NULL,
    UNDEFINED,
    V_NUMBER,
    V_U1,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.objects.host_objects import HostObjects

if TYPE_CHECKING:
    from collections.abc import Sequence

_REPLACED = ("Promise", "Object", "Symbol", "Iterator", "Function", "@@calls", "@@removed")
_YIELD, _DELEGATE, _RETURN = "4", "5", "2"
_SILENT = frozenset({"3", "7"})  # jumps within the function
_LONGEST = 2  # an operation and its operand
_STATE = frozenset({"label", "sent", "trys", "ops"})


class CompiledHelpers(HostObjects):
    """Calls of compilers' helpers."""

    def call_helper(self, unit: Activation, args: Sequence[Value]) -> Value | None:
        """Return what a helper gives, None where it is not called as compilers do or may not be what it was."""
        self.patches.readers[self.reader] = self.global_object.readers[self.reader] = None
        replaced = (*self.patches.properties, *self.global_object.properties)
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
        """Return the functions of the payload that a value holds, None when it holds anything else."""
        found = [atom for atom in value if isinstance(atom, HeapObject) and atom.kind == "function"]
        return sorted(found, key=lambda function: function.serial) if len(found) == len(value) else None

    def _wrapped(self, unit: Activation, value: Value) -> Value | None:
        """Return a function that runs a generator function with its own ``this`` and arguments."""
        functions = self._functions(value)
        steps = self.read(unit.called) if unit.called >= 0 else BOTTOM
        if unit.calls_helper and not (
            steps and all(isinstance(a, HeapObject) and a.unit and a.unit.helper == "step" for a in steps)
        ):
            return None
        if functions is None:
            return None
        made: set[HeapObject] = set()
        for function in functions:
            wrapper = self.allocate("native", function.start, "compiled")
            wrapper.bound = of(known(RUNS)), (BOTTOM, of(function))
            self.put(wrapper, "@@function", of(function))
            made.add(wrapper)
        return frozenset(made)

    def _run(self, generator: Value, this: Value, given: Value) -> Value | None:
        """Run a generator function with the arguments that an array or ``arguments`` holds."""
        items = self.items_of(given)
        if items is not None:
            return self.run_async(generator, this, items, BOTTOM)
        rest: Value = BOTTOM
        for atom in given:
            if isinstance(atom, HeapObject) and atom.kind in {"array", "arguments"}:
                rest = join(rest, self.get_element(atom, atom.start))
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
            made = self.call(of(function), this, args, start, start, rest)
            promise = self.allocate("promise", start, "compiled")
            for atom in made:
                if not isinstance(atom, HeapObject) or atom.unit is None or not self._is_plain_call(atom):
                    return None
                sent = self.awaited(self.read(atom.unit.yielded), start, start)
                self.resume(atom, join(sent, V_UNDEFINED))
                result = self.awaited(self.read(atom.unit.result), start, start)
                self.put_element(promise, result or V_UNDEFINED)
            promises.add(promise)
        return frozenset(promises)

    def _is_plain_call(self, atom: HeapObject) -> bool:
        """Whether an object is a generator whose methods are those of the language."""
        return (
            atom.kind == "generator"
            and not atom.escaped
            and not any(self.own_or_payload(atom, name) for name in ("next", "throw", "return"))
        )

    def _generator(self, body: Value, this: Value) -> Value | None:
        """Return the generator whose steps the body's ``[operation, value]`` say."""
        functions = self._functions(body)
        if functions is None:
            return None
        made: set[HeapObject] = set()
        for function in functions:
            start = function.start
            generator = self.allocate("generator", start, "compiled")
            if generator.unit is None:
                sent, yielded, result = (self._extra_register() for _ in range(3))
                made_from = Unit(NO_UNIT, "", None, start, sent=sent, yielded=yielded, result=result)
                generator.unit = Activation(made_from)
                generator.prototype = of(known("Iterator.prototype"))
            state = self._state(generator)
            steps = self.call(of(function), this, (of(state),), start, start)
            left = self._left_in(state)
            if left is None or not all(
                atom is UNDEFINED or self._step(generator, atom) for atom in steps | left
            ):
                return None
            self.put_element(generator, self.read(generator.unit.yielded))
            self.put(generator, "@@returned", self.read(generator.unit.result))
            made.add(generator)
        return frozenset(made)

    def _state(self, generator: HeapObject) -> HeapObject:
        """Return what the body of a generator is called with: ``{label, sent, trys, ops}``."""
        start = generator.start
        state = self.allocate("object", start, "state")
        sent = self.allocate("native", start, "sent")
        if generator.unit is not None:
            self.put_element(
                sent, join(self.read(generator.unit.sent), join(self.read(self.thrown), V_UNDEFINED))
            )
            self.put_element(sent, V_U1 if self.read(self.thrown) else BOTTOM)
        for name, value in (("label", V_NUMBER), ("sent", of(sent))):
            self.put(state, name, value)
        for name in ("trys", "ops"):
            array = self.allocate("array", start, name)
            self.inexact(array)
            self.put(state, name, of(array))
        return state

    def _left_in(self, state: HeapObject) -> Value | None:
        """Return the steps that the body kept for later, None when it did more to its state than compilers do."""
        state.readers[self.reader] = None
        if state.escaped or state.extensible or not _STATE.issuperset(state.properties) or state.getters:
            return None
        lists: list[HeapObject] = []
        for name in ("trys", "ops"):
            for atom in state.properties[name]:
                if not isinstance(atom, HeapObject) or atom.kind != "array" or atom.escaped:
                    return None
                atom.readers[self.reader] = None
                lists.append(atom)
        if len(lists) != 2:  # noqa: PLR2004 - one each
            return None
        for tried in lists[0].contents():
            if not isinstance(tried, HeapObject) or tried.kind != "array" or tried.escaped:
                return None
            tried.readers[self.reader] = None
            if not all(type(atom) is Primitive for atom in tried.contents()):
                return None
        return lists[1].contents()

    def _step(self, generator: HeapObject, step: object) -> bool:
        """Do what a step says; False when it is none."""
        unit = generator.unit
        if not isinstance(step, HeapObject) or unit is None or step.kind != "array":
            return False
        step.readers[self.reader] = None
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
                self.write(unit.yielded, value)
            elif operation.text == _RETURN:
                self.write(unit.result, value)
            elif operation.text == _DELEGATE:
                self._delegated(unit, value, step.start)
            elif operation.text not in _SILENT:
                return False
        return True

    def _delegated(self, unit: Activation, value: Value, start: int) -> None:
        """Let a generator go on with another's steps, as ``yield*`` does."""
        self.write(unit.yielded, self.iterated(value, None, start, start))
        for atom in value:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                self.write(unit.sent, atom.properties.get("@@returned", BOTTOM))
                self.resume(atom, join(self.read(unit.sent), V_UNDEFINED))
            else:
                self.write(unit.sent, V_U1)
