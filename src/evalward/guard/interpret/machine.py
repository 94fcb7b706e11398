"""The machine: the operations of the interpreter that built-in functions and recursive operations use.

A conversion calls a method, a call reads a property, a read runs an accessor. A part of the interpreter depends on
lower parts by their concrete types, and on higher ones through the machine. ``composition`` makes the one that runs; a
test may give a part, or a built-in function, a smaller one. The operations' names are those of ECMA-262's abstract
operations where they implement one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from evalward.guard.domain.atoms import BOTTOM, Value
from evalward.guard.interpret.recursion import Recursion, Running
from evalward.guard.interpret.storage import Objects, Registers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.constructs.rank import Rank
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.flow import Flow
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.domain.instructions import Lowered
    from evalward.guard.domain.property_key import Key
    from evalward.guard.domain.span import Span


class Properties(Protocol):
    """Reads and writes of properties (ECMA-262 §7.3, §10.1)."""

    def get_computed(self, owner: Value, key: Value, span: Span, *, closed: bool = True) -> Value:
        """Return a read by a computed key."""
        ...

    def get_element(self, atom: Atom, start: int) -> Value:
        """Return a read by a numeric key: the join of the elements."""
        ...

    def get_unknown(self, atom: Atom, span: Span) -> Value:
        """Return a read by a key that may be anything; d falls by one."""
        ...

    def set(self, owner: Value, name: str, value: Value, span: Span) -> None:
        """Write a property by a known name (ECMA-262 §7.3.4)."""
        ...

    def set_computed(self, owner: Value, key: Value, value: Value, span: Span) -> None:
        """Write a property by a computed key."""
        ...

    def define_own_property(self, target: Value, key: Value, descriptor: Value, span: Span) -> None:
        """Model ``Object.defineProperty``: the value, the getter and the setter of a descriptor (ECMA-262 §10.1.6)."""
        ...

    def judge_inherited_setter(self, target: HeapObject, name: str, value: Value, span: Span) -> None:
        """Judge a write of a property that an object inherits: call its setter, or judge the sink that it is."""
        ...

    def call_inherited(self, target: HeapObject, this: Atom, value: Value, span: Span) -> None:
        """Call every setter of an object and of its prototypes: a key that is not known may name any."""
        ...

    def inherited_names(self, target: HeapObject) -> list[str]:
        """Return the names of an object's properties and accessors, and of those of its prototypes."""
        ...

    def get_prototype_of(self, atom: Atom) -> Value:
        """Return ``Object.getPrototypeOf`` of an atom (ECMA-262 §10.1.1)."""
        ...

    def call_trap(self, proxy: HeapObject, trap: str, args: tuple[Value, ...], span: Span) -> Value:
        """Return what a trap of a proxy's handler gives, BOTTOM when the handler has none (ECMA-262 §10.5)."""
        ...

    def ask_names(self, owner: Value, key: Value, span: Span) -> None:
        """Report a test for a name (`in`, `hasOwn`) on an object whose names are denied data."""
        ...

    def enumerable_keys(self, atom: Atom) -> Value:
        """Return the keys that ``for … in`` and ``Object.keys`` may give."""
        ...

    def copy_data_properties(self, target: HeapObject, source: Value, span: Span) -> None:
        """Copy own enumerable properties, as a spread and ``Object.assign`` do (ECMA-262 §7.3.25)."""
        ...


class Conversions(Protocol):
    """Values as keys, texts and numbers (ECMA-262 §7.1)."""

    def to_property_key(self, value: Value, span: Span) -> Key:
        """Return a computed key; an object's ``toString`` is called (ECMA-262 §7.1.19)."""
        ...

    def to_string(self, value: Value, span: Span) -> Value:
        """Return ToString: string constants, or the unknown string (ECMA-262 §7.1.17)."""
        ...

    def to_number(self, value: Value, span: Span) -> Value:
        """Return ToNumber: number constants, or the unknown number (ECMA-262 §7.1.4)."""
        ...

    def joined(self, target: HeapObject, separator: Value, span: Span) -> Value:
        """Return ``Array.prototype.join`` of an exact array, a string that is unknown otherwise."""
        ...

    def concatenated(self, pieces: Sequence[Value]) -> Value:
        """Return the concatenation of string values, as constants while there are few and short ones."""
        ...

    def get_method(self, target: HeapObject, name: str) -> Value:
        """Return a method that the payload itself defined on the object or a prototype of it (ECMA-262 §7.3.10)."""
        ...

    def inherits_only_from(self, target: HeapObject, builtin: str) -> bool:
        """Whether all prototypes above an object are the payload's own, and end in one built-in prototype."""
        ...

    def use_conversions(self, value: Value, span: Span) -> None:
        """Judge capabilities used as conversion methods: a built-in function may convert its arguments."""
        ...


