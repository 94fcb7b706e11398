"""Reads by a numeric key: elements of arrays, characters of strings, items of the host's collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    HOST_HELD_TEXT,
    MARKERS,
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

_SYMBOLS = (
    "asyncDispose asyncIterator dispose hasInstance isConcatSpreadable iterator match matchAll replace "
    "search species split toPrimitive toStringTag unscopables"
)
_WELL_KNOWN = frozenset(f"@@{name}" for name in _SYMBOLS.split())
_NUMERIC_START = frozenset("0123456789-NI")  # of what ToString gives for a number


class Elements:
    """Reads of elements."""

    def __init__(
        self,
        dataflow: Dataflow,
        held: HeldTexts,
        catalogued: Catalogued,
        unknown_owners: UnknownOwners,
    ) -> None:
        self._dataflow = dataflow
        self._held = held
        self._catalogued = catalogued
        self._unknown_owners = unknown_owners

    def get_element(self, atom: Atom, start: int) -> Value:
        """Return a read by a numeric key: the join of the elements."""
        if isinstance(atom, HeapObject):
            atom.readers[self._dataflow.reader] = None
            self._dataflow.spend(len(atom.properties) >> 3)
            result = join(atom.contents(), of(UNKNOWN) if atom.escaped else V_UNDEFINED)
            for name, value in atom.properties.items():
                if name[:1] in _NUMERIC_START or name.startswith(REGISTERED_PREFIX) or name in _WELL_KNOWN:
                    result = join(result, value)
            for parent in atom.prototype:
                if type(parent) is Known:
                    result = join(result, self.get_element(parent, start))
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
