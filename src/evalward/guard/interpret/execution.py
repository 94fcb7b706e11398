"""Execution of units, from the queue or at a call, until the queue is empty."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from evalward.guard.domain.limit import AnalysisLimitError

if TYPE_CHECKING:
    from evalward.guard.domain.heap import Activation
    from evalward.guard.interpret.calls.inlining import Inlining
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.escapes import Escapes
    from evalward.guard.interpret.havoc import Havoc
    from evalward.guard.interpret.recursion import Running

_MAX_NESTED = 12  # calls that run within one another; further ones wait in the queue


class Execution:
    """The loop that runs a unit's instructions, and the queue of units."""

    def __init__(
        self, dataflow: Dataflow, inlining: Inlining, havoc: Havoc, escapes: Escapes, machine: Running
    ) -> None:
        self._dataflow = dataflow
        self._inlining = inlining
        self._havoc = havoc
        self._escapes = escapes
        self._machine = machine
        self._nested = 0

    def drain(self) -> None:
        """Run queued units and pending escapes until there are none."""
        queue, pending_escapes = self._dataflow.queue, self._dataflow.pending_escapes
        while queue or pending_escapes:
            while pending_escapes:
                self._escapes.escape(pending_escapes.pop())
            if queue:
                unit = queue.popleft()
                if unit.queued:
                    self._execute(unit)

    def execute_now(self, unit: Activation) -> None:
        """Run a unit that has just been called, so that its caller continues with its result."""
        if self._inlining.active or self._nested >= _MAX_NESTED:
            return
        dataflow = self._dataflow
        current, reader, rerunning = dataflow.unit, dataflow.reader, dataflow.rerunning
        self._nested += 1
        try:
            self._execute(unit)
        finally:
            self._nested -= 1
            dataflow.unit, dataflow.reader, dataflow.rerunning = current, reader, rerunning

    def _execute(self, unit: Activation) -> None:
        """Run the dirty instructions of a unit, and those that have their results as operands."""
        dataflow, revived = self._dataflow, self._havoc.revived
        dataflow.unit = unit
        unit.queued = False
        operations, values, code, dirty = self._machine.operations, dataflow.values, unit.code, unit.dirty
        dataflow.rerunning = again = unit.executed
        if not again:
            unit.executed = True
            dataflow.places.update(
                zip([each[1] for each in code], zip(repeat(unit), range(len(code))), strict=False)
            )
        index = dirty.find(1)
        while index >= 0:
            dirty[index] = 0
            instruction = code[index]
            dataflow.reader = register = instruction[1]
            dataflow.steps += 1
            if dataflow.steps > dataflow.budget:
                raise AnalysisLimitError(dataflow.budget)
            made = operations[instruction[0]](instruction)
            if not made and register in revived:
                made = self._havoc.unknown_result(instruction)
            if not again:
                values[register] = made
            elif made != values[register]:
                values[register] = made
                for user in dataflow.users_in(unit).get(register, ()):
                    dirty[user] = 1
            index = dirty.find(1, index + 1)
