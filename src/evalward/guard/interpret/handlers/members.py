"""Members and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import V_UNKNOWN, Known, Value, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.interpret.objects.constructors import relabelled

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.interpret.conversion.operators import Operators
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.handlers.limited_reads import LimitedReads
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.listed_keys import ListedKeys
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.super_reads import SuperReads
    from evalward.guard.interpret.objects.writes import Writes
    from evalward.guard.interpret.run_state import RunState


class Members:
    """Instructions that read, write and call members."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        property_keys: PropertyKeys,
        operators: Operators,
        properties: Properties,
        listed_keys: ListedKeys,
        writes: Writes,
        limited_reads: LimitedReads,
        super_reads: SuperReads,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._exposure = state.exposure
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._lowered = state.surroundings.lowered
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._property_keys = property_keys
        self._operators = operators
        self._properties = properties
        self._listed_keys = listed_keys
        self._writes = writes
        self._limited_reads = limited_reads
        self._super_reads = super_reads

    def op_get(self, instruction: Instruction) -> Value:
        owner, key = self._values[instruction[2]], instruction[3]
        if self._lowered.classes and not (len(owner) == 1 and type(next(iter(owner))) is HeapObject):
            self._limited_reads.take_method(owner, of(key) if type(key) is str else self._values[key])
        if instruction[2] in self._lowered.supers:
            return self._super_reads.get(instruction[2], key, instruction[5])[0]
        if key == "constructor":
            if instruction[4] is None:
                made = self._properties.get(owner, key, instruction[5])
            else:
                classes = self._values[instruction[4]]
                made = self._limited_reads.get_constructor(owner, classes, instruction[5])
            self._asks_constructor(instruction[1])
            return (
                relabelled(self._findings, made)
                if instruction[2] in self._limited_reads.constructors
                else made
            )
        if type(key) is str:
            return self._properties.get(owner, key, instruction[5])
        if instruction[4] and not self._strict and any(type(a) is not str for a in self._values[key]):
            owner = frozenset(
                atom
                for atom in owner
                if not self._limited_reads.is_capability(atom) or self._holds_data(atom)
            )  # its type is no use of it, unless whether it is there tells something
        if "constructor" in self._values[key]:
            self._asks_constructor(instruction[1])
            made = self._listed_keys.get_by(owner, key, instruction[5])
            return (
                relabelled(self._findings, made)
                if instruction[2] in self._limited_reads.constructors
                else made
            )
        return self._listed_keys.get_by(owner, key, instruction[5])

    def _holds_data(self, atom: Atom) -> bool:
        return type(atom) is Known and self._catalogue.denied_data.holds_data(atom.path)

    def _asks_constructor(self, register: int) -> None:
        """Note that a register holds a read of the name ``constructor``."""
        if register not in self._limited_reads.constructors:
            self._limited_reads.constructors.add(register)
            self._dataflow.feed(self._dataflow.unit, register)

    def op_set(self, instruction: Instruction) -> Value:
        super_unit = self._lowered.supers.get(instruction[2])
        dataflow = self._dataflow
        owner = (
            self._values[instruction[2]]
            if super_unit is None
            else dataflow.read(dataflow.units[super_unit].this)
        )
        key, value = instruction[3], self._values[instruction[4]]
        if super_unit is not None:
            names = of(key) if type(key) is str else self._values[key]
            self._writes.set_through_super(self._values[instruction[2]], owner, names, value, instruction[5])
        elif type(key) is str:
            added = self._lowered.appended.get(instruction[4])
            if added is not None:
                # What the page has stays what it is: only what is added to it is new markup.
                elements = frozenset(atom for atom in owner if type(atom) is Known)
                self._writes.set(elements, key, self._values[added], instruction[5])
                owner -= elements
            self._writes.set(owner, key, value, instruction[5])
        else:
            self._writes.set_computed(owner, self._values[key], value, instruction[5])
        return value

    def op_delete(self, instruction: Instruction) -> Value:
        owner, key = self._values[instruction[2]], instruction[3]
        if type(key) is str:
            names: tuple[str, ...] = (key,)
        else:
            resolved = self._property_keys.to_property_key(self._values[key], instruction[5])
            names = resolved.names
            if resolved.unknown or resolved.elsewhere:
                self._exposure.expect_deletions()
        if "constructor" in names:
            self._exposure.expect_deletions()
        for atom in owner:
            self._judgement.change(atom, instruction[5])
            if isinstance(atom, HeapObject):
                self._store.doubt(atom, names)
                if type(key) is not str:
                    atom.readers[self._dataflow.reader] = None
                    self._store.doubt(atom, atom.properties)
                self._store.inexact(atom)
                continue
            if type(atom) is Known:
                self._exposure.expect_removals()
            if type(atom) is Known and atom.label is not None and atom.path != "globalThis":
                self._findings.report(
                    atom.label, Rank.USED, instruction[5], atom, f"`{atom.path}` is changed"
                )
            elif type(atom) is Known and atom.path.endswith(".prototype"):
                self._findings.report(
                    prototype_tampering.LABEL,
                    Rank.USED,
                    instruction[5],
                    atom,
                    f"`{atom.path}` is changed",
                )
        return self._operators.apply_unary_operator("delete", V_UNKNOWN, instruction[5])
