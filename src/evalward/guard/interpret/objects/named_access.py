"""Named access: what stands in the place of a member under a name of the page (HTML §3.1.7, §4.10.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Known, Value

if TYPE_CHECKING:
    from evalward.guard.catalogue import Catalogue
    from evalward.guard.interpret.exposure import Exposure

_NAMING_FRAMES = frozenset({"document", "MessageSource"})  # the names of the global object are read elsewhere
_WITH_NAMED_MEMBERS = frozenset({"document", "Element"})  # a form has its controls under their names


def in_its_place(catalogue: Catalogue, exposure: Exposure, owner: Known, name: str, made: Value) -> Value:
    """Return the element or window that stands in the place of a member of the document, a form or a window."""
    if owner.path in _WITH_NAMED_MEMBERS:
        named = exposure.named_by_payload(name)
        if named:
            return named
    # What may be a window is mostly an element.
    of_element = owner.path != "document" and name in catalogue.get("Element").members
    if owner.path not in _NAMING_FRAMES or of_element:
        return BOTTOM
    called = any(type(atom) is Known and catalogue.get(atom.path).callable for atom in made)
    return BOTTOM if called else exposure.named_window(name)
