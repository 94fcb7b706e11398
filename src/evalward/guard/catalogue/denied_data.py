"""Which denied members are *data*: one bit of their value is already a leak (guard.md §2, use).

A capability (a function, or an object whose identity reveals nothing) may be compared and tested. Denied data may not
even be read, because every operation on a value (a comparison, `typeof`, truthiness, a default, an exception) reveals
something about it. In a table of the catalogue:

- ``data`` lists the denied members that are data; ``"*"`` means all except those that ``identity`` lists.
- ``inside`` lists denied members that hold data: what is read from them is data, they themselves are not.
- ``secret_names = true``: the names of the object's members are data, too, so `in` and the like are reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

INSIDE = "*"
"""The last name of a path that means everything inside a denied object, as in ``process.config.*``."""


class DeniedData:
    """The denied members that are data, by path."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._owners: dict[str, frozenset[str]] = {}
        self._secret_names: set[str] = set()

    def add(self, path: str, table: dict[str, Any]) -> None:
        """Add one table of the catalogue."""
        names = table.get("data", "").split()
        if names == [INSIDE]:
            self._owners[path] = frozenset(table.get("identity", "").split())
        else:
            self._paths.update(f"{path}.{name}" for name in names)
        for name in table.get("inside", "").split():
            self._paths.add(f"{path}.{name}.{INSIDE}" if path else f"{name}.{INSIDE}")
            self._secret_names.add(f"{path}.{name}")
        if table.get("secret_names"):
            self._secret_names.add(path)

    def add_paths(self, paths: Iterable[str]) -> None:
        """Add whole paths; ``name.*`` is everything inside ``name``."""
        for path in paths:
            self._paths.add(path)
            if path.endswith(f".{INSIDE}"):
                self._secret_names.add(path[:-2])

    def is_data(self, path: str) -> bool:
        """Whether a denied value at ``path`` is data."""
        if path in self._paths:
            return True
        owner, _, name = path.rpartition(".")
        identity = self._owners.get(owner)
        return identity is not None and name not in identity

    def identity(self, owner: str) -> frozenset[str]:
        """Return the members of ``owner`` that are not data, where all others are."""
        return self._owners.get(owner, frozenset())

    def holds_data(self, path: str) -> bool:
        """Whether a key may read denied data from the object at ``path``."""
        return path in self._owners or path in self._secret_names

    def has_secret_names(self, path: str) -> bool:
        """Whether the names of the members of the denied object at ``path`` are data."""
        return path in self._secret_names
