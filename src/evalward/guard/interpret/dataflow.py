"""Registers, their readers, and the worklist of the fixpoint.

Values only grow. An instruction that reads a register or an object becomes its reader; a change puts its readers on the
worklist (guard.md §2).
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import ACTIVE_MARKUP, BOTTOM, UNKNOWN, Known, Unknown, Value
from evalward.guard.domain.heap import Activation, HeapObject, Outcome, Readers
from evalward.guard.domain.instructions import Op, operands
from evalward.guard.domain.limit import AnalysisLimitError
from evalward.guard.domain.values import MAX_HOSTS, MAX_OBJECTS, counted, join, widened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.heap import Reader
    from evalward.guard.domain.instructions import Lowered


_LOAD = Op.LOAD
_COSTLY = 4  # number of atoms from which a write costs further steps
MAX_DEPTH = 48  # of calls, constructions and uses of proxies within one another
MAX_GROWTH = 6
MAX_OBJECT_GROWTH = 24  # of what is stored in an object, or under one name of the patches
MAX_COUNTING = 3  # a value that keeps growing by numbers alone is a count or a sum, and becomes any number


class Dataflow:
    """Registers, their readers, the worklist and the step budget.

    ``unit`` and ``reader`` are the code that runs now and the reader that its reads are noted for; ``version`` counts
    the changes that other code may see; ``depth`` is how many calls and uses of proxies are nested, at most
    ``MAX_DEPTH``. ``local``, ``loaded``, ``settled`` and ``context`` describe the inlined call
    that runs now: its registers, those of them that were read in this round, whether none of these has changed since,
    and which call it is.
    """

    def __init__(self, lowered: Lowered, budget: int) -> None:
        self.budget = budget
        self.steps = 0
        self.values: list[Value] = [BOTTOM] * lowered.registers
        for register, value in lowered.constants.items():
            self.values[register] = value
        self.thrown = self.add_register()  # the join of all that the payload throws
        self.readers: dict[int, Readers] = {}
        self.growth: dict[int, int] = {}
        self.units = [Activation(unit) for unit in lowered.units]
        self.queue: deque[Activation] = deque()
        self.pending_escapes: list[HeapObject] = []
        self.unit: Activation = self.units[0]
        self.reader: Reader = self.unit
        self.rerunning = False  # whether the unit has run before
        # Of instructions that have run, by the register they write.
        self.places: dict[int, tuple[Activation, int]] = {}
        self.fed: dict[
            int, Activation
        ] = {}  # parameters, and the units whose instructions have them as operands
        self.version = 0
        self.depth = 0
        self.local: frozenset[int] = frozenset()
        self.loaded: set[int] = set()
        self.settled = True
        self.context = 0

    def add_register(self) -> int:
        """Return a new register that no instruction of the payload writes."""
        self.values.append(BOTTOM)
        return len(self.values) - 1

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count a use of a proxy's target, which may be a proxy; raise AnalysisLimitError past ``MAX_DEPTH``."""
        if self.depth > MAX_DEPTH:
            raise AnalysisLimitError(self.budget)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def spend(self, steps: int = 1) -> None:
        """Count work; raise AnalysisLimitError past the budget."""
        self.steps += steps
        if self.steps > self.budget:
            raise AnalysisLimitError(self.budget)

    def enqueue(self, unit: Activation) -> None:
        """Queue all instructions of a unit."""
        unit.dirty[:] = b"\x01" * len(unit.code)
        self._queue(unit)

    def _queue(self, unit: Activation) -> None:
        if not unit.queued:
            unit.queued = True
            self.queue.append(unit)

    def wake(self, readers: Readers) -> None:
        """Queue the readers; a reader that still reads this registers again."""
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

    def feed(self, unit: Activation, register: int) -> None:
        """Queue the instructions of a unit that have a register as an operand."""
        if unit.executed:  # else all of it will run
            for index in self.users_in(unit).get(register, ()):
                unit.dirty[index] = 1
                self._queue(unit)

    @staticmethod
    def users_in(unit: Activation) -> dict[int, list[int]]:
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

    def observe(self, target: HeapObject) -> None:
        """Note that the code that runs now reads an object: it runs again when the object changes."""
        target.readers[self.reader] = None

    def write(self, register: int, value: Value) -> None:
        """Join a value into a variable."""
        old = self.values[register]
        if value <= old:
            return
        if len(value) >= _COSTLY:
            self.spend(len(value) >> 2)
        if old:
            count = self.growth.get(register, 0) + 1
            self.growth[register] = count
            new = self.bounded(join(old, value), force=count > MAX_GROWTH)
            if count > MAX_COUNTING:
                new = counted(old, new)
            if new == old:
                return
        else:
            new = value
        self.values[register] = new
        if register in self.local:
            if register in self.loaded:
                self.settled = False
            return
        self.version += 1
        readers = self.readers.get(register)
        if readers:
            self.wake(readers)
        unit = self.fed.get(register)
        if unit is not None:
            self.feed(unit, register)

    def bounded(self, value: Value, *, force: bool = False) -> Value:
        """Return a join within the bounds on constants and objects; what is dropped becomes unknown."""
        # A join is within all bounds but these.
        if force or len(value) > MAX_HOSTS or ACTIVE_MARKUP in value:
            value = widened(value, force=force)
        if len(value) <= MAX_OBJECTS:
            return value
        kept: set[Atom] = {UNKNOWN}
        for target in sorted((a for a in value if isinstance(a, HeapObject)), key=lambda a: a.serial):
            self.escape_object(target)
        for atom in value:
            if isinstance(atom, Unknown) or (isinstance(atom, Known) and atom.label is not None):
                kept.add(atom)
        return frozenset(kept)

    def grown(self, old: Value, new: Value, count: int) -> Value:
        """Return a stored value that grows for the ``count``-th time, within bounds: late its constants are widened."""
        new = self.bounded(new, force=count > MAX_OBJECT_GROWTH)
        return counted(old, new) if count > MAX_COUNTING else new

    def escape_object(self, target: HeapObject) -> None:
        """Note that unmodelled code may read, write and call the object."""
        if not target.escaped or target.holders:
            target.escaped, target.holders = True, BOTTOM
            self.changed(target)

    def changed(self, target: HeapObject) -> None:
        """Queue the readers of an object."""
        self.version += 1
        if target.escaped and target not in self.pending_escapes[-1:]:
            self.pending_escapes.append(target)
        if target.readers:
            self.wake(target.readers)
