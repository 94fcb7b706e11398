"""Abstract objects: one per place in the payload that makes one (guard.md §2, carriers)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from evalward.guard.domain.values import BOTTOM, Value, join

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Unit

MAX_ITEMS = 4_096


Reader: TypeAlias = Union[int, "Outcome", "Unit", "HeapObject"]
"""What to run again when something changes.

An instruction by the register it writes, an inlined call, a whole unit, or what the host does with an object.
"""


class Readers(dict[Reader, None]):
    """Who has read something, in the order in which they did: the order of runs must not depend on addresses."""

    def add(self, reader: Reader) -> None:
        """Add a reader."""
        self[reader] = None


class Outcome:
    """What a call gave that was run with its own arguments; it stands as long as nothing changes that the call read.

    ``readers`` are who went on with it.
    """

    __slots__ = ("context", "readers", "result", "stands")

    def __init__(self, context: int) -> None:
        self.context = context
        self.result: Value = BOTTOM
        self.stands = False
        self.readers = Readers()


class HeapObject:
    """Everything that one allocation site may make, joined.

    ``kind`` is ``object``, ``array``, ``function``, ``class``, ``arguments`` or the container that the native
    functions know (``promise``, ``map``, ``set``, ``generator``, ``iterator``, ``regexp``, ``proxy`` and so on).
    ``properties`` holds named properties, ``items`` the elements by index as long as they are known by index, and
    ``elements`` the join of every element or property that was written by an unknown key, or of a container's
    contents. ``exact`` says that ``items`` are the elements, all of them and in this order. ``uncertain`` are names
    that may be absent when read. ``prototype`` is BOTTOM for the built-in prototype of the kind. ``readers`` are
    what to run again when the object changes. ``value`` holds the object and nothing else.
    """

    __slots__ = (
        "bound",
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

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.serial = 0
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
        self.handed = False  # to code of others, which may copy what is in it
        self.holders: Value = BOTTOM  # what a method is called on that has escaped by its prototype alone
        self.unit: Unit | None = None
        self.home: HeapObject | None = None
        self.bound: tuple[Value, tuple[Value, ...]] | None = None
        self.growth = 0
        self.readers = Readers()
        self.inside: Value | None = None  # what `contents` and `everything` give, once asked
        self.whole: Value | None = None
        self.value: Value = frozenset((self,))

    def __repr__(self) -> str:
        return f"<{self.kind}@{self.start}>"

    def release(self) -> None:
        """Let go of all other objects."""
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
        """Return the join of all that an unknown key or an iteration may find in the object itself."""
        if self.inside is None:
            self.inside = self.elements
            for item in self.items:
                self.inside = join(self.inside, item)
        return self.inside

    def everything(self) -> Value:
        """Return the join of all that any key may find in the object itself, accessors' results aside."""
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
