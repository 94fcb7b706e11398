"""Reads by a numeric key: elements of arrays, characters of strings, items of the host's collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    HOST_HELD_TEXT,
    MARKERS,
    NULL,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    host,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import REGISTERED_PREFIX
from evalward.guard.domain.span import Span
from evalward.guard.domain.texts import character_of
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import (
    UNKNOWN_PRIMITIVE_PROTOTYPES,
)

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.objects.catalogued import Catalogued
    from evalward.guard.interpret.objects.unknown_owners import UnknownOwners
    from evalward.guard.interpret.recursion import Recursion

_SYMBOLS = (
    "asyncDispose asyncIterator dispose hasInstance isConcatSpreadable iterator match matchAll replace "
    "search species split toPrimitive toStringTag unscopables"
)
_WELL_KNOWN = frozenset(f"@@{name}" for name in _SYMBOLS.split())
_NUMERIC_START = frozenset("0123456789-NI")  # of what ToString gives for a number


def _may_be_asked(name: str) -> bool:
    """Whether a key that is no text may be this name: that of a number, or a symbol."""
    return name[:1] in _NUMERIC_START or name.startswith(REGISTERED_PREFIX) or name in _WELL_KNOWN


class Elements:
    """Reads of elements."""

    def __init__(
        self,
        dataflow: Dataflow,
        held: HeldTexts,
        catalogued: Catalogued,
        unknown_owners: UnknownOwners,
        machine: Recursion,
    ) -> None:
        self._dataflow = dataflow
        self._held = held
        self._catalogued = catalogued
        self._unknown_owners = unknown_owners
        self._machine = machine

    def get_element(self, atom: Atom, start: int, this: Value = BOTTOM) -> Value:
        """Return a read by a numeric key: the join of the elements, what accessors give, and what is inherited.

        ``this`` is the receiver of the accessors, the object itself unless it is given.
        """
        if isinstance(atom, HeapObject):
            atom.readers[self._dataflow.reader] = None
            self._dataflow.spend(len(atom.properties) >> 3)
            result = join(atom.contents(), of(UNKNOWN) if atom.escaped else V_UNDEFINED)
            for name, value in atom.properties.items():
                if _may_be_asked(name):
                    result = join(result, value)
            if atom.getters or atom.prototype:
                result = join(result, self.get_inherited(atom, start, this))
            return result
        if type(atom) is Known:
            return self._catalogued.element_of(atom, start)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return character_of(of(atom))
        if isinstance(atom, Host):
            return of(host(f"{atom.path}.0"))
        if atom in MARKERS:
            return BOTTOM
        if atom is HOST_HELD_TEXT:
            return self._held.given_back()
        if atom is TAINTED_DATA:
            return self._unknown_owners.data_inside()
        if atom is UNKNOWN_CONSTRUCTOR or atom is UNKNOWN_NESTED_DATA:
            return of(atom)
        return BOTTOM if type(atom) is Primitive or atom in UNKNOWN_PRIMITIVE_PROTOTYPES else of(UNKNOWN)

    def get_inherited(self, target: HeapObject, start: int, this: Value = BOTTOM) -> Value:
        """Return what a read by a numeric key gives beyond an object's own data (OrdinaryGet, ECMA-262 §10.1.8.1).

        An accessor of such a name gives its result; a hole of an array, as any index that the object lacks, what its
        prototypes hold.
        """
        result: Value = BOTTOM
        receiver = this or target.value
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            self._dataflow.spend()
            current.readers[self._dataflow.reader] = None
            for name, getter in list(current.getters.items()):
                if _may_be_asked(name):
                    result = join(result, self._machine.call(getter, receiver, (), Span.at(start)))
            if current is not target:
                result = join(result, current.contents())
                if current.escaped and not current.owners:
                    result = join(result, of(UNKNOWN))
                for name, value in current.properties.items():
                    if _may_be_asked(name):
                        result = join(result, value)
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    result = join(result, self.get_element(parent, start) if parent is not NULL else BOTTOM)
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result
