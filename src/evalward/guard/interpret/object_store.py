"""The objects of a run, one per allocation site, and their properties (guard.md §2, carriers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    NEVER_CALLABLE,
    UNKNOWN,
    V_UNDEFINED,
    Host,
    Known,
    Unknown,
    Value,
    of,
)
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.slots import (
    CONSTRUCTOR,
    CUSTOM_ELEMENTS,
    FIXED,
    GROWN,
    LENT_BUILTINS,
    LENT_FUNCTIONS,
    LENT_OBJECTS,
    MAY_BE_PROXIES,
    MAY_BE_REMOVED,
    MAY_HAND_ON_RESULTS,
    MAY_HAVE_ANY_RECEIVER,
    MAY_HAVE_DELETED_CONSTRUCTOR,
    MAY_HAVE_FOREIGN_CONSTRUCTOR,
    MAY_HAVE_OWN_CALL,
    MAY_HOLD_FUNCTIONS,
    ON_ANY_HOST,
    ON_PERHAPS_A_HOST,
    SETTER_ON_ANY_HOST,
    SYMBOL_ITERATOR,
)
from evalward.guard.domain.values import counted, join
from evalward.guard.interpret.dataflow import MAX_COUNTING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.dataflow import Dataflow

MAX_OBJECT_GROWTH = 24
_ARGUMENTS = (0, "array", "string of process.argv", 0)


def may_be_host(atom: Atom) -> bool:
    """Whether an atom stands for an object that the host made."""
    return type(atom) is Known or type(atom) is Host or (type(atom) is Unknown and atom not in NEVER_CALLABLE)


class ObjectStore:
    """The heap objects of a run. Each operation joins, and wakes the readers of an object that it changes.

    ``patches`` holds what the payload put in place of standard functions, and the doubts about the standard library
    that its code raises (``expect_…``). ``on_hosts`` holds what it put on objects of the host, by
    name: such an object has more than one path. ``methods`` holds the names of the functions that escape by their
    prototypes. ``private`` holds the private members that a class gave to an object that a constructor returned
    (ECMA-262 §7.3.33). ``escaped_functions`` is the register of the functions that other code may have
    got hold of.
    """

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self.objects: dict[tuple[int, str, str, int], HeapObject] = {}
        self.patches = HeapObject("object", -2)
        self.methods = HeapObject("object", -3)
        self.private = HeapObject("object", -5)
        self.on_hosts: dict[str, HeapObject] = {}
        self.global_object = HeapObject("object", -1)
        self.escaped_functions = dataflow.add_register()

    def release(self) -> None:
        """Break the reference cycles of the objects, so that reference counting frees them at once."""
        for target in (
            *self.objects.values(),
            *self.on_hosts.values(),
            self.patches,
            self.private,
            self.global_object,
        ):
            target.release()

    def escape_method(self, function: HeapObject, prototype: HeapObject) -> None:
        """Note that unmodelled code may call a function as a method of objects that inherit from a prototype."""
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
            self._dataflow.changed(function)

    def lend(self, atom: Atom) -> None:
        """Note that other code gets hold of an object of the host, and may give it back."""
        self.put(self.patches, LENT_OBJECTS, of(atom))

    def lend_function(self, atom: Atom) -> None:
        """Note that other code gets hold of a built-in function, perhaps a bound one, and may give it back."""
        self.put(self.patches, LENT_FUNCTIONS, of(atom))

    def lent_functions(self) -> Value:
        """Return the built-in functions that an unknown callee may be; what reads them runs again with more."""
        self.patches.readers[self._dataflow.reader] = None
        return self.patches.properties.get(LENT_FUNCTIONS, BOTTOM)

    def lend_builtin(self, atom: Atom) -> None:
        """Note that other code gets hold of an object that all code shares, and may give it back to be changed."""
        self.put(self._on_hosts(LENT_BUILTINS), LENT_BUILTINS, of(atom))

    def lent_builtins(self) -> Value:
        """Return the shared objects that an unknown one may be; what reads them runs again with more."""
        return self._on_hosts(LENT_BUILTINS).properties.get(LENT_BUILTINS, BOTTOM)

    def hand_to_host(self, made: Value) -> None:
        """Note that the host may give back these instances of classes that extend its own, with all they inherit."""
        self.expect_elements(made)
        for atom in made:
            if isinstance(atom, HeapObject):
                given = self.allocate("object", atom.start, "of the host")
                self.put_prototype(given, of(atom))
                if not given.escaped:
                    given.escaped = True
                    self._dataflow.changed(given)

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
                self.put(self.patches, CONSTRUCTOR, value)
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
            new = self._dataflow.bounded(new, force=target.growth > MAX_OBJECT_GROWTH)
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

    def expect_proxies(self) -> None:
        """Note that any unknown object may be a proxy of the payload, which may list any keys."""
        self.put(self.patches, MAY_BE_PROXIES, V_UNDEFINED)

    def expect_removals(self) -> None:
        """Note that built-in functions may be missing: the payload deletes members of objects that it did not make."""
        self.put(self.patches, MAY_BE_REMOVED, V_UNDEFINED)

    def expect_calls(self) -> None:
        """Note that a write to an unknown object may have given a function its own ``call`` or ``apply``."""
        self.put(self.patches, MAY_HAVE_OWN_CALL, V_UNDEFINED)

    def expect_receivers(self) -> None:
        """Note that an unknown value, which may be a method, is called on an object that may not have that method."""
        self.put(self.patches, MAY_HAVE_ANY_RECEIVER, V_UNDEFINED)

    def expect_constructors(self) -> None:
        """Note that an object of the host may have got a ``constructor`` that the payload read somewhere else."""
        self.put(self.patches, MAY_HAVE_FOREIGN_CONSTRUCTOR, V_UNDEFINED)

    def expect_deletions(self) -> None:
        """Note that an object may have lost a ``constructor`` of its own, and so inherit one."""
        self.put(self.patches, MAY_HAVE_DELETED_CONSTRUCTOR, V_UNDEFINED)

    def expect_results(self) -> None:
        """Note that a generator hands on results of an iterator of the payload, which are no plain objects."""
        self.put(self.patches, MAY_HAND_ON_RESULTS, V_UNDEFINED)

    def expect_functions(self, value: Value) -> None:
        """Note that data may hold functions when the payload puts one there."""
        if any(atom.callable if isinstance(atom, HeapObject) else isinstance(atom, Known) for atom in value):
            self.put(self.patches, MAY_HOLD_FUNCTIONS, V_UNDEFINED)

    def expect_elements(self, made: Value) -> None:
        """Note that an element of the page may be one of these instances of the payload's own class."""
        elements = frozenset(atom for atom in made if type(atom) is not Known)
        self.put(self._on_hosts(CUSTOM_ELEMENTS), CUSTOM_ELEMENTS, elements)

    def define_on_hosts(self, atom: Atom, name: str, value: Value, setters: Value) -> None:
        """Note a property that the payload defined on an object of the host: any other path may lead there, too."""
        self.put(self._on_hosts(name), ON_PERHAPS_A_HOST if atom is UNKNOWN else ON_ANY_HOST, value)
        if setters:
            self.put(self._on_hosts(name), SETTER_ON_ANY_HOST, setters)

    def defined_on(self, atom: Atom, name: str) -> Value:
        """Return what the payload defined under a name on some object of the host, which this one may be."""
        if not may_be_host(atom):
            return BOTTOM
        defined = self._on_hosts(name).properties
        found = defined.get(ON_ANY_HOST, BOTTOM) if defined else BOTTOM
        return found | defined.get(ON_PERHAPS_A_HOST, BOTTOM) if defined and atom is not UNKNOWN else found

    def setters_on(self, atom: Atom, name: str) -> Value:
        """Return the setters that the payload defined under a name on some object of the host."""
        return (
            self._on_hosts(name).properties.get(SETTER_ON_ANY_HOST, BOTTOM) if may_be_host(atom) else BOTTOM
        )

    def custom_elements(self, atom: Atom) -> Value:
        """Return the instances of the payload's classes of elements if an object of the host may be one of them."""
        is_element = type(atom) is not Known or (atom.path == "Element" and not atom.by_constructor)
        if not is_element or not may_be_host(atom):
            return BOTTOM
        return self._on_hosts(CUSTOM_ELEMENTS).properties.get(CUSTOM_ELEMENTS, BOTTOM)

    def _on_hosts(self, name: str) -> HeapObject:
        """Return the object that holds what was put under a name: a change wakes the readers of that name only."""
        made = self.on_hosts.get(name)
        if made is None:
            made = self.on_hosts[name] = HeapObject("object", -4, -1 - len(self.on_hosts))
        made.readers[self._dataflow.reader] = None
        return made

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
