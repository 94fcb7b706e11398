"""Private members of Electron's objects, and its emitters (guard.md §2, capabilities).

A member whose name begins with an underscore does what the public one does before it is checked: ``_loadURL``,
``_sendInternal``, ``_windowOpenHandler``, ``_events`` of Node's emitters, ``_executeCommand`` of a menu. ``emit``
and the lists of listeners run what the application does at an event, and what Electron does at the messages of a page
(``-ipc-invoke``).
"""

from __future__ import annotations

from typing import Final

from evalward.guard.constructs import electron
from evalward.guard.domain.atoms import Host, Known, known
from evalward.guard.domain.heap import HeapObject

_ELECTRON: Final = "electron."
_EMITTING: Final = frozenset({"emit", "listeners", "rawListeners"})


def is_private(path: str, name: str) -> bool:
    """Whether a member of an object of Electron, by its path, is no part of the documented interface."""
    return path.startswith(_ELECTRON) and name[:1] == "_" and name[:2] != "__"


def denied_member(path: str, name: str) -> Known | None:
    """Return the capability that a member which no list names is on an object of Electron, None if it is none."""
    if is_private(path, name) or (path.startswith(_ELECTRON) and name in _EMITTING):
        return known(f"{path}.{name}", electron.LABEL)
    return None


def owner_of_private(target: object, name: str) -> str | None:
    """Return the path of the object of Electron that a write to ``name`` of ``target`` changes in private, or None."""
    owners = target.prototype if isinstance(target, HeapObject) else (target,)
    for owner in owners:
        if isinstance(owner, (Known, Host)) and is_private(owner.path, name):
            return owner.path
    return None
