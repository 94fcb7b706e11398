"""What the host and other code may have got from the payload, and what is no longer certain of built-in objects.

No list names all code that keeps what it is given, and gives it back (guard.md §2, carriers).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    NEVER_CALLABLE,
    UNKNOWN,
    V_ANY_STRING,
    V_UNDEFINED,
    Host,
    Known,
    Unknown,
    Value,
    known,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    CUSTOM_ELEMENTS,
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
    MAY_MAKE_FRAMES,
    MAY_NAME_ELEMENTS,
    ON_ANY_HOST,
    ON_PERHAPS_A_HOST,
    SETTER_ON_ANY_HOST,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.object_store import ObjectStore

_NAME = re.compile(
    r"(?:name|id)\s*=\s*[\"']?([^\s\"'<>&]+)(?=[\s\"'>])", re.IGNORECASE
)  # of an element in markup
_ELEMENT: Value = of(known("Element"))
_WINDOW: Value = of(known("MessageSource"))  # of which what is read by unknown names is judged


def may_be_host(atom: Atom) -> bool:
    """Whether an atom stands for an object that the host made."""
    return type(atom) is Known or type(atom) is Host or (type(atom) is Unknown and atom not in NEVER_CALLABLE)


class Exposure:
    """Objects and functions that other code may give back, and the doubts about built-in objects (``expect_…``).

    ``on_hosts`` holds what the payload put on objects of the host, by name: such an object has more than one path.
    ``methods`` holds the names of the functions that escape by their prototypes. ``escaped_functions`` is the register
    of the functions that other code may have got hold of.
    """

    def __init__(self, dataflow: Dataflow, store: ObjectStore) -> None:
        self._dataflow = dataflow
        self._store = store
        self.methods = HeapObject("object", -3)
        self.on_hosts: dict[str, HeapObject] = {}
        self.global_object = HeapObject("object", -1)
        self.escaped_functions = dataflow.add_register()

    def release(self) -> None:
        """Break the reference cycles of the objects, so that reference counting frees them at once."""
        for target in (*self.on_hosts.values(), self.global_object):
            target.release()

    def escape_method(self, function: HeapObject, prototype: HeapObject) -> None:
        """Note that unmodelled code may call a function as a method of objects that inherit from a prototype."""
        for name, value in prototype.properties.items():
            if function in value:
                self._store.put(self.methods, name, V_UNDEFINED)
        receiver = self._store.allocate("object", prototype.start, "receiver")
        receiver.escaped = True
        made = (
            self._store.objects.get((atom.start, "object", "instance", 0))
            for atom in prototype.owners
            if isinstance(atom, HeapObject)
        )
        self._store.put_prototype(
            receiver, of(prototype, *(instance for instance in made if instance is not None))
        )
        if not function.escaped or (function.holders and receiver not in function.holders):
            function.escaped, function.holders = True, function.holders | {receiver}
            self._dataflow.changed(function)

    def lend(self, atom: Atom) -> None:
        """Note that other code gets hold of an object of the host, and may give it back."""
        self._store.patches.put(LENT_OBJECTS, of(atom))

    def lend_function(self, atom: Atom) -> None:
        """Note that other code gets hold of a built-in function, perhaps a bound one, and may give it back."""
        self._store.patches.put(LENT_FUNCTIONS, of(atom))

    def lent_functions(self) -> Value:
        """Return the built-in functions that an unknown callee may be; what reads them runs again with more."""
        return self._store.patches.read(LENT_FUNCTIONS)

    def lend_builtin(self, atom: Atom) -> None:
        """Note that other code gets hold of an object that all code shares, and may give it back to be changed."""
        self._store.put(self._on_hosts(LENT_BUILTINS), LENT_BUILTINS, of(atom))

    def lent_builtins(self) -> Value:
        """Return the shared objects that an unknown one may be; what reads them runs again with more."""
        return self._on_hosts(LENT_BUILTINS).properties.get(LENT_BUILTINS, BOTTOM)

    def hand_to_host(self, made: Value) -> None:
        """Note that the host may give back these instances of classes that extend its own, with all they inherit."""
        self.expect_elements(made)
        for atom in made:
            if isinstance(atom, HeapObject):
                given = self._store.allocate("object", atom.start, "of the host")
                self._store.put_prototype(given, of(atom))
                if not given.escaped:
                    given.escaped = True
                    self._dataflow.changed(given)

    def expect_proxies(self) -> None:
        """Note that any unknown object may be a proxy of the payload, which may list any keys."""
        self._store.patches.put(MAY_BE_PROXIES, V_UNDEFINED)

    def expect_removals(self) -> None:
        """Note that built-in functions may be missing: the payload deletes members of objects that it did not make."""
        self._store.patches.put(MAY_BE_REMOVED, V_UNDEFINED)

    def expect_calls(self) -> None:
        """Note that a write to an unknown object may have given a function its own ``call`` or ``apply``."""
        self._store.patches.put(MAY_HAVE_OWN_CALL, V_UNDEFINED)

    def expect_receivers(self) -> None:
        """Note that an unknown value, which may be a method, is called on an object that may not have that method."""
        self._store.patches.put(MAY_HAVE_ANY_RECEIVER, V_UNDEFINED)

    def expect_constructors(self) -> None:
        """Note that an object of the host may have got a ``constructor`` that the payload read somewhere else."""
        self._store.patches.put(MAY_HAVE_FOREIGN_CONSTRUCTOR, V_UNDEFINED)

    def expect_deletions(self) -> None:
        """Note that an object may have lost a ``constructor`` of its own, and so inherit one."""
        self._store.patches.put(MAY_HAVE_DELETED_CONSTRUCTOR, V_UNDEFINED)

    def expect_frames(self, texts: Iterable[object]) -> None:
        """Note that the payload makes frames if one of the texts, markup or the name of an element, has one."""
        for text in texts:
            if type(text) is not str:
                continue
            lowered = text.lower()
            if "frame" in lowered:
                self._store.patches.put(MAY_MAKE_FRAMES, V_UNDEFINED)
                if "name" in lowered:
                    self.expect_names(frozenset(_NAME.findall(text)) or V_ANY_STRING)
            elif "<" in text and (names := _NAME.findall(text)):
                self.expect_names(frozenset(names))

    def expect_names(self, names: Value) -> None:
        """Note the names that the payload gives to elements."""
        self._store.patches.put(MAY_NAME_ELEMENTS, names)

    def named_window(self, name: str) -> Value:
        """Return the window that a name of the page may be: that of a frame which has this name (HTML §7.2.2.3)."""
        if not self._store.patches.has(MAY_MAKE_FRAMES):
            return BOTTOM
        given = self._store.patches.read(MAY_NAME_ELEMENTS)
        return _WINDOW if name in given or any(type(atom) is not str for atom in given) else BOTTOM

    def named_by_payload(self, name: str) -> Value:
        """Return what stands in the place of a member whose name the payload gives to an element (DOM clobbering)."""
        if name not in self._store.patches.read(MAY_NAME_ELEMENTS):
            return BOTTOM
        return _ELEMENT | self.named_window(name)

    def expect_results(self) -> None:
        """Note that a generator hands on results of an iterator of the payload, which are no plain objects."""
        self._store.patches.put(MAY_HAND_ON_RESULTS, V_UNDEFINED)

    def expect_functions(self, value: Value) -> None:
        """Note that data may hold functions when the payload puts one there."""
        if any(atom.callable if isinstance(atom, HeapObject) else isinstance(atom, Known) for atom in value):
            self._store.patches.put(MAY_HOLD_FUNCTIONS, V_UNDEFINED)

    def expect_elements(self, made: Value) -> None:
        """Note that an element of the page may be one of these instances of the payload's own class."""
        elements = frozenset(atom for atom in made if type(atom) is not Known)
        self._store.put(self._on_hosts(CUSTOM_ELEMENTS), CUSTOM_ELEMENTS, elements)

    def define_on_hosts(self, atom: Atom, name: str, value: Value, setters: Value) -> None:
        """Note a property that the payload defined on an object of the host: any other path may lead there, too."""
        self._store.put(self._on_hosts(name), ON_PERHAPS_A_HOST if atom is UNKNOWN else ON_ANY_HOST, value)
        if setters:
            self._store.put(self._on_hosts(name), SETTER_ON_ANY_HOST, setters)

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
