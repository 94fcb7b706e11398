"""Which denied members are *data*: one bit of their value is already a leak (guard.md §2, use).

A capability (a function, or an object whose identity tells nothing) may be compared and tested; denied data may not
even be read, since everything that can be done with a value (a comparison, `typeof`, truthiness, a default that
steps in, an exception) tells something of it. In a table of the catalogue:

- ``data`` lists the denied members that are data, ``"*"`` all of them but those that ``identity`` lists.
- ``inside`` lists denied members that hold data: what is read from them is data, they themselves are not.
- ``secret_names = true``: which names the object has is data too, so that `in` and its like are reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

INSIDE = "*"
"""The name under which everything inside a denied object stands, as in ``process.config.*``."""


class DeniedData:
    """What the tables say of denied members, asked by path."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._owners: dict[str, frozenset[str]] = {}
        self._secret_names: set[str] = set()

    def add(self, path: str, table: dict[str, Any]) -> None:
        """Take up one table of the catalogue."""
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
        """Take up whole paths; ``name.*`` is what is inside of ``name``."""
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

    def holds_data(self, path: str) -> bool:
        """Whether the object at ``path`` may be asked for denied data by a key."""
        return path in self._owners or path in self._secret_names

    def has_secret_names(self, path: str) -> bool:
        """Whether it tells something which names the denied object at ``path`` has."""
        return path in self._secret_names
