"""Changes of registers and objects: joins within bounds, and who runs again for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    ACTIVE,
    BOTTOM,
    MAX_HOSTS,
    MAX_OBJECTS,
    U1,
    V_UNDEFINED,
    Known,
    Unknown,
    Value,
    counted,
    join,
    of,
    widened,
)
from evalward.guard.interpret.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.values import Atom

_COSTLY = 4  # atoms, from which on their number counts as steps
MAX_GROWTH = 6
MAX_OBJECT_GROWTH = 24
MAX_COUNTING = 3  # what goes on growing by numbers alone is a count or a sum, and will be any number


class Changes(State):
    """What is written, and what that wakes."""

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
        if force or len(value) > MAX_HOSTS or ACTIVE in value:
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
        if not target.escaped or target.holders:
            target.escaped, target.holders = True, BOTTOM
            self.changed(target)

    def escape_method(self, function: HeapObject, prototype: HeapObject) -> None:
        """Note that unmodelled code may call a function as a method of what inherits from a prototype."""
        for name, value in prototype.properties.items():
            if function in value:
                self.put(self.methods, name, V_UNDEFINED)
        receiver = self.allocate("object", prototype.start, "receiver")
        receiver.escaped = True
        made = (
            self.objects.get((atom.start, "object", "instance", 0))
            for atom in prototype.owners
            if isinstance(atom, HeapObject)
        )
        self.put_prototype(receiver, of(prototype, *(instance for instance in made if instance is not None)))
        if not function.escaped or (function.holders and receiver not in function.holders):
            function.escaped, function.holders = True, function.holders | {receiver}
            self.changed(function)

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
        if value <= old:
            return
        new = self._grown(target, old, value)
        if new != old:
            target.properties[name] = new
            target.holds(old, new, named=True)
            if name == "prototype" and target.callable:
                for atom in new:
                    if isinstance(atom, HeapObject):
                        atom.owners |= {target}
            elif name == "constructor" and target.kind == "object" and not target.owners:
                self.put(self.patches, "@@constructor", value)
            self.changed(target)

    def put_element(self, target: HeapObject, value: Value) -> None:
        """Join a value into what an unknown key, an index or an iteration finds."""
        if value <= target.elements:
            return
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
        if value <= target.items[index]:
            return
        new = self._grown(target, target.items[index], value)
        if new != target.items[index]:
            target.holds(target.items[index], new)
            target.items[index] = new
            self.changed(target)

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

    def expect_proxies(self) -> None:
        """Note that any unknown object may be a proxy of the payload's, which lists what keys it likes."""
        self.put(self.patches, "@@proxies", V_UNDEFINED)

    def expect_removals(self) -> None:
        """Note that functions of the language may be missing: the payload deletes members of what is not its own."""
        self.put(self.patches, "@@removed", V_UNDEFINED)

    def expect_calls(self) -> None:
        """Note that a function may have a ``call`` or ``apply`` of its own, put there by way of what is not known."""
        self.put(self.patches, "@@calls", V_UNDEFINED)

    def expect_receivers(self) -> None:
        """Note that methods may be called on what has none of them: something unknown is, that may be one."""
        self.put(self.patches, "@@receivers", V_UNDEFINED)

    def expect_constructors(self) -> None:
        """Note that an object of the host may have got a ``constructor`` that the payload read somewhere else."""
        self.put(self.patches, "@@constructors", V_UNDEFINED)

    def expect_deletions(self) -> None:
        """Note that an object may have lost a ``constructor`` of its own, and so inherit one."""
        self.put(self.patches, "@@deleted", V_UNDEFINED)

    def expect_functions(self, value: Value) -> None:
        """Note that data may hold functions when the payload puts one there."""
        if any(atom.callable if isinstance(atom, HeapObject) else isinstance(atom, Known) for atom in value):
            self.put(self.patches, "@@stored", V_UNDEFINED)
