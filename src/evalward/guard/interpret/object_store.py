"""The heap objects of a run, one per allocation site, and the operations that change them (guard.md §2, carriers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value, of
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.slots import CONSTRUCTOR, FIXED, GROWN, SYMBOL_ITERATOR
from evalward.guard.domain.values import join
from evalward.guard.interpret.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.interpret.dataflow import Dataflow

_ARGUMENTS = (0, "array", "string of process.argv", 0)


class ObjectStore:
    """The heap objects of a run. Each operation joins, and wakes the readers of an object that it changes.

    ``patches`` holds what the payload put in place of standard functions, and the doubts about the standard library
    that its code raises (``Exposure.expect_…``). ``private`` holds the private members that a class gave to an object
    that a constructor returned (ECMA-262 §7.3.33).
    """

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self.objects: dict[tuple[int, str, str, int], HeapObject] = {}
        self.patches = Patches(dataflow)
        self.private = HeapObject("object", -5)

    def release(self) -> None:
        """Break the reference cycles of the objects, so that reference counting frees them at once."""
        self.patches.release()
        for target in (*self.objects.values(), self.private):
            target.release()

    def extend(self, target: HeapObject) -> None:
        """Note that an object has properties whose names are not known."""
        if not target.extensible:
            target.extensible = True
            self._dataflow.changed(target)

    def allocate(self, kind: str, start: int, tag: str = "") -> HeapObject:
        """Return the object of an allocation site; ``tag`` distinguishes objects of one site."""
        # Only arrays are distinguished by their call: for objects, too, it took six times as long and blocked as many.
        key = (start, kind, tag, self._dataflow.context if kind == "array" else 0)
        target = self.objects.get(key)
        if target is None:
            target = self.objects[key] = HeapObject(kind, start, len(self.objects) + 1)
        return target

    def is_of_process(self, target: object) -> bool:
        """Whether an object is the list of arguments that every read of ``process.argv`` gives."""
        return target is self.objects.get(_ARGUMENTS)

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
                self.patches.put(CONSTRUCTOR, value)
            self._dataflow.changed(target)

    def put_element(self, target: HeapObject, value: Value) -> None:
        """Join a value into the elements: an unknown key, an index or an iteration reads them."""
        if value <= target.elements:
            return
        new = self._grown(target, target.elements, value)
        if new != target.elements:
            target.holds(target.elements, new)
            target.elements = new
            self._dataflow.changed(target)

    def _grown(self, target: HeapObject, old: Value, value: Value) -> Value:
        """Return a join within bounds; an object that keeps growing has its constants widened."""
        new = join(old, value)
        if old and new != old:
            target.growth += 1
            new = self._dataflow.grown(old, new, target.growth)
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
            self._dataflow.changed(target)

    def doubt(self, target: HeapObject, names: Iterable[str]) -> None:
        """Note that an object may lack properties of these names."""
        before = len(target.uncertain)
        target.uncertain.update(names)
        if len(target.uncertain) != before:
            self._dataflow.changed(target)

    def grow(self, target: HeapObject) -> None:
        """Note that a write adds an element to an array, if that is extensible then."""
        target.uncertain.add(GROWN)
        if FIXED in target.uncertain:
            self.inexact(target)

    def fix(self, target: HeapObject) -> None:
        """Note that an object is not extensible from some time on: later writes add nothing."""
        target.uncertain.add(FIXED)
        if GROWN in target.uncertain:
            self.inexact(target)

    def settle_in(self, function: HeapObject, home: HeapObject) -> None:
        """Note the object whose prototype is ``super`` in a method."""
        if function.home is not home:
            function.home = home
            self._dataflow.changed(function)

    def put_accessor(self, target: HeapObject, name: str, value: Value, *, setter: bool = False) -> None:
        """Join a function into a property's getter or setter."""
        table = target.setters if setter else target.getters
        new = join(table.get(name, BOTTOM), value)
        if new != table.get(name, BOTTOM):
            table[name] = new
            self._dataflow.changed(target)

    def put_prototype(self, target: HeapObject, value: Value) -> None:
        """Join a value into an object's prototype."""
        new = join(target.prototype, value)
        if new != target.prototype:
            target.prototype = new
            self._dataflow.changed(target)

    def inexact(self, target: HeapObject) -> None:
        """Note that the order and number of an array's elements are no longer known."""
        if target.exact:
            target.exact = False
            self._dataflow.changed(target)

    def items_of(self, value: Value) -> list[Value] | None:
        """Return the items of an exact array if that is all the value holds."""
        if len(value) != 1:
            return None
        (atom,) = value
        if (
            isinstance(atom, HeapObject)
            and atom.kind == "array"
            and not (atom.escaped or atom.getters or atom.prototype)
            and SYMBOL_ITERATOR not in atom.properties
        ):
            atom.readers[self._dataflow.reader] = None
            if atom.exact and len(atom.items) <= MAX_ITEMS:
                return atom.items
        return None

    def iterated_items(self, value: Value) -> list[Value] | None:
        """Return the items that iterating an exact array or a string constant gives."""
        if len(value) == 1:
            (atom,) = value
            if type(atom) is str and len(atom) <= MAX_ITEMS:
                return [of(character) for character in atom]
        return self.items_of(value)
