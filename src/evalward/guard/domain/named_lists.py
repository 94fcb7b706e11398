"""Lists of the document in whose place an element or a window may stand (HTML §3.1.7, DOM clobbering).

``document.images`` is the form that has the name ``images``, and the window of a frame of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from evalward.guard.domain.atoms import Known, Value, known, of
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom

_MEMBER: Final = "namedItem"  # of such lists alone
_ELEMENT: Final[Value] = of(known("Element"))


def is_named_list(atom: Atom) -> TypeGuard[HeapObject]:
    """Whether an atom is a live list of the host, whose elements stand under their names, too."""
    return type(atom) is HeapObject and atom.kind == "array" and _MEMBER in atom.properties


def own_elements(target: HeapObject) -> Value:
    """Return what the payload may have put into an object by unknown keys: the elements of a list are no functions."""
    if not is_named_list(target):
        return target.elements
    return frozenset(atom for atom in target.elements if type(atom) is not Known)


def with_element(owner: Value) -> Value:
    """Return ``owner`` with the element that may stand in the place of a list."""
    return owner | _ELEMENT if any(map(is_named_list, owner)) else owner
