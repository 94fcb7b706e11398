"""The interpreter's state: registers, dependencies, allocation, findings, budget."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from evalward.guard.resolver.heap import HeapObject, Outcome, Readers
from evalward.guard.resolver.ir import operands
from evalward.guard.resolver.uses import PROCESS_MEMBERS, Step, Use
from evalward.guard.resolver.values import (
    BOTTOM,
    MAX_OBJECTS,
    U1,
    V_UNDEFINED,
    Known,
    Unknown,
    Value,
    counted,
    join,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.resolver.heap import Reader
    from evalward.guard.resolver.ir import Instruction, Lowered, Unit
    from evalward.guard.resolver.judgement import Flow
    from evalward.guard.resolver.values import Atom

MAX_GROWTH = 6
MAX_OBJECT_GROWTH = 24
MAX_COUNTING = 3  # what goes on growing by numbers alone is a count or a sum, and will be any number


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
        def instance_of(self, path: str, start: int) -> Value: ...
        def enter(
            self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value = BOTTOM
        ) -> Value: ...
        def sloppy_this(self, this: Value) -> Value: ...
        def global_value(self, name: str) -> Value: ...
        def enumerable_keys(self, atom: Atom) -> Value: ...
        def copy_properties(self, target: HeapObject, source: Value, start: int, end: int) -> None: ...
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
        self.parameter: Value | None = None  # what the sink calls the payload's value with
        self.constructors: set[int] = set()  # registers of reads by the name `constructor`
        self.active: list[Unit] = []  # the calls that are being inlined
        self.revived: set[int] = set()
        self._converted_objects: set[HeapObject] = set()
        # What an object gave as a primitive to a reader, and the version at which it did: as long as that stands, so
        # does the result, and what the conversion calls has been called.
        self._conversions: dict[tuple[Reader, HeapObject, str, int], tuple[int, Value]] = {}
        self.polluted: list[tuple[int, int]] = []  # writes through what an outside key selects
        self.guarded = False  # the payload checks its keys
        self.patches = HeapObject("object", -2)  # what the payload put in place of standard functions
        self.global_object = HeapObject("object", -1)
        self.env_names: frozenset[str] = frozenset()
        self.process_reads: frozenset[str] = frozenset()

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
                for register in operands(instruction):
                    users.setdefault(register, []).append(index)
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

    def write(self, register: int, value: Value) -> None:
        """Join a value into a variable."""
        old = self.values[register]
        if value <= old:
            return
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
        """Return the value within the bounds on constants and objects; what is dropped becomes unknown."""
        value = widened(value, force=force)
        if len(value) <= MAX_OBJECTS:
            return value
        kept: set[Atom] = {U1}
        for target in sorted((a for a in value if isinstance(a, HeapObject)), key=lambda a: a.serial):
            self.escape_object(target)
        for atom in value:
            if isinstance(atom, Unknown) or (isinstance(atom, Known) and atom.label is not None):
                kept.add(atom)
        return frozenset(kept)

    def escape_object(self, target: HeapObject) -> None:
        """Note that unmodelled code may read, write and call the object."""
        if not target.escaped:
            target.escaped = True
            self.changed(target)

    def changed(self, target: HeapObject) -> None:
        """Run again what has read the object."""
        self.version += 1
        if target.escaped and target not in self.pending_escapes[-1:]:
            self.pending_escapes.append(target)
        if target.readers:
            self.wake(target.readers)

    def extend(self, target: HeapObject) -> None:
        """Note that an object has properties whose names are not known."""
        if not target.extensible:
            target.extensible = True
            self.changed(target)

    def allocate(self, kind: str, start: int, tag: str = "") -> HeapObject:
        """Return the object of an allocation site; ``tag`` tells several objects of one site apart."""
        # Only arrays are told apart by their call: objects, too, cost six times as much and blocked no less.
        key = (start, kind, tag, self.context if kind == "array" else 0)
        target = self.objects.get(key)
        if target is None:
            target = self.objects[key] = HeapObject(kind, start)
            target.serial = len(self.objects)
        return target

    def put(self, target: HeapObject, name: str, value: Value) -> None:
        """Join a value into a named property."""
        old = target.properties.get(name, BOTTOM)
        new = self._grown(target, old, value)
        if new != old:
            target.properties[name] = new
            target.holds(old, new, named=True)
            self.changed(target)

    def put_element(self, target: HeapObject, value: Value) -> None:
        """Join a value into what an unknown key, an index or an iteration finds."""
        new = self._grown(target, target.elements, value)
        if new != target.elements:
            target.holds(target.elements, new)
            target.elements = new
            self.changed(target)

    def _grown(self, target: HeapObject, old: Value, value: Value) -> Value:
        """Return a join within bounds; an object that keeps growing has its constants widened."""
        new = join(old, value)
        if old and new != old:
            target.growth += 1
            new = self.bounded(new, force=target.growth > MAX_OBJECT_GROWTH)
            if target.growth > MAX_COUNTING:
                new = counted(old, new)
        return new

    def put_item(self, target: HeapObject, index: int, value: Value) -> None:
        """Join a value into the element at an index; the caller keeps the index within bounds."""
        while len(target.items) <= index:
            target.items.append(BOTTOM)
        new = self._grown(target, target.items[index], value)
        if new != target.items[index]:
            target.holds(target.items[index], new)
            target.items[index] = new
            self.changed(target)

    def expect_proxies(self) -> None:
        """Note that any unknown object may be a proxy of the payload's, which lists what keys it likes."""
        self.put(self.patches, "@@proxies", V_UNDEFINED)

    def expect_removals(self) -> None:
        """Note that functions of the language may be missing: the payload deletes members of what is not its own."""
        self.put(self.patches, "@@removed", V_UNDEFINED)

    def expect_calls(self) -> None:
        """Note that a function may have a ``call`` or ``apply`` of its own, put there by way of what is not known."""
        self.put(self.patches, "@@calls", V_UNDEFINED)

    def expect_deletions(self) -> None:
        """Note that an object may have lost a ``constructor`` of its own, and so inherit one."""
        self.put(self.patches, "@@deleted", V_UNDEFINED)

    def expect_functions(self, value: Value) -> None:
        """Note that data may hold functions when the payload puts one there."""
        if any(atom.callable if isinstance(atom, HeapObject) else isinstance(atom, Known) for atom in value):
            self.put(self.patches, "@@stored", V_UNDEFINED)

    def doubt(self, target: HeapObject, names: Iterable[str]) -> None:
        """Note that an object may lack properties of these names."""
        before = len(target.uncertain)
        target.uncertain.update(names)
        if len(target.uncertain) != before:
            self.changed(target)

    def settle_in(self, function: HeapObject, home: HeapObject) -> None:
        """Note the object whose prototype is ``super`` in a method."""
        if function.home is not home:
            function.home = home
            self.changed(function)

    def put_accessor(self, target: HeapObject, name: str, value: Value, *, setter: bool = False) -> None:
        """Join a function into a property's getter or setter."""
        table = target.setters if setter else target.getters
        new = join(table.get(name, BOTTOM), value)
        if new != table.get(name, BOTTOM):
            table[name] = new
            self.changed(target)

    def put_prototype(self, target: HeapObject, value: Value) -> None:
        """Join a value into what an object inherits from."""
        new = join(target.prototype, value)
        if new != target.prototype:
            target.prototype = new
            self.changed(target)

    def inexact(self, target: HeapObject) -> None:
        """Give up on the order and number of an array's elements."""
        if target.exact:
            target.exact = False
            self.changed(target)

    def origin(self, atom: Atom, parent: Atom | None, note: str, start: int, end: int) -> None:
        """Remember how an atom first came about."""
        if atom not in self.origins:
            before = self.origins.get(parent, ()) if parent is not None else ()
            self.origins[atom] = (*before, Step(note, start, end))[-8:]

    def report(
        self, construct: str, rank: int, start: int, end: int, atom: Atom | None = None, note: str = ""
    ) -> None:
        """Record a use."""
        if construct.startswith("process.") and construct[8:] not in PROCESS_MEMBERS:
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
