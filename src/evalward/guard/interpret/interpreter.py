"""The interpreter: runs units until nothing changes, then judges what was reached (guard.md §2).

What made the difference, on 10 KB of the benchmark's loaded code: 6,700 instructions ran for 1,131 that there are, and
2,300 do now. A function runs where it is first called (5,600), a call's own copy runs once when it reads only what it
wrote before (4,900), what grows by numbers alone soon is any number (4,000), a counter is that from its first value
on (3,800), what runs again are the instructions that read what changed (2,770), not the functions that they are in,
in a call's own copy too (2,400), and what calls itself gets no copy. Running inner functions or the latest first gave
nothing, nor did handlers that avoid a call, nor members of enumerations by names of their own. What is left are calls
that differ. An instruction costs 4 µs, half of it in reads of properties and in calls of built-in functions; a tenth
of all was the collector's, until an analysis was taken apart at its end.

What an instruction reads is noted where it is read (``readers``), and every operation that looks at an object notes
it, whatever it looks for: an instruction that should run again and does not would hide what it does. An outcome that
is reused stands for its call in that. So running everything once more, outcomes forgotten, must find nothing new;
``tests/guard/interpret/test_fixpoint.py`` does that to the corpus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.composition import Composition
from evalward.guard.interpret.key_checks import KeyChecks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.interpret.machine import Transfer
    from evalward.guard.interpret.surroundings import Surroundings

_MAX_REVIVALS = 3


class Interpreter:
    """Joins over every order in which a payload's instructions may run, to a fixpoint.

    A function runs where it is first called, and its caller goes on with the result: when it waited in the queue, each
    caller would run twice, once on nothing.
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
        while waiting:
            # The last one first: it calls those before it, which then are called by nobody else.
            functions = [unit.function for unit in waiting if not unit.ran and unit.function is not None]
            if not functions:
                break
            machine.escapes.expect_call(functions[-1])
            machine.execution.drain()
            waiting = [unit for unit in waiting if not unit.ran and unit.function is not functions[-1]]
        self._call_implicitly()
        for _ in range(_MAX_REVIVALS):
            if not machine.havoc.revive():
                break
            machine.execution.drain()
        self._call_implicitly()
        if findings.clicked and self._says("quit"):
            for start, end in findings.clicked:
                findings.report(
                    "electron-lifecycle", 0, start, end, None, "a menu item may have the role `quit`"
                )
        if findings.polluted and findings.key_checks and not self._surroundings.cleared:
            findings.checked = KeyChecks(machine.lowered, machine.dataflow, machine.store, findings).cleared()
        if findings.polluted and not findings.checked:
            for start, end in findings.polluted:
                note = "written through what a key from outside selects"
                findings.report("prototype-tampering", 0, start, end, None, note)

    def _call_implicitly(self) -> None:
        machine = self.machine
        while self._called_at != (machine.dataflow.version, len(machine.store.objects)):
            self._called_at = machine.dataflow.version, len(machine.store.objects)
            if not machine.implicit_calls.run():
                return
            machine.execution.drain()

    def _says(self, word: str) -> bool:
        """Whether any text or pattern of the payload holds a word, in whatever case."""
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
