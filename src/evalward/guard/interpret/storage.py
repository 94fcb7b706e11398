"""The storage that the machine offers: registers, patches and objects of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.heap import Activation, HeapObject


class Registers(Protocol):
    """What is read and written."""

    thrown: int
    activations: Sequence[Activation]
    bound_names: frozenset[str]

    def read(self, register: int) -> Value:
        """Return a variable's value; the current instruction runs again when it changes."""
        ...

    def write(self, register: int, value: Value) -> None:
        """Join a value into a variable."""
        ...

    def observe(self, target: HeapObject) -> None:
        """Note that the code that runs now reads an object: it runs again when the object changes."""
        ...

    def spend(self, steps: int = 1) -> None:
        """Count work; raise AnalysisLimitError past the budget."""
        ...


class NamedPatches(Protocol):
    """What the payload put in place of standard functions and on objects of the host (``patches.Patches``)."""

    def read(self, name: str) -> Value:
        """Return what is under a name, BOTTOM if nothing is; the current instruction runs again when that changes."""
        ...

    def has(self, name: str) -> bool:
        """Whether anything is under a name."""
        ...

    def put(self, name: str, value: Value) -> None:
        """Join a value into what is under a name."""
        ...


class Objects(Protocol):
    """The objects of the run and their properties."""

    patches: NamedPatches

    def allocate(self, kind: str, start: int, tag: str = "") -> HeapObject:
        """Return the object of an allocation site; ``tag`` distinguishes objects of one site."""
        ...

    def put(self, target: HeapObject, name: str, value: Value) -> None:
        """Join a value into a named property."""
        ...

    def put_element(self, target: HeapObject, value: Value) -> None:
        """Join a value into the elements: an unknown key, an index or an iteration reads them."""
        ...

    def put_item(self, target: HeapObject, index: int, value: Value) -> None:
        """Join a value into the element at an index; the caller keeps the index within bounds."""
        ...

    def put_prototype(self, target: HeapObject, value: Value) -> None:
        """Join a value into an object's prototype."""
        ...

    def extend(self, target: HeapObject) -> None:
        """Note that an object has properties whose names are not known."""
        ...

    def inexact(self, target: HeapObject) -> None:
        """Note that the order and number of an array's elements are no longer known."""
        ...

    def fix(self, target: HeapObject) -> None:
        """Note that an object is not extensible from some time on: later writes add nothing."""
        ...

    def doubt(self, target: HeapObject, names: Iterable[str]) -> None:
        """Note that an object may lack properties of these names."""
        ...

    def changed(self, target: HeapObject) -> None:
        """Queue the readers of an object."""
        ...

    def escape_object(self, target: HeapObject) -> None:
        """Note that unmodelled code may read, write and call the object."""
        ...

    def expect_frames(self, texts: Iterable[object]) -> None:
        """Note that the payload makes frames if one of the texts, markup or the name of an element, has one."""
        ...

    def expect_elements(self, made: Value) -> None:
        """Note that an element of the page may be one of these instances of the payload's own class."""
        ...

    def custom_elements(self, atom: Atom) -> Value:
        """Return the instances of the payload's classes of elements if an object of the host may be one of them."""
        ...

    def expect_proxies(self) -> None:
        """Note that any unknown object may be a proxy of the payload, which may list any keys."""
        ...

    def items_of(self, value: Value) -> list[Value] | None:
        """Return the items of an exact array if that is all the value holds."""
        ...
