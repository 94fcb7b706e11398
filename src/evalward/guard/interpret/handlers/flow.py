"""Operators, iteration, asynchrony, and the ways a value leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    BUILT,
    U0,
    U2,
    V_U1,
    V_UNDEFINED,
    Known,
    Value,
    join,
    of,
)
from evalward.guard.interpret.handlers.makers import Makers

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction

_EVERYWHERE = frozenset(  # functions that every engine has had since ECMAScript 2017
    f"{owner}.{name}"
    for owner, names in {
        "Object": "assign create keys values entries freeze is defineProperty defineProperties getPrototypeOf "
        "setPrototypeOf getOwnPropertyNames getOwnPropertySymbols getOwnPropertyDescriptor "
        "getOwnPropertyDescriptors",
        "Array": "isArray from of",
        "Number": "isNaN isFinite isInteger isSafeInteger parseFloat parseInt",
        "Math": "sign trunc hypot cbrt log2 log10 imul",
    }.items()
    for name in names.split()
)


class FlowOperations(Makers):
    """Instructions that combine values or hand them on."""

    def op_binary(self, instruction: Instruction) -> Value:
        operator, left, right = instruction[2], self.values[instruction[3]], self.values[instruction[4]]
        if operator == "instanceof":
            method = BOTTOM
            for atom in right:
                if isinstance(atom, HeapObject):
                    method = join(method, self.own_or_payload(atom, "@@hasInstance"))
                elif type(atom) is Known:
                    self.patches.readers[self.reader] = None
                    method = join(method, self.patches.properties.get(f"{atom.path}.@@hasInstance", BOTTOM))
            if method:
                self.use(method, Flow.CALLBACK, instruction[5], instruction[6])
                self.call(method, right, (left,), instruction[5], instruction[6])
        elif operator == "in":
            self.key(frozenset(a for a in left if isinstance(a, HeapObject)), instruction[5], instruction[6])
            self.ask_names(right, left, instruction[5], instruction[6])
            for atom in right:
                if isinstance(atom, HeapObject) and atom.kind == "proxy":
                    self.get_unknown(atom, instruction[5], instruction[6])
        elif "__proto__" in left or "__proto__" in right:
            self.key_checks[instruction[5], instruction[6]] = 0
        return self.binary(operator, left, right, instruction[5], instruction[6])

    def op_unary(self, instruction: Instruction) -> Value:
        return self.unary(instruction[2], self.values[instruction[3]], instruction[5], instruction[6])

    def op_update(self, instruction: Instruction) -> Value:
        _, _, register, step, variable, start, end = instruction
        return self.update(self.values[register], step, start, end, variable=variable)

    def op_join(self, instruction: Instruction) -> Value:
        tested = instruction[3]
        if tested is not None and self._is_there(self.values[tested]):
            register: int = instruction[2][0]
            return self.values[register]
        result = BOTTOM
        for register in instruction[2]:
            result = join(result, self.values[register])
        return result

    def _is_there(self, value: Value) -> bool:
        """Whether a feature that is tested for is one that every engine has, and the payload did not remove."""
        self.patches.readers[self.reader] = None
        if len(value) != 1 or "@@removed" in self.patches.properties:
            return False
        (atom,) = value
        return type(atom) is Known and atom.label is None and atom.path in _EVERYWHERE

    def op_template(self, instruction: Instruction) -> Value:
        start, end = instruction[5], instruction[6]
        return self.concatenated(
            [self.strings(self.values[register], start, end) for register in instruction[2]]
        )

    def op_iterate(self, instruction: Instruction) -> Value:
        return self.iterated(self.values[instruction[2]], instruction[3], instruction[5], instruction[6])

    def op_rest(self, instruction: Instruction) -> Value:
        array = self.allocate("array", instruction[5])
        items = self.iterated_items(self.values[instruction[2]])
        if items is None:
            self.inexact(array)
            self.put_element(
                array, self.iterated(self.values[instruction[2]], None, instruction[5], instruction[6])
            )
        else:
            for index, item in enumerate(items[instruction[3] :]):
                self.put_item(array, index, item)
        return of(array)

    def op_omit(self, instruction: Instruction) -> Value:
        target = self.allocate("object", instruction[5])
        self.copy_properties(target, self.values[instruction[2]], instruction[5], instruction[6])
        self.doubt(target, (key for key in instruction[3] if type(key) is str))
        return of(target)

    def op_keys(self, instruction: Instruction) -> Value:
        result: Value = BOTTOM
        for atom in self.values[instruction[2]]:
            result = join(result, self.enumerable_keys(atom))
        return result

    def op_await(self, instruction: Instruction) -> Value:
        return self.awaited(self.values[instruction[2]], instruction[5], instruction[6])

    def op_yield(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        if instruction[3]:
            returned = self._returned(value)
            for atom in value:
                if not isinstance(atom, HeapObject) or atom.kind not in {"generator", "array"}:
                    returned = join(returned, V_U1)
                elif atom.unit is not None:
                    self.write(atom.unit.sent, self.read(self.unit.sent))
            self._delegate(value, instruction[5], instruction[6])
            value = self.iterated(value, None, instruction[5], instruction[6])
            self.write(self.unit.yielded, value)
            return join(join(returned, value), V_UNDEFINED)
        self.write(self.unit.yielded, value)
        return join(self.read(self.unit.sent), V_UNDEFINED)

    def _delegate(self, value: Value, start: int, end: int) -> None:
        """Hand what is sent into this generator on to an iterator of the payload, as ``yield*`` does."""
        sent = join(self.read(self.unit.sent), V_UNDEFINED)
        for atom in value:
            if isinstance(atom, HeapObject):
                made = self.call(self.own_or_payload(atom, "@@iterator"), of(atom), (), start, end)
                for name in ("next", "throw", "return"):
                    method = self.get(
                        frozenset(a for a in made if isinstance(a, HeapObject)), name, start, end
                    )
                    self.call(method, made, (sent,), start, end)

    def _returned(self, value: Value) -> Value:
        """Return what generators return, which ``yield*`` gives."""
        result: Value = BOTTOM
        for atom in value:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                result = join(result, atom.properties.get("@@returned", BOTTOM))
        return result

    def op_return(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        self.write(self.unit.result, value)
        function = self.unit.function
        if function is not None and function.escaped:
            self.leak(value, Flow.RETURN, instruction[5], instruction[6])
        return value

    def op_throw(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        self.write(self.thrown, value)
        self.use(value, Flow.THROW, instruction[5], instruction[6])
        return value

    def op_caught(self, _instruction: Instruction) -> Value:
        return join(self.read(self.thrown), of(U2))

    def op_complete(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        start, end = instruction[5], instruction[6]
        if self.parameters is not None:
            self.use(frozenset(a for a in value if a in {U0, BUILT}), Flow.CALLBACK, start, end)
            value = self.call(value, self.receiver, self.parameters, start, end, self.rest)
        self.leak(self.awaited(value, start, end), Flow.RETURN, start, end)
        return value

    def op_with(self, instruction: Instruction) -> Value:
        self.report("with", 0, instruction[5], instruction[6], None, "`with` changes what names mean")
        return BOTTOM

    def op_havoc(self, instruction: Instruction) -> Value:
        for register in instruction[2]:
            self.leak(self.values[register], Flow.ARGUMENT, instruction[5], instruction[6])
        return V_U1
