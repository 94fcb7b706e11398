"""The interpreter's state: registers, dependencies, readers, findings, budget."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from evalward.guard.constructs import process_member
from evalward.guard.domain.heap import HeapObject, Outcome, Readers
from evalward.guard.domain.instructions import Op, operands
from evalward.guard.domain.uses import Step, Use
from evalward.guard.domain.values import (
    BOTTOM,
    V_DATA,
    V_UNDEFINED,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.domain.heap import Reader
    from evalward.guard.domain.instructions import Instruction, Lowered, Unit
    from evalward.guard.domain.values import Atom, Known
    from evalward.guard.interpret.calls.calls import Call
    from evalward.guard.interpret.judgement import Flow


_LOAD = Op.LOAD


class AnalysisLimitError(Exception):
    """The step budget was used up; ``steps`` is how many were allowed."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"the resolver's budget of {steps} steps is used up")
        self.steps = steps


class State:
    """Registers, the worklist, and what was found so far."""

    if TYPE_CHECKING:  # what the later parts of the interpreter provide to the earlier ones
        operations: list[Callable[[Instruction], Value]]

        def call(
            self,
            callee: Value,
            this: Value,
            args: Sequence[Value],
            start: int,
            end: int,
            rest: Value = BOTTOM,
        ) -> Value: ...
        def construct(
            self, callee: Value, args: Sequence[Value], start: int, end: int, rest: Value = BOTTOM
        ) -> Value: ...
        def get(self, owner: Value, name: str, start: int, end: int) -> Value: ...
        def get_unknown(self, atom: Atom, start: int, end: int) -> Value: ...
        def get_element(self, atom: Atom, start: int) -> Value: ...
        def materialize(
            self, result: str, start: int, label: str | None = None, of_member: str = ""
        ) -> Value: ...
        def constant(self, result: str, label: str | None) -> Value | None: ...
        def instance_of(self, path: str, start: int) -> Value: ...
        def enter(
            self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value = BOTTOM
        ) -> Value: ...
        def sloppy_this(self, this: Value) -> Value: ...
        def global_value(self, name: str) -> Value: ...
        def enumerable_keys(self, atom: Atom) -> Value: ...
        def copy_properties(self, target: HeapObject, source: Value, start: int, end: int) -> None: ...
        def use_conversions(self, value: Value, start: int, end: int) -> None: ...
        def call_known(self, atom: Known, call: Call) -> Value: ...
        def execute_now(self, unit: Unit) -> None: ...
        def leak(self, value: Value, flow: Flow, start: int, end: int) -> None: ...

    def __init__(self, lowered: Lowered, catalogue: Catalogue, *, steps: int, strict: bool) -> None:
        self.lowered = lowered
        self.catalogue = catalogue
        self.strict = strict
        self.budget = steps
        self.steps = 0
        self.values: list[Value] = [BOTTOM] * lowered.registers
        for register, value in lowered.constants.items():
            self.values[register] = value
        self.readers: dict[int, Readers] = {}
        self.growth: dict[int, int] = {}
        self.queue: deque[Unit] = deque()
        self.unit: Unit = lowered.units[0]
        self.reader: Reader = self.unit  # who reads what is read now
        self.rerunning = False  # whether the unit has run before
        self.places: dict[
            int, tuple[Unit, int]
        ] = {}  # of instructions that have run, by the register they write
        self.fed: dict[int, Unit] = {}  # parameters, and the units whose instructions have them as operands
        self.objects: dict[tuple[int, str, str, int], HeapObject] = {}
        self.version = 0  # counts the changes that other code may see
        self.local: frozenset[int] = frozenset()  # registers of the calls that are being inlined
        self.loaded: set[int] = set()  # those that the innermost of them has read in this round
        self.settled = True  # whether none of those has changed since
        self.context = 0  # which inlined call allocates
        self.uses: dict[tuple[str, int, int, int], Use] = {}
        self.origins: dict[Atom, tuple[Step, ...]] = {}
        self.thrown = self._extra_register()
        self.given = self._extra_register()  # texts that objects of the host were given
        self.pending_escapes: list[HeapObject] = []
        self.bindings: Mapping[str, Value] = {}
        self.modules: Mapping[str, Value] = {}  # what names mean that neither the payload nor the sink binds
        # What the sink calls the payload's value with, and on, and what further arguments would be; a body's own are
        # ``arguments_given``.
        self.parameters: tuple[Value, ...] | None = None
        self.receiver, self.rest = V_UNDEFINED, V_DATA
        self.arguments_given: Value = BOTTOM
        self.constructors: set[int] = set()  # registers of reads by the name `constructor`
        self.active: list[Unit] = []  # the calls that are being inlined
        self.revived: set[int] = set()
        self.implicit: set[tuple[HeapObject, HeapObject]] = (
            set()
        )  # objects, and which of their methods ran on them
        self._initialising: set[tuple[HeapObject, Value, tuple[Value, ...]]] = (
            set()
        )  # `super(…)` that is running
        self._converted_objects: set[HeapObject] = set()
        # What an object gave as a primitive to a reader, and the version at which it did: as long as that stands, so
        # does the result, and what the conversion calls has been called.
        self._conversions: dict[tuple[Reader, HeapObject, str, int], tuple[int, Value]] = {}
        self.polluted: list[tuple[int, int]] = []  # writes through what an outside key selects
        self.selecting: set[tuple[int, int]] = set()  # where those reads are
        self.checked: frozenset[tuple[int, int]] = frozenset()  # those whose key turned out to be checked
        self.cleared: frozenset[tuple[int, int]] = frozenset()  # the same, known before the run
        self.clicked: set[tuple[int, int]] = set()  # items of an application's menu
        # Where the payload checks a key, and which argument that is, counted from the last one.
        self.key_checks: dict[tuple[int, int], int] = {}
        self.patches = HeapObject("object", -2)  # what the payload put in place of standard functions
        self.methods = HeapObject("object", -3)  # the names of those that have escaped by their prototypes
        self.global_object = HeapObject("object", -1)
        self.env_names: frozenset[str] = frozenset()
        self.process_reads: frozenset[str] = frozenset()

    def release(self) -> None:
        """Take the analysis apart when all is told, so that it is freed at once.

        Its parts hold one another. What is left to the collector makes it run twice as often, and look through it: that
        was a tenth of the whole.
        """
        for target in (*self.objects.values(), self.patches, self.global_object):
            target.release()
        for unit in self.lowered.units:
            unit.release()
        vars(self).clear()

    def _extra_register(self) -> int:
        self.values.append(BOTTOM)
        return len(self.values) - 1

    def spend(self, steps: int = 1) -> None:
        """Count work; raise AnalysisLimitError past the budget."""
        self.steps += steps
        if self.steps > self.budget:
            raise AnalysisLimitError(self.budget)

    def enqueue(self, unit: Unit) -> None:
        """Have all of a unit run (again)."""
        unit.dirty[:] = b"\x01" * len(unit.code)
        self._queue(unit)

    def _queue(self, unit: Unit) -> None:
        if not unit.queued:
            unit.queued = True
            self.queue.append(unit)

    def wake(self, readers: Readers) -> None:
        """Have the readers run again; each asks again if it still reads this."""
        self.spend(len(readers) >> 4)
        for reader in readers:
            if type(reader) is int:
                unit, index = self.places[reader]
                unit.dirty[index] = 1
                self._queue(unit)
            elif isinstance(reader, Outcome):
                reader.stands = False
                self.wake(reader.readers)
            elif isinstance(reader, HeapObject):
                self.pending_escapes.append(reader)
            elif not isinstance(reader, int):
                self.enqueue(reader)
        readers.clear()

    def feed(self, unit: Unit, register: int) -> None:
        """Have those instructions of a unit run again that have a register as an operand."""
        if unit.executed:  # else all of it will run
            for index in self.users_in(unit).get(register, ()):
                unit.dirty[index] = 1
                self._queue(unit)

    @staticmethod
    def users_in(unit: Unit) -> dict[int, list[int]]:
        """Return the instructions of a unit by the registers that they have as operands."""
        if unit.users is None:
            users: dict[int, list[int]] = {}
            for index, instruction in enumerate(unit.code):
                if instruction[0] is _LOAD:
                    continue  # it reads a variable
                for register in operands(instruction):
                    if register in users:
                        users[register].append(index)
                    else:
                        users[register] = [index]
            unit.users = users
        return unit.users

    def read(self, register: int) -> Value:
        """Return a variable's value; the current instruction runs again when it changes."""
        if register in self.local:
            self.loaded.add(register)
            return self.values[register]
        readers = self.readers.get(register)
        if readers is None:
            readers = self.readers[register] = Readers()
        readers[self.reader] = None
        return self.values[register]

    def origin(self, atom: Atom, parent: Atom | None, note: str, start: int, end: int) -> None:
        """Remember how an atom first came about."""
        if atom not in self.origins:
            before = self.origins.get(parent, ()) if parent is not None else ()
            self.origins[atom] = (*before, Step(note, start, end))[-8:]

    def report(
        self, construct: str, rank: int, start: int, end: int, atom: Atom | None = None, note: str = ""
    ) -> None:
        """Record a use."""
        if construct.startswith("process.") and construct[8:] not in process_member.CAPABILITIES:
            rank += 1  # a name put together in a loop passes through names that mean nothing
        key = (construct, rank, start, end)
        trace = self.origins.get(atom, ()) if atom is not None else ()
        if note:
            trace = (*trace, Step(note, start, end))
        known = self.uses.get(key)
        # Of several ways to one use, the one that says most is told, in every process: a set has no order.
        if known is None or (-len(trace), _notes(trace)) < (-len(known.trace), _notes(known.trace)):
            self.uses[key] = Use(construct, rank, start, end, trace)


def _notes(trace: tuple[Step, ...]) -> list[tuple[int, str]]:
    return [(step.start, step.note) for step in trace]
