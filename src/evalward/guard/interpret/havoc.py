"""The havoc rule: an instruction without a result gives an unknown value, and the run continues (guard.md §2).

An instruction has no result if it always throws or is not modelled. What follows an instruction that is
not modelled must still be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import V_UNDEFINED, V_UNKNOWN, Value
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import PRIVATE_PREFIX
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.interpret.silence import REVIVED, is_built_in

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.listed_keys import ListedKeys
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.run_state import RunState


class Havoc:
    """Instructions without a result; ``revived`` are the registers of those that were given an unknown one."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        properties: Properties,
        listed_keys: ListedKeys,
        calls: Calls,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._lowered = state.surroundings.lowered
        self._findings = state.findings
        self._judgement = judgement
        self._properties = properties
        self._listed_keys = listed_keys
        self._calls = calls
        self.revived: set[int] = set()

    def revive(self) -> bool:
        """Give instructions without a result an unknown value; return whether there was one."""
        dataflow = self._dataflow
        silent = False
        for unit in dataflow.units:
            for outcome in [each for each in unit.outcomes.values() if each.silent]:
                unit.inlinable = False  # its instructions get an unknown result in registers of their own
                outcome.silent = outcome.stands = False
                dataflow.wake(outcome.readers)
                silent = True
            for instruction in unit.code if unit.executed else ():
                if instruction[0] not in REVIVED or self._values[instruction[1]]:
                    continue
                if not str(instruction[3]).startswith(PRIVATE_PREFIX):  # a private name is the payload's own
                    self.revived.add(instruction[1])
                    dataflow.unit, dataflow.reader = unit, instruction[1]
                    self._values[instruction[1]] = self.unknown_result(instruction)
                    dataflow.feed(unit, instruction[1])
                    silent = True
        return silent

    def unknown_result(self, instruction: Instruction) -> Value:
        """Return the unknown value for an instruction without a result; for a read, a read from an unknown owner."""
        if instruction[0] is not Op.GET:
            self._hand_over(instruction)
            return V_UNKNOWN
        _, _, _, key, _, span = instruction
        made = (
            self._properties.get(V_UNKNOWN, key, span)
            if type(key) is str
            else self._listed_keys.get_by(V_UNKNOWN, key, span)
        )
        return made or V_UNKNOWN

    def _hand_over(self, instruction: Instruction) -> None:
        """Let a call of what no list names, and newer engines may have, do what it may with all that it is given."""
        match instruction[0]:
            case Op.CALL_METHOD:
                registers: tuple[int, ...] = instruction[4]
                owner = objects_of(self._values[instruction[2]])
                if any(map(is_built_in, self._values[instruction[2]])):
                    self._findings.outside = True
                self._judgement.leak(owner, Flow.ARGUMENT, instruction[5])
                self._calls.judge_receiver(self._values[instruction[2]])
            case Op.CALL | Op.NEW:
                registers = instruction[3]
            case _:
                return
        for register in registers:
            value = self._values[register if register >= 0 else ~register]
            self._calls.call(objects_of(value), V_UNDEFINED, (V_UNKNOWN,), instruction[5], V_UNKNOWN)
            self._judgement.leak(value, Flow.ARGUMENT, instruction[5])