class Iteration(Protocol):
    """Iteration, promises and generators (ECMA-262 §7.4, §27)."""

    def run_async(self, generator: Value, this: Value, args: Sequence[Value], rest: Value) -> Value | None:
        """Return the promise of an ``async`` function whose awaits are the yields of a generator function."""
        ...

    def iterate(self, value: Value, index: int | None, span: Span) -> Value:
        """Return the element of an iteration at an index, or the join of all elements (ECMA-262 §7.4)."""
        ...

    def await_value(self, value: Value, span: Span) -> Value:
        """Return what ``await`` gives: a promise's value, a thenable's result or itself (ECMA-262 §27.7.5.3)."""
        ...

    def create_resolving_function(self, container: HeapObject, *, rejects: bool = False) -> HeapObject:
        """Return a function that settles a promise; a rejected value may also be caught (ECMA-262 §27.2.1.3)."""
        ...


class Host(Protocol):
    """The catalogue, and host objects made from it."""

    catalogue: Catalogue
    strict: bool
    in_page: bool
    lowered: Lowered

    def instance(self, path: str, start: int, of_member: str = "") -> Value:
        """Return an object that inherits from a built-in prototype."""
        ...

    def materialize(self, result: str, start: int, label: str | None = None, of_member: str = "") -> Value:
        """Return the value that a catalogue result stands for."""
        ...

    def wrap(self, made: HeapObject, primitive: Value) -> None:
        """Set the primitive of a wrapper object, and the characters of a String object (ECMA-262 §10.4.3)."""
        ...

    def answered(self, path: str, made: Value, values: Iterable[Value]) -> Value:
        """Return the result of a function of the host, with the texts that it was given."""
        ...

    def hold(self, values: Iterable[Value]) -> Value:
        """Note texts that the host is given, and may give back; return those that a sink would judge."""
        ...

    def held(self) -> Value:
        """Return the texts that objects of the host were given, of those that a sink would judge."""
        ...

    def tell(self, values: Iterable[Value]) -> None:
        """Note texts that a page says and its driver may read."""
        ...

    def told(self) -> Value:
        """Return the texts that a page said, of those that a sink would judge."""
        ...


class Reports(Protocol):
    """Uses that policy decides about."""

    def report(
        self, construct: str, rank: Rank, span: Span, atom: Atom | None = None, note: str = ""
    ) -> None:
        """Record a use."""
        ...

    def use(self, value: Value, flow: Flow, span: Span) -> None:
        """Report the uses that a flow of this value makes."""
        ...

    def leak(self, value: Value, flow: Flow, span: Span) -> None:
        """Treat a value as passed to code that is not modelled: capabilities are used, objects escape."""
        ...

    def sink(
        self, kind: str, value: Value, span: Span, *, certain: bool = True, this: Value = BOTTOM
    ) -> None:
        """Judge a value that a DOM sink turns into markup, a URL or a document."""
        ...

    def set_attribute(self, name: Value, value: Value, span: Span) -> None:
        """Judge ``setAttribute``: event handlers, script URLs, ``srcdoc``, markup that a reader may insert."""
        ...

    def tell_thrown(self, event: Value) -> Value:
        """Put what the payload threw on an event, as an event of an error or a rejection carries it."""
        ...

    def change(self, atom: Atom, span: Span) -> bool:
        """Report a change of an object of `process`, of which a payload may only read; say whether it is one."""
        ...

    def miss(self, kind: str, span: Span) -> None:
        """Note a sink that is given an unknown text."""
        ...

    def name_element(self, span: Span) -> None:
        """Note an element whose name comes from outside."""
        ...

    def click(self, span: Span) -> None:
        """Note a handler of an item of an application's menu."""
        ...


class Machine(
    Recursion, Running, Registers, Objects, Properties, Conversions, Iteration, Host, Reports, Protocol
):
    """All of them."""


Transfer: TypeAlias = "Callable[[Machine, Call], Value]"
