"""The atoms of a value: in a stable order, and the objects among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Atom, Value


_NONE: frozenset[HeapObject] = frozenset()


def in_order(value: Value) -> Iterable[Atom]:
    """Return the atoms in a stable order: the effects of calls depend on it."""
    return value if len(value) == 1 else sorted(value, key=_rank)


def _rank(atom: Atom) -> tuple[int, int, str]:
    if isinstance(atom, HeapObject):
        return 0, atom.serial, ""
    return 1, 0, atom if type(atom) is str else repr(atom)


def objects_of(value: Value) -> frozenset[HeapObject]:
    """Return the payload's own objects among the atoms."""
    found = [atom for atom in value if type(atom) is HeapObject]
    return frozenset(found) if found else _NONE
