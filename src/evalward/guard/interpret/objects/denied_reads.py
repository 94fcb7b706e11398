"""Reads that policy denies: data of the process, and the names of an object's members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import BOTTOM, Known, Value
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import PROXY_TARGET

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.run_state import RunState


class DeniedReads:
    """Judgement of reads."""

    def __init__(self, state: RunState) -> None:
        self._dataflow = state.dataflow
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._env_names = state.surroundings.env_names
        self._process_reads = state.surroundings.process_reads

    def allowed_read(self, path: str, name: str) -> bool:
        """Whether policy allows a read that the catalogue denies."""
        if path == "process.env":
            return name in self._env_names or name.startswith("ELECTRON_")
        return path == "process" and name in self._process_reads

    def read_denied_data(self, atom: Known, span: Span) -> None:
        """Report a read of denied data: any use of the value reveals part of it."""
        if atom.label is not None and self._catalogue.denied_data.is_data(atom.path):
            self._findings.report(
                atom.label,
                Rank.LEAVES,
                span,
                atom,
                f"`{atom.path}` is data: to test it tells its value",
            )

    def ask_names(self, owner: Value, key: Value, span: Span) -> None:
        """Report a test for a name (`in`, `hasOwn`) on an object whose names are denied data."""
        pending, seen = [*owner], set(owner)
        while pending:
            atom = pending.pop()
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                above = (atom.prototype | atom.properties.get(PROXY_TARGET, BOTTOM)) - seen
                seen |= above
                pending.extend(above)
            elif type(atom) is Known and self._catalogue.denied_data.has_secret_names(atom.path):
                listed = self._catalogue.get(atom.path).members
                if not all(
                    type(each) is str and (each in listed or self.allowed_read(atom.path, each))
                    for each in key
                ):
                    label = atom.label or atom.path
                    self._findings.report(
                        label, Rank.LEAVES, span, atom, f"`{atom.path}` is asked for a name"
                    )

    def is_denied(self, atom: Known) -> bool:
        """Whether an object is a capability whose members are not catalogued."""
        return atom.label is not None and atom.path not in self._catalogue.entries
