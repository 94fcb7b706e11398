"""What the payload put in place of standard functions and on objects of the host, and the doubts that this raises.

Each is stored under a name. A change wakes what read that name and nothing else: a payload that writes to one member of
an element does not run again whatever reads another member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value
from evalward.guard.domain.heap import Readers
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.heap import Reader
    from evalward.guard.interpret.dataflow import Dataflow


class Patches:
    """Values by name, which only grow. Every read is noted for the code that runs now, also one that finds nothing."""

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._values: dict[str, Value] = {}
        self._readers: dict[str, Readers] = {}
        self._growth: dict[str, int] = {}
        self._listing = Readers()  # of all names

    def release(self) -> None:
        """Break the reference cycles of the readers, so that reference counting frees them at once."""
        self._readers.clear()
        self._listing.clear()

    def read(self, name: str, reader: Reader | None = None) -> Value:
        """Return what is under a name, BOTTOM if nothing is; ``reader`` runs again when that changes."""
        readers = self._readers.get(name)
        if readers is None:
            readers = self._readers[name] = Readers()
        readers[self._dataflow.reader if reader is None else reader] = None
        return self._values.get(name, BOTTOM)

    def has(self, name: str) -> bool:
        """Whether anything is under a name."""
        return bool(self.read(name))

    def has_any(self, names: Iterable[str], reader: Reader | None = None) -> bool:
        """Whether anything is under one of the names."""
        return any(self.read(name, reader) for name in names)

    def names(self) -> list[str]:
        """Return the names under which there is something; what asks runs again with each further name."""
        self._listing[self._dataflow.reader] = None
        return [*self._values]

    def put(self, name: str, value: Value) -> None:
        """Join a value into what is under a name, within bounds: what keeps growing has its constants widened."""
        old = self._values.get(name, BOTTOM)
        if value <= old:
            return
        new, dataflow = join(old, value), self._dataflow
        if old and new != old:
            growth = self._growth[name] = self._growth.get(name, 0) + 1
            new = dataflow.grown(old, new, growth)
        if new == old:
            return
        self._values[name] = new
        dataflow.version += 1
        if name in self._readers:
            dataflow.wake(self._readers[name])
        if not old:
            dataflow.wake(self._listing)
