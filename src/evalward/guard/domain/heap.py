"""The heap of one run: abstract objects, activations of units, and the outcomes of calls (guard.md §2, carriers).

An object is one allocation site of the payload; a function object refers to its activation, which holds objects. These
types are mutually recursive, so they stand in one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from evalward.guard.domain.atoms import BOTTOM, ObjectAtom, Value
from evalward.guard.domain.slots import PROXY_TARGET
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Unit

MAX_ITEMS = 4_096


Reader: TypeAlias = Union[int, "Outcome", "Activation", "HeapObject"]
"""What to run again when something changes.

An instruction by the register it writes, an inlined call, a whole unit, or the effects of the host on an object.
"""


class Readers(dict[Reader, None]):
    """Readers in the order of their reads: the order of runs must not depend on addresses."""

    def add(self, reader: Reader) -> None:
        """Add a reader."""
        self[reader] = None


class Outcome:
    """The result of an inlined call; it is valid until something changes that the call read.

    ``readers`` are the instructions and calls that used it. ``silent`` says that an instruction of it has no result.
    """

    __slots__ = ("context", "readers", "result", "silent", "stands")

    def __init__(self, context: int) -> None:
        self.context = context
        self.result: Value = BOTTOM
        self.stands = False
        self.silent = False
        self.readers = Readers()


class Activation:
    """The state of one unit in one run.

    The unit is immutable and may be shared with other runs. Its registers and facts are copied here, because every
    call reads them. ``receivers`` are the objects that it was called on, if it uses them. ``inlinable``,
    ``variables`` (the registers that an inlined call has for itself), ``stores``, ``runs``, ``contexts``,
    ``unsettled`` (contexts that are joined because they did not settle) and ``outcomes`` (by arguments) belong to
    inlined calls. ``ran`` says that it was called or run, ``executed`` that it ran on its own registers. ``dirty``
    marks the instructions that are to run (again), one byte each; ``users`` are the instructions by their operands.
    """

    __slots__ = (
        "arguments",
        "arrow",
        "asynchronous",
        "called",
        "calls_helper",
        "code",
        "contexts",
        "dirty",
        "executed",
        "function",
        "generator",
        "helper",
        "index",
        "inlinable",
        "method",
        "name",
        "new_target",
        "outcomes",
        "parameters",
        "queued",
        "ran",
        "receivers",
        "rest",
        "result",
        "runs",
        "sent",
        "start",
        "stores",
        "strict",
        "this",
        "unsettled",
        "users",
        "uses_arguments",
        "uses_this",
        "variables",
        "yielded",
    )

    def __init__(self, unit: Unit) -> None:
        self.index = unit.index
        self.name = unit.name
        self.start = unit.start
        self.code = unit.code
        self.parameters = unit.parameters
        self.rest = unit.rest
        self.this = unit.this
        self.result = unit.result
        self.sent = unit.sent
        self.yielded = unit.yielded
        self.new_target = unit.new_target
        self.arrow = unit.arrow
        self.asynchronous = unit.asynchronous
        self.generator = unit.generator
        self.strict = unit.strict
        self.method = unit.method
        self.helper = unit.helper
        self.calls_helper = unit.calls_helper
        self.called = unit.called
        self.uses_arguments = unit.uses_arguments
        self.uses_this = unit.uses_this
        self.arguments: HeapObject | None = None
        self.function: HeapObject | None = None
        self.receivers: Value = BOTTOM
        self.inlinable: bool | None = None
        self.variables: frozenset[int] = frozenset()
        self.stores = False
        self.runs = 0
        self.contexts: set[int] = set()
        self.unsettled: set[int] = set()
        self.outcomes: dict[tuple[int, Value, tuple[Value, ...]], Outcome] = {}
        self.queued = False
        self.ran = unit.only_called
        self.executed = False
        self.dirty = bytearray()
        self.users: dict[int, list[int]] | None = None

    def __repr__(self) -> str:
        return f"<unit {self.name or 'anonymous'}@{self.start}>"

    def release(self) -> None:
        """Drop the references to objects and other activations."""
        self.function = self.arguments = None
        for outcome in self.outcomes.values():
            outcome.readers.clear()
        self.outcomes = {}


class HeapObject(ObjectAtom):
    """The join of all objects that one allocation site may make.

    ``kind`` is ``object``, ``array``, ``function``, ``class``, ``arguments`` or the container that the native
    functions know (``promise``, ``map``, ``set``, ``generator``, ``iterator``, ``regexp``, ``proxy`` and so on).
    ``properties`` holds named properties, ``items`` the elements by index as long as they are known by index, and
    ``elements`` the join of every element or property that was written by an unknown key, or of a container's
    contents. ``exact`` says that ``items`` are the elements, all of them and in this order. ``uncertain`` are names
    that may be absent when read. ``prototype`` is BOTTOM for the built-in prototype of the kind. ``readers`` are
    what to run again when the object changes. ``value`` holds the object and nothing else. The hash is ``serial``, the
    number of the allocation site in this run: the order of sets, and with it what is found before the budget of steps
    is used up, must not depend on addresses.
    """

    __slots__ = (
        "bound",
        "called",
        "elements",
        "escaped",
        "exact",
        "extensible",
        "getters",
        "growth",
        "handed",
        "holders",
        "home",
        "inside",
        "items",
        "kind",
        "owners",
        "properties",
        "prototype",
        "readers",
        "serial",
        "setters",
        "start",
        "uncertain",
        "unit",
        "value",
        "whole",
    )

    def __init__(self, kind: str, start: int, serial: int = 0) -> None:
        self.kind = kind
        self.serial = serial
        self.start = start
        self.properties: dict[str, Value] = {}
        self.getters: dict[str, Value] = {}
        self.setters: dict[str, Value] = {}
        self.uncertain: set[str] = set()
        self.items: list[Value] = []
        self.elements: Value = BOTTOM
        self.exact = kind == "array"
        self.extensible = False  # a property was added by an unknown key
        self.prototype: Value = BOTTOM
        self.escaped = False
        self.owners: Value = BOTTOM  # the functions whose `prototype` it is
        self.handed = False  # to other code, which may copy its contents
        self.holders: Value = BOTTOM  # receivers of a method that escaped only by its prototype
        self.unit: Activation | None = None
        self.home: HeapObject | None = None
        self.bound: tuple[Value, tuple[Value, ...]] | None = None
        self.called = False  # known of bound functions alone
        self.growth = 0
        self.readers = Readers()
        self.inside: Value | None = None  # the cached results of `contents` and `everything`
        self.whole: Value | None = None
        self.value: Value = frozenset((self,))

    def __repr__(self) -> str:
        return f"<{self.kind}@{self.start}>"

    def __hash__(self) -> int:
        return self.serial

    def release(self) -> None:
        """Drop the references to all other objects."""
        self.properties = self.getters = self.setters = {}
        self.value = self.elements = self.prototype = BOTTOM
        self.items = []
        self.unit = self.home = self.bound = self.inside = self.whole = None
        self.readers.clear()

    @property
    def callable(self) -> bool:
        """Whether the object is certainly a function."""
        return self.kind in {"function", "class", "native", "resolver", "rejecter"}

    def contents(self) -> Value:
        """Return the join of all own values that an unknown key or an iteration may read."""
        if self.inside is None:
            self.inside = self.elements
            for item in self.items:
                self.inside = join(self.inside, item)
        return self.inside

    def proxied(self) -> Value:
        """Return the targets of a proxy without the proxy: a variable that is wrapped again holds both."""
        return frozenset(a for a in self.properties.get(PROXY_TARGET, BOTTOM) if a is not self)

    def proxies(self) -> tuple[list[HeapObject], Value]:
        """Return the proxies that a use of this one reaches, itself first, and what they wrap that is no proxy.

        Proxies that wrap each other, as one variable in a loop does, are visited once.
        """
        reached, seen, wrapped = [self], {self}, set()
        for current in reached:
            for atom in current.proxied():
                if not (isinstance(atom, HeapObject) and atom.kind == "proxy"):
                    wrapped.add(atom)
                elif atom not in seen:
                    seen.add(atom)
                    reached.append(atom)
        return reached, frozenset(wrapped)

    def everything(self) -> Value:
        """Return the join of all own values that any key may read, without results of accessors."""
        if self.whole is None:
            self.whole = self.contents()
            for value in self.properties.values():
                self.whole = join(self.whole, value)
        return self.whole

    def holds(self, old: Value, new: Value, *, named: bool = False) -> None:
        """Note that a property, or an element when it is not ``named``, holds another value."""
        if not old <= new:  # widened
            self.inside = self.whole = None
            return
        if not named and self.inside is not None:
            self.inside = join(self.inside, new)
        if self.whole is not None:
            self.whole = join(self.whole, new)
