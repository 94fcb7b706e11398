"""Reads by keys that were listed from the same object: ``for (k in o) o[k]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, TAINTED_DATA, UNKNOWN, UNKNOWN_NESTED_DATA, Known, Value, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import MAY_BE_PROXIES, MAY_HAVE_DELETED_CONSTRUCTOR
from evalward.guard.domain.values import join
from evalward.guard.lower.enumeration import BY_LOOP, BY_OBJECT_KEYS

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.objects.unknown_owners import UnknownOwners
    from evalward.guard.interpret.run_state import RunState

_OWN_KEYS = frozenset({"Object.keys", "Object.getOwnPropertyNames", "Reflect.ownKeys"})
_UNNAMED = frozenset(
    {UNKNOWN, UNKNOWN_NESTED_DATA, TAINTED_DATA}
)  # what a listed key reads as any name does but `constructor`


class ListedKeys:
    """Reads by listed keys."""

    def __init__(self, state: RunState, unknown_owners: UnknownOwners, unknown_keys: UnknownKeys) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._global_object = state.exposure.global_object
        self._patches = state.store.patches
        self._bindings = state.surroundings.bindings
        self._catalogue = state.surroundings.catalogue
        self._lowered = state.surroundings.lowered
        self._unknown_owners = unknown_owners
        self._unknown_keys = unknown_keys

    def get_by(self, owner: Value, key: int, span: Span) -> Value:
        """Return a read by the key in a register."""
        if key in self._lowered.listed and self._is_listed(key):
            return self._get_listed(owner, key, span)
        return self._unknown_keys.get_computed(
            owner, self._values[key], span, closed=key in self._lowered.closed
        )

    def _is_listed(self, key: int) -> bool:
        """Whether a key certainly comes from a list of the object that it reads.

        It does not when a proxy may have listed it, when what listed it was replaced, or the property deleted.
        """
        if self._patches.has_any((MAY_BE_PROXIES, MAY_HAVE_DELETED_CONSTRUCTOR)):
            return False
        rests_on = self._lowered.listed[key]
        if rests_on == BY_OBJECT_KEYS:
            self._global_object.readers[self._dataflow.reader] = None
            replaced = "Object" in self._bindings or "Object" in self._global_object.properties
            return not replaced and not self._patches.has("Object.keys")
        return rests_on == BY_LOOP or self._listers(rests_on) <= _OWN_KEYS

    def _listers(self, register: int) -> frozenset[str]:
        """Return the catalogue paths of a variable's value, an empty path for atoms that are not catalogued."""
        found = self._dataflow.read(register)
        return frozenset(atom.path if type(atom) is Known else "" for atom in found)

    def _get_listed(self, owner: Value, key: int, span: Span) -> Value:
        """Return a read by a key that names an own property, and no built-in one."""
        result: Value = BOTTOM
        others: set[Atom] = set()
        rests_on = self._lowered.listed[key]
        # All own names are those of an unknown object too, which may be `Function.prototype`.
        enumerable = rests_on < 0 or self._listers(rests_on) == {"Object.keys"}
        for atom in owner:
            if isinstance(atom, HeapObject):
                result = join(result, self._unknown_keys.get_elsewhere(atom, span, listed=True))
            elif enumerable and atom in _UNNAMED:
                result |= self._unknown_owners.data_inside() if atom is TAINTED_DATA else of(UNKNOWN)
            elif type(atom) is Known and self._is_function(atom):
                result |= of(UNKNOWN)  # `length` and `name`, and what the payload put there
            else:
                others.add(atom)
        if others:
            result = join(
                result,
                self._unknown_keys.get_computed(frozenset(others), self._values[key], span, closed=True),
            )
        return result

    def _is_function(self, atom: Known) -> bool:
        """Whether an atom is a harmless function of others: it has no ``constructor`` of its own."""
        return (
            atom.label is None
            and self._catalogue.get(atom.path).callable
            and not atom.path.endswith(("prototype", "Reflect", "Object"))
        )
