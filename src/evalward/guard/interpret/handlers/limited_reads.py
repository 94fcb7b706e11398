"""Reads whose context limits the result: ``constructor`` of an instance, operands of ``typeof``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_key
from evalward.guard.domain.atoms import (
    BOTTOM,
    PRIMITIVE_UNKNOWNS,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_UNKNOWN,
    Known,
    Value,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    MAY_BE_REMOVED,
    MAY_HAVE_ANY_RECEIVER,
    MAY_HAVE_FOREIGN_CONSTRUCTOR,
    MAY_SELECT_CONSTRUCTOR,
    SYMBOL_HAS_INSTANCE,
)

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.run_state import RunState

_DATA = PRIMITIVE_UNKNOWNS | {TAINTED_DATA, UNKNOWN_PLAIN}  # has no methods of the payload's classes
_DOUBTS = (MAY_HAVE_FOREIGN_CONSTRUCTOR, MAY_SELECT_CONSTRUCTOR, MAY_BE_REMOVED)


class LimitedReads:
    """Reads behind a test of the object or of the type."""

    def __init__(self, state: RunState, method_lookup: MethodLookup, properties: Properties) -> None:
        self._dataflow = state.dataflow
        self._exposure = state.exposure
        self._methods = state.exposure.methods
        self._patches = state.store.patches
        self._catalogue = state.surroundings.catalogue
        self._strict = state.surroundings.strict
        self._method_lookup = method_lookup
        self._properties = properties
        self.constructors: set[int] = set()  # registers of reads by the name `constructor`

    def get_constructor(self, owner: Value, classes: Value, span: Span) -> Value:
        """Return ``constructor`` of an instance of one of the classes; for an unknown object, only these classes.

        A function is an instance only through ``setPrototypeOf`` or ``__proto__``, which are reported on their own.
        """
        doubtful = self._patches.has_any(_DOUBTS)
        if doubtful or not all(map(self._makes_objects, classes)):
            return self._properties.get(owner, "constructor", span)
        known = frozenset(
            atom
            for atom in owner
            if (isinstance(atom, HeapObject) and not (atom.kind == "function" and not atom.prototype))
            or type(atom) is Known
        )
        made = self._properties.get(known, "constructor", span)
        return made if known == owner else made | V_UNKNOWN

    def is_capability(self, atom: Atom) -> bool:
        """Whether a catalogued object's members are denied to a key that cannot be resolved."""
        return type(atom) is Known and self._catalogue.get(atom.path).unresolved == dynamic_key.LABEL

    def take_method(self, owner: Value, key: Value) -> None:
        """Note a read of a possible method from an unknown owner: it may then be called on another object."""
        if self._strict or self._patches.has(MAY_HAVE_ANY_RECEIVER):
            return
        self._methods.readers[self._dataflow.reader] = None
        names = self._methods.properties
        if not names or all(isinstance(atom, HeapObject) or atom in _DATA for atom in owner):
            return
        if any(type(atom) is str and atom in names for atom in key) or not key.isdisjoint(
            STRING_UNKNOWNS | {UNKNOWN, TAINTED_DATA}
        ):
            self._exposure.expect_receivers()

    def _makes_objects(self, atom: Atom) -> bool:
        """Whether a function is a class whose instances are not functions and are recognised by their prototypes."""
        if isinstance(atom, HeapObject):
            if self._method_lookup.get_method(atom, SYMBOL_HAS_INSTANCE):
                return False
            given = atom.properties.get("prototype", BOTTOM)
            return atom.kind == "class" or all(
                isinstance(a, HeapObject) and a.kind == "object" and not a.prototype for a in given
            )
        if type(atom) is not Known or atom.label is not None or atom.path == "Object":
            return False
        entry = self._catalogue.get(atom.path)
        return bool(entry.instance) and not self._patches.has(f"{atom.path}.@@hasInstance")
