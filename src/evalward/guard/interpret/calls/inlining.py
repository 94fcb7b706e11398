"""Inlining: small functions are run once per call, with that call's arguments, so that results of calls are not joined.

A function qualifies when its code makes no function and writes no variable but its own; it is run to its own
fixpoint on registers that are restored afterwards. If it reaches no fixpoint, the joined form is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, Known, Primitive, Value
from evalward.guard.domain.heap import Activation, HeapObject, Outcome
from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.calls.this_binding import ordinary_call_bind_this
from evalward.guard.interpret.silence import is_silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.recursion import Running
    from evalward.guard.interpret.run_state import RunState

Shape: TypeAlias = "str | tuple[int, str]"

_PURE = frozenset(
    {
        Op.LOAD,
        Op.STORE,
        Op.THIS,
        Op.GET,
        Op.CALL,
        Op.CALL_METHOD,
        Op.BINARY,
        Op.UNARY,
        Op.UPDATE,
        Op.JOIN,
        Op.TEMPLATE,
        Op.ARRAY,
        Op.OBJECT,
        Op.REGEXP,
        Op.ITERATE,
        Op.RETURN,
        Op.SET,
        Op.TAGGED,
        Op.NEW,
    }
)
_CALL = Op.CALL
_LOAD = Op.LOAD
_STORE = Op.STORE
_RETURN = Op.RETURN
# What only moves values is run in every round; the variables that it reads are not among its operands.
_MOVES = frozenset({Op.LOAD, Op.STORE, Op.THIS})
_MAX_CODE = 64
_MAX_DEPTH = 6
_MAX_ROUNDS = 6
_MAX_RUNS = 400  # in one analysis; past them, calls are joined
_MAX_RUNS_OF_ONE = 64  # function
_MAX_CONTEXTS = 16


class Inlining:
    """Calls that are interpreted separately for their arguments."""

    def __init__(self, state: RunState, machine: Running) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._lowered = state.surroundings.lowered
        self._strict = state.surroundings.strict
        self._machine = machine
        self._nested = 0
        self._runs = 0
        self.active: list[Activation] = []  # the calls that are being inlined

    def is_inlinable(self, unit: Activation) -> bool:
        """Whether a unit may be run on its own registers."""
        if unit.inlinable is None:
            unit.inlinable = self._is_plain(unit)
        return (
            unit.inlinable
            and self._nested < _MAX_DEPTH
            and self._runs < _MAX_RUNS
            and not (unit.function is not None and unit.function.escaped)
        )

    def _is_plain(self, unit: Activation) -> bool:
        """Whether code makes no function, does not call itself and writes only its own variables, recorded here."""
        if len(unit.code) > _MAX_CODE or unit.rest >= 0 or unit.uses_arguments:
            return False
        if unit.asynchronous or unit.generator:
            return False
        variables = {unit.result, unit.this, *unit.parameters}
        own_names: set[int] = set()  # registers of reads of what holds the function
        for instruction in unit.code:
            operation = instruction[0]
            if operation is _LOAD:
                if unit.function in self._values[instruction[2].register]:
                    own_names.add(instruction[1])
            elif operation is _CALL:
                if instruction[2] in own_names:
                    return False
            elif operation is _STORE:
                reference = instruction[2]
                if reference.owner != unit.index or reference.scope.unit != unit.index:
                    return False
                variables.add(reference.register)
                unit.stores = True
            elif operation not in _PURE:
                return False
        unit.variables = frozenset(variables)
        return True

    def inline(self, unit: Activation, this: Value, args: Sequence[Value]) -> Value | None:
        """Return the result of one call, None when it does not settle."""
        dataflow = self._dataflow
        # It does not read further arguments: a function that uses `arguments` is not inlined.
        args = tuple(args[: len(unit.parameters)])
        key = (dataflow.context, BOTTOM if unit.arrow else this, args)
        outcome = unit.outcomes.get(key)
        if outcome is None:
            context = hash((dataflow.context, unit.start, _shape(this), *map(_shape, args)))
            unit.contexts.add(context)
            if len(unit.contexts) > _MAX_CONTEXTS:
                unit.inlinable = False
                return None
            outcome = unit.outcomes[key] = Outcome(context)
        outcome.readers[dataflow.reader] = None
        if outcome.stands:
            return outcome.result
        if outcome.context in unit.unsettled:
            return None
        if unit in self.active:
            unit.inlinable = False  # recursive
            return None
        if unit.runs >= _MAX_RUNS_OF_ONE:
            unit.inlinable = False
            return None
        made = self._run_once(unit, this, args, outcome)
        if made is None or not unit.inlinable:
            # A call without a fixpoint is joined; the result of a recursive call is not known here.
            outcome.stands = False
            if made is None:
                unit.unsettled.add(outcome.context)
            return None
        outcome.result = made
        return made

    def _run_once(
        self, unit: Activation, this: Value, args: Sequence[Value], outcome: Outcome
    ) -> Value | None:
        dataflow = self._dataflow
        values = self._values
        registers: Iterable[int] = unit.variables
        if unit.executed:  # its other registers hold what the joined form made of them
            registers = (*registers, *(instruction[1] for instruction in unit.code))
        saved = [(register, values[register]) for register in registers]
        outer, current, reader = dataflow.context, dataflow.unit, dataflow.reader
        growth, local, loaded, settled = (
            dataflow.growth,
            dataflow.local,
            dataflow.loaded,
            dataflow.settled,
        )
        dataflow.local = local | unit.variables if local else unit.variables
        dataflow.context, dataflow.reader = outcome.context, outcome
        self._nested += 1
        self._runs += 1
        unit.runs += 1
        self.active.append(unit)
        try:
            dataflow.growth = {}
            for register in unit.variables:
                values[register] = BOTTOM
            for index, register in enumerate(unit.parameters):
                values[register] = args[index] if index < len(args) else V_UNDEFINED
            if not unit.arrow:
                values[unit.this] = (
                    this if unit.strict else ordinary_call_bind_this(this, strict=self._strict)
                )
            return self._settle(unit, outcome)
        finally:
            self._nested -= 1
            self.active.pop()
            dataflow.context, dataflow.unit, dataflow.growth, dataflow.local = (
                outer,
                current,
                growth,
                local,
            )
            dataflow.reader = reader
            dataflow.loaded, dataflow.settled = loaded, settled
            for register, value in saved:
                values[register] = value

    def _settle(self, unit: Activation, outcome: Outcome) -> Value | None:
        """Run until nothing that was read has changed; code without a loop reads after it writes, and runs once."""
        dataflow = self._dataflow
        values, operations, variables = self._values, self._machine.operations, unit.variables
        began: list[int] = []  # at which version each instruction was run
        for _ in range(_MAX_ROUNDS):
            dataflow.loaded, dataflow.settled, outcome.stands = set(unit.parameters), True, True
            dataflow.spend(len(unit.code))
            if began:
                self._run_again(unit, began)
            else:
                for instruction in unit.code:
                    operation = instruction[0]
                    if unit.stores:
                        began.append(dataflow.version)
                    if operation is _LOAD and instruction[2].register in variables:
                        # The same as the handler, without a Python call: two instructions in five are loads.
                        register = instruction[2].register
                        dataflow.loaded.add(register)
                        values[instruction[1]] = values[register]
                    elif operation is _RETURN:
                        dataflow.write(unit.result, values[instruction[2]])
                    else:
                        values[instruction[1]] = operations[operation](instruction)
            if not unit.inlinable:
                return None  # it has called itself
            if not unit.stores or (dataflow.settled and outcome.stands):
                outcome.silent = any(
                    not values[instruction[1]] and is_silent(instruction, values) for instruction in unit.code
                )
                return values[unit.result] or V_UNDEFINED
        return None

    def _run_again(self, unit: Activation, began: list[int]) -> None:
        """Run those instructions once more whose operands have changed, or anything else since they were run.

        One that was run at the present version has changed nothing, and would read what it read then.
        """
        dataflow = self._dataflow
        values, operations, listed = self._values, self._machine.operations, self._lowered.listed
        changed = bytearray(len(unit.code))
        for index, instruction in enumerate(unit.code):
            operation = instruction[0]
            if operation is _RETURN:
                dataflow.write(unit.result, values[instruction[2]])
            elif (
                began[index] != dataflow.version
                or changed[index]
                or operation in _MOVES
                or instruction[3] in listed  # which reads a variable
            ):
                began[index] = dataflow.version
                made = operations[operation](instruction)
                if made != values[instruction[1]]:
                    values[instruction[1]] = made
                    for user in dataflow.users_in(unit).get(instruction[1], ()):
                        changed[user] = 1


def _shape(value: Value) -> Shape | frozenset[Shape]:
    """Return what distinguishes two arguments: the value of constants, the allocation site of objects."""
    if len(value) == 1:
        (atom,) = value
        return _atom_shape(atom)
    return frozenset(map(_atom_shape, value))


def _atom_shape(atom: Atom) -> Shape:
    if type(atom) is str:
        return atom
    if type(atom) is Primitive:
        return atom.text
    if type(atom) is HeapObject:
        return atom.start, atom.kind
    return atom.path if type(atom) is Known else repr(atom)
