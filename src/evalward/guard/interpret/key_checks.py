"""Checks of the keys that select the target of a write (guard.md §2).

`Object.hasOwn` or a comparison with `__proto__` clears a write through a key from elsewhere, but only a check of that
very key: the same variable, not written in between, or the same expression. It is looked for in the lowered code once
the fixpoint stands, and only where something is to be cleared. A key is described by where its value comes from, so
that two descriptions are equal only where two values are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, Value
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from evalward.guard.domain.heap import Activation
    from evalward.guard.domain.instructions import Instruction, Lowered
    from evalward.guard.domain.scope import Reference
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.exposure import Exposure
    from evalward.guard.interpret.findings import Findings

Place: TypeAlias = "Span"
Source: TypeAlias = int  # equal numbers stand for equal values

_CALLBACKS = {
    "forEach": 0,
    "map": 0,
    "filter": 0,
    "some": 0,
    "every": 0,
    "find": 0,
    "reduce": 1,
    "reduceRight": 1,
}
_SAME_ELEMENTS = frozenset({"slice", "filter", "reverse", "sort", "toSorted", "toReversed"})
_STRUCTURED = frozenset({Op.BINARY, Op.TEMPLATE, Op.UNARY, Op.AWAIT})
_READS = frozenset({Op.GET, Op.CALL_METHOD})
_CALLS = frozenset({Op.CALL, Op.CALL_METHOD})
_MAX_DEPTH = 40


class KeyChecks:
    """The checked keys in the lowered code of a payload."""

    def __init__(self, lowered: Lowered, dataflow: Dataflow, exposure: Exposure, findings: Findings) -> None:
        self._lowered = lowered
        self._values = dataflow.values
        self._global_object = exposure.global_object
        self._selecting = findings.selecting
        self._key_checks = findings.key_checks
        self._made: dict[int, tuple[Activation, int]] = {}
        self._stores: dict[int, list[tuple[Activation, int, int]]] = {}
        self._parameters: dict[int, tuple[Activation, int]] = {}
        self._written: set[str] = set()
        self._calls: list[Instruction] = []
        self._selects: dict[Place, list[int]] = {}
        self._sources: dict[int, Source] = {}  # by register
        self._numbers: dict[tuple[Any, ...], Source] = {}
        self._described: list[tuple[Any, ...]] = []
        asked: list[Instruction] = []
        for unit in dataflow.units:
            self._parameters.update((register, (unit, at)) for at, register in enumerate(unit.parameters))
            for index, instruction in enumerate(unit.code):
                self._note(unit, index, instruction)
                if instruction[5] in self._key_checks:
                    asked.append(instruction)
        self._callers = self._find_callers()
        self._checked = {source for instruction in asked for source in self._asked(instruction)}
        self._spread()

    def cleared(self) -> frozenset[Place]:
        """Return the reads that select by a checked key."""
        return frozenset(
            place
            for place in self._selecting
            if place in self._selects and all(self._is_checked(key) for key in self._selects[place])
        )

    def _note(self, unit: Activation, index: int, instruction: Instruction) -> None:
        operation, register, first, second = instruction[:4]
        self._made[register] = unit, index
        if operation is Op.STORE and self._lowered.constants.get(second) != V_UNDEFINED:
            self._stores.setdefault(first.register, []).append((unit, index, second))
        elif operation is Op.SET and type(second) is str:
            self._written.add(second)
        if operation in _READS and type(second) is int:
            self._selects.setdefault(instruction[5], []).append(second)
        if operation in _CALLS:
            self._calls.append(instruction)

    def _asked(self, instruction: Instruction) -> list[Source]:
        """Return the keys that a call or a comparison checks."""
        if instruction[0] is Op.BINARY:
            return [self._source(instruction[3]), self._source(instruction[4])]
        if instruction[0] not in _CALLS:
            return []
        given = self._given(instruction)
        offset = self._key_checks[instruction[5]]
        known = 0 < offset <= len(given) and given[-offset] >= 0
        return [self._source(given[-offset])] if known else []

    def _given(self, call: Instruction) -> tuple[int, ...]:
        """Return the arguments' registers; of ``apply`` those in its array."""
        given: tuple[int, ...] = call[4] if call[0] is Op.CALL_METHOD else call[3]
        if call[0] is Op.CALL_METHOD and call[3] == "apply" and given and given[-1] in self._made:
            unit, index = self._made[given[-1]]
            if unit.code[index][0] is Op.ARRAY:
                listed: tuple[int, ...] = unit.code[index][2]
                return listed
        return given

    def _find_callers(self) -> dict[HeapObject, list[tuple[Instruction, bool]]]:
        """Return the calls of each payload function, and those that get it as an argument."""
        found: dict[HeapObject, list[tuple[Instruction, bool]]] = {}
        for call in self._calls:
            owner = self._value(call[2])
            if call[0] is Op.CALL_METHOD:
                methods = (
                    atom.properties.get(str(call[3]), BOTTOM)
                    for atom in owner
                    if isinstance(atom, HeapObject)
                )
                owner = frozenset().union(*methods)
            for atom in owner:
                if isinstance(atom, HeapObject):
                    found.setdefault(atom, []).append((call, False))
            for register in self._given(call):
                for atom in self._value(register if register >= 0 else ~register):
                    if isinstance(atom, HeapObject):
                        found.setdefault(atom, []).append((call, True))
        return found

    def _given_to(self, unit: Activation, position: int) -> list[Source] | None:
        """Return the arguments for a parameter in each known call; None if there may be unknown calls."""
        function = unit.function
        if function is None or function.escaped or unit.uses_arguments:
            return None
        found: list[Source] = []
        for call, handed_over in self._callers.get(function, ()):
            given = self._given(call)
            if handed_over:
                name = call[3] if call[0] is Op.CALL_METHOD else ""
                at = _CALLBACKS.get(name) if type(name) is str else None
                if at != position or given[0] < 0 or function not in self._value(given[0]):
                    return None
                found.append(self._number("element", self._source(call[2])))
            elif position >= len(given) or any(register < 0 for register in given[: position + 1]):
                return None
            else:
                found.append(self._source(given[position]))
        return found

    def _spread(self) -> None:
        """Mark the arguments of a function that checks its parameter as checked."""
        pending = list(self._checked)
        while pending:
            kind, *rest = self._described[pending.pop()]
            if kind == "parameter":
                for given in self._given_to(*self._parameters[rest[0]]) or ():
                    if given not in self._checked:
                        self._checked.add(given)
                        pending.append(given)

    def _is_checked(self, key: int) -> bool:
        return self._stays(self._value(key)) and self._holds(self._source(key))

    def _holds(self, asked: Source) -> bool:
        """Whether a value is checked, or is a parameter whose arguments are all checked."""
        pending, seen = [asked], {asked}
        while pending:
            source = pending.pop()
            if source in self._checked:
                continue
            kind, *rest = self._described[source]
            if kind in {"read", "item"} and self._numbers.get(("element", rest[0])) in self._checked:
                continue
            given = self._given_to(*self._parameters[rest[0]]) if kind == "parameter" else None
            if not given:
                return False
            pending.extend(each for each in given if each not in seen)
            seen.update(given)
        return True

    @staticmethod
    def _stays(value: Value) -> bool:
        """Whether a key is the same text at each use: an object's ``toString`` may return another."""
        return not any(isinstance(atom, HeapObject) for atom in value)

    def _value(self, register: int) -> Value:
        """Return what a register holds; those of a function that runs once per call are empty, its variables not."""
        made = self._made.get(register)
        if made is not None:
            instruction = made[0].code[made[1]]
            if instruction[0] is Op.LOAD and instruction[2].register >= 0:
                variable: int = instruction[2].register
                return self._values[variable] | self._values[register]
        return self._values[register]

    def _number(self, *described: Any) -> Source:
        number = self._numbers.setdefault(described, len(self._described))
        if number == len(self._described):
            self._described.append(described)
        return number

    def _source(self, register: int, depth: int = 0) -> Source:
        """Return the number of a value's source; a source without an equal is described by its register."""
        source = self._sources.get(register)
        if source is None:
            self._sources[register] = self._number("register", register)  # for what leads back to itself
            source = self._sources[register] = self._traced(register, depth)
        return source

    def _traced(self, register: int, depth: int) -> Source:
        made = self._made.get(register)
        if made is None and register in self._parameters:
            return self._number("parameter", register)
        if made is None or depth > _MAX_DEPTH:
            return self._number("register", register)
        unit, index = made
        operation, _, first, second, third, *_ = unit.code[index]
        if operation is Op.LOAD:
            source = self._of_variable(first, unit, index, depth)
            return self._number("register", register) if source is None else source
        if operation is Op.JOIN and len(first) == 1:
            return self._source(first[0], depth + 1)
        if operation is Op.ITERATE:
            inner = self._source(first, depth + 1)
            return self._number("element", inner) if second is None else self._number("item", inner, second)
        if operation is Op.CALL_METHOD and second in _SAME_ELEMENTS:
            return self._source(first, depth + 1)
        if operation is Op.GET and self._is_read_alike(first, second):
            key = second if type(second) is str else self._source(second, depth + 1)
            return self._number("read", self._source(first, depth + 1), key)
        if operation in _STRUCTURED:
            return self._number(operation, *(self._part(part, depth + 1) for part in (first, second, third)))
        return self._number("register", register)

    def _part(self, part: Any, depth: int) -> Any:
        if type(part) is tuple:
            return tuple(self._part(each, depth) for each in part)
        if type(part) is not int:
            return part
        constant = self._lowered.constants.get(part)
        return self._source(part, depth) if constant is None else constant

    def _is_read_alike(self, owner: int, name: str | int) -> bool:
        """Whether a property is the same each time that it is read."""
        return name not in self._written and not any(
            isinstance(atom, HeapObject) and (atom.getters or atom.kind == "proxy" or atom.extensible)
            for atom in self._value(owner)
        )

    def _of_variable(self, variable: Reference, unit: Activation, index: int, depth: int) -> Source | None:
        register = variable.register
        if register < 0:
            return self._number("global", variable.name)
        if variable.is_global and variable.name in self._global_object.properties:
            return None
        parameter = self._parameters.get(register)
        if parameter is not None and parameter[0].uses_arguments:
            return None  # `arguments[0] = …` writes it
        if not self._stays(self._values[register]):
            return None
        stores = self._stores.get(register, [])
        if not stores:
            return None if parameter is None else self._number("parameter", register)
        if len(stores) == 1 and parameter is None:
            owner, at, stored = stores[0]
            return self._source(stored, depth + 1) if owner is not unit or at < index else None
        if any(each is not unit for each, _, _ in stores):
            return None
        before = [at for _, at, _ in stores if at < index]
        return self._number("variable", register, max(before, default=-1))
