"""The interpreter: runs a payload's instructions until nothing changes, then judges what was reached (guard.md §2).

Every read is noted in the ``readers`` of what is read, and every operation that looks at an object notes it, whatever
it looks for. A change runs its readers again. A missing note would hide what an instruction does, so running
everything once more, without the stored outcomes of calls, must find nothing new:
``tests/guard/interpret/test_fixpoint.py`` checks that on the corpus. An outcome that is reused stands for its call.

These rules keep the number of instructions that run low. On 10 KB of the benchmark's loaded code, with 1,131
instructions, each rule reduces the runs from 6,700 at the start to the number given:

- a function runs at its first call (5,600);
- an inlined call runs once if it reads only what it wrote before (4,900);
- a value that grows by numbers alone soon becomes any number (4,000), a counter at its first value (3,800);
- a change runs the instructions that read it, not their functions (2,770), also in inlined calls (2,400);
- what the payload puts on the host's objects wakes only what read it by that name;
- a function that calls itself is not inlined (2,300).

Running inner functions first, or the latest first, changed nothing; nor did handlers that avoid a call. An instruction
costs 4 µs, half of it in reads of properties and in calls of built-in functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import electron_lifecycle, prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import ANY_MENU_ITEM
from evalward.guard.interpret.chosen_items import chosen_blindly
from evalward.guard.interpret.composition import Composition
from evalward.guard.interpret.key_checks import KeyChecks
from evalward.guard.interpret.named_elements import UNNAMED_ELEMENT, only_placed
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.interpret.unresolved_sinks import report_unresolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.interpret.machine import Transfer
    from evalward.guard.interpret.surroundings import Surroundings


class Interpreter:
    """The run of a payload to a fixpoint, joined over every order in which its instructions may run.

    A function runs where it is first called, and its caller continues with the result. If it waited in the queue, each
    caller would run twice, the first time without a result.
    """

    def __init__(self, surroundings: Surroundings, transfers: Mapping[str, Transfer]) -> None:
        self._surroundings = surroundings
        self.machine = Composition(surroundings, transfers)
        # The state in which implicit calls changed nothing, or in which they are being made.
        self._called_at = (-1, 0)

    def run(self) -> None:
        """Run to the fixpoint; functions that nothing calls are run last, as if the host called them."""
        machine = self.machine
        top, findings = machine.dataflow.units[0], machine.findings
        top.ran = True
        machine.dataflow.enqueue(top)
        machine.execution.drain()
        self._call_implicitly()
        waiting = machine.dataflow.units
        findings.uncalled = self._surroundings.alone
        while waiting:
            # The last one first: it calls those before it, which then need no call of their own.
            functions = [unit.function for unit in waiting if not unit.ran and unit.function is not None]
            if not functions:
                break
            machine.escapes.expect_call(functions[-1])
            machine.execution.drain()
            waiting = [unit for unit in waiting if not unit.ran and unit.function is not functions[-1]]
        self._call_implicitly()
        machine.escapes.expect_bound_calls()
        machine.execution.drain()
        self._call_implicitly()
        while machine.havoc.revive():  # each instruction once
            machine.dataflow.spend()
            machine.execution.drain()
        self._call_implicitly()
        unresolved = machine.store.patches.has(ANY_MENU_ITEM)
        for span in findings.clicked:
            if unresolved or self._says("quit") or chosen_blindly(machine.dataflow.units, span):
                findings.report(
                    electron_lifecycle.LABEL,
                    Rank.USED,
                    span,
                    None,
                    "a menu item may have the role `quit`",
                )
        if findings.named and not only_placed(machine.dataflow.units):
            for span in findings.named:
                findings.report(INJECTION, Rank.BY_KEY, span, None, UNNAMED_ELEMENT)
        report_unresolved(
            findings, machine.dataflow.values, machine.store.objects.values(), machine.dataflow.units
        )
        if findings.polluted and findings.key_checks and not self._surroundings.cleared:
            findings.checked = KeyChecks(
                machine.lowered, machine.dataflow, machine.exposure, findings
            ).cleared()
        if findings.polluted and not findings.checked:
            for span in findings.polluted:
                note = "written through what a key from outside selects"
                findings.report(prototype_tampering.LABEL, Rank.USED, span, None, note)

    def _call_implicitly(self) -> None:
        machine = self.machine
        while self._called_at != (machine.dataflow.version, len(machine.store.objects)):
            self._called_at = machine.dataflow.version, len(machine.store.objects)
            machine.implicit_calls.run()
            machine.execution.drain()
            machine.escapes.give_inherited()
            machine.execution.drain()

    def _says(self, word: str) -> bool:
        """Whether any string or pattern of the payload contains a word, in any case; the empty one: whether any is."""
        machine = self.machine
        patterns = [
            part
            for unit in machine.dataflow.units
            for instruction in unit.code
            if instruction[0] is Op.REGEXP
            for part in instruction[2:5]
            if type(part) is str
        ]
        texts = [atom for value in machine.dataflow.values for atom in value if type(atom) is str]
        return any(word in text.lower() for text in (*patterns, *texts))
