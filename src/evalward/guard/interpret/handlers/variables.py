"""Handlers of names: variables, globals, ``this``, ``super``, ``arguments``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    TAINTED_SELECTION_PROTOTYPE,
    UNKNOWN_NESTED_DATA,
    V_ANY_NUMBER,
    V_GLOBAL,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Primitive,
    Value,
    host,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject, Readers
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import TRAVELS
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.heap import Activation
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.scope import Reference, UnitIndex
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.catalogued import Catalogued
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.objects.prototypes import Prototypes
    from evalward.guard.interpret.objects.writes import Writes
    from evalward.guard.interpret.run_state import RunState

_SEARCHES = frozenset({"has", "includes", "indexOf"})


_ELSE = frozenset({"||", "??"})


class Variables:
    """Instructions that read and write names."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        host_objects: HostObjects,
        prototypes: Prototypes,
        catalogued: Catalogued,
        writes: Writes,
        ordinary_calls: OrdinaryCalls,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._exposure = state.exposure
        self._findings = state.findings
        self._arguments_given = state.surroundings.arguments_given
        self._bindings = state.surroundings.bindings
        self._catalogue = state.surroundings.catalogue
        self._lowered = state.surroundings.lowered
        self._modules = state.surroundings.modules
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._host_objects = host_objects
        self._prototypes = prototypes
        self._catalogued = catalogued
        self._writes = writes
        self._ordinary_calls = ordinary_calls
        self._stored: set[int] | None = None

    def op_load(self, instruction: Instruction) -> Value:
        dataflow = self._dataflow
        reference: Reference = instruction[2]
        register = reference.register
        if not reference.is_global:
            if (
                register in dataflow.local
            ):  # the same as `read`, without a Python call: two instructions in five are loads
                dataflow.loaded.add(register)
            else:
                readers = dataflow.readers.get(register)
                if readers is None:
                    readers = dataflow.readers[register] = Readers()
                readers[dataflow.reader] = None
            return self._values[register]
        if register < 0:
            return self.load_global(reference, instruction[5])
        result = dataflow.read(register)
        name = reference.name
        if (
            name != "arguments"
            and name not in self._catalogue.globals
            and name not in self._bindings
            and not (reference.is_global and name in self._modules and not self._is_stored(reference))
        ):
            return result if not reference.implicit else join(result, of(host(name)))
        return join(result, self.load_global(reference, instruction[5]))

    def op_narrow(self, instruction: Instruction) -> Value:
        """Read a key that the payload has checked against its own list: it is one of the list's texts."""
        loaded = self.op_load(instruction)
        listed: Reference | int = instruction[3]
        if isinstance(listed, int):
            names = self._values[listed]
        elif listed.is_global or listed.register < 0:
            return loaded
        else:
            names = self._listed_in(self._dataflow.read(listed.register))
        return names if names and loaded else loaded

    def _listed_in(self, lists: Value) -> Value:
        """Return the elements of the payload's own arrays and sets, BOTTOM when not all of them are texts.

        Who changes the methods that all of them inherit is blocked for that (`prototype-tampering`).
        """
        names: Value = BOTTOM
        for atom in lists:
            if not isinstance(atom, HeapObject):
                return BOTTOM
            atom.readers[self._dataflow.reader] = None
            if atom.kind not in {"array", "set"} or atom.escaped or atom.extensible or atom.prototype:
                return BOTTOM
            if not _SEARCHES.isdisjoint(atom.properties):
                return BOTTOM  # the payload's own method answers
            names = join(names, atom.contents())
        return names if all(type(atom) is str for atom in names) else BOTTOM

    def _is_stored(self, reference: Reference) -> bool:
        """Whether the payload assigns a name anywhere: a ``var vm`` without a value keeps the previous one."""
        if self._stored is None:
            code = [instruction for unit in self._dataflow.units for instruction in unit.code]
            own = {(i[1], i[2].register) for i in code if i[0] is Op.LOAD}
            reads = dict(own)
            own |= {
                (i[1], reads[i[3]]) for i in code if i[0] is Op.BINARY and i[2] in _ELSE and i[3] in reads
            }
            self._stored = {
                i[2].register
                for i in code
                if i[0] is Op.STORE
                and self._lowered.constants.get(i[3]) != V_UNDEFINED
                and (i[3], i[2].register) not in own  # `var fs = fs || {}`
            }
        return reference.register in self._stored

    def load_global(self, reference: Reference, span: Span) -> Value:
        """Return the value of a name that the payload does not bind."""
        name = reference.name
        if name == "arguments":
            unit = self._arguments_unit(reference.scope.unit)
            if unit is not None:
                return of(self._arguments(unit))
            return self._sink_arguments()
        bound = self._bindings.get(name)
        if bound is not None:
            return join(bound, self._of_page(name)) if self._travels(reference) else bound
        member = self._catalogue.globals.get(name)
        stored = self._catalogued.global_value(name)
        if stored and member is None and not (stored == V_UNDEFINED and name in self._modules):
            return join(stored, of(host(name)))
        if member is None and name in self._modules and not stored - V_UNDEFINED:
            module = self._catalogued.module_named(name, span)
            return join(module, self._of_page(name)) if self._travels(reference) else module
        if member is None:
            inherited = self._catalogued.get_builtin("Object.prototype", name, span)
            return inherited or of(host(name)) | self._exposure.named_window(name)
        made = self._host_objects.constant(member.result, member.label)
        if made is None:
            made = self._host_objects.materialize(member.result, span.start, member.label, name)
        for atom in made:
            if type(atom) is Known and atom.label is not None:
                self._findings.origin(atom, None, f"`{atom.path}` is read here", span)
        return join(made, stored) if stored else made

    def _travels(self, reference: Reference) -> bool:
        """Whether a page evaluates the function with this reference, where a name of the driver is not bound."""
        patches = self._store.patches
        if not patches.has(TRAVELS):
            return False
        unit: UnitIndex | None = reference.scope.unit
        while unit is not None and not patches.has(f"{TRAVELS}{int(unit)}"):
            unit = self._lowered.units[unit].outer
        return unit is not None

    def _of_page(self, name: str) -> Value:
        """Return what a name of the driver may be in a page: an element, or what a script put there."""
        return join(self._catalogued.global_value(name), of(host(name)))

    def _arguments_unit(self, unit: UnitIndex) -> Activation | None:
        current: UnitIndex | None = unit
        units = self._lowered.units
        while current is not None and units[current].arrow:
            current = units[current].outer
        if current is None or units[current].outer is None:
            return None
        return self._dataflow.units[current]

    def _sink_arguments(self) -> Value:
        """Return the ``arguments`` of the sink's own function: in any order, what it binds.

        A sink that runs the text in an arrow function within ``Function('electronApp', ...)`` shows it these.
        """
        bound: Value = frozenset(
            atom
            for value in self._bindings.values()
            for atom in value
            if type(atom) is Known and atom.label is None
        )
        bound = join(bound, self._arguments_given)
        if not bound:
            return of(host("arguments"))
        holder = self._store.allocate("arguments", -1, "sink")
        self._store.put_element(holder, bound)
        holder.readers[self._dataflow.reader] = None
        return of(holder, host("arguments"))

    def _arguments(self, unit: Activation) -> HeapObject:
        """Return a function's ``arguments``; in sloppy code it writes through to the parameters."""
        dataflow = self._dataflow
        holder = self._ordinary_calls.arguments_object(unit)
        holder.readers[dataflow.reader] = None
        if not unit.strict:
            written, items = holder.elements, holder.items
            for index, register in enumerate(unit.parameters):
                dataflow.write(register, join(written, items[index]) if index < len(items) else written)
                self._store.put_item(holder, index, dataflow.read(register))
        return holder

    def op_store(self, instruction: Instruction) -> Value:
        reference: Reference = instruction[2]
        value = self._values[instruction[3]]
        if reference.register >= 0:
            # A counter becomes any number at once, so that its readers do not run twice.
            if reference.register in self._lowered.counters and any(
                type(atom) is Primitive and atom.type == "number" for atom in value
            ):
                value = join(value, V_ANY_NUMBER)
            self._dataflow.write(reference.register, value)
        if reference.is_global:
            span = instruction[5]
            if reference.register < 0 or reference.implicit:
                self._store_global(reference.name, value, span)
            elif value:
                self.store_script_binding(value, span)
        return value

    def store_script_binding(self, value: Value, span: Span) -> None:
        """Judge what a script's own ``var`` keeps: it outlives the payload, the global object aside.

        What may be a function constructor among data is handed on as by `const`: `var cell = table[row][column]`.
        """
        among_data = TAINTED_SELECTION_PROTOTYPE not in value and not self._strict
        self._judgement.use(
            frozenset(
                a
                for a in value
                if not (type(a) is Known and (a.path == "globalThis" or a.label is None))
                and not (a is UNKNOWN_NESTED_DATA and among_data)
            ),
            Flow.GLOBAL,
            span,
        )

    def _store_global(self, name: str, value: Value, span: Span) -> None:
        if name in self._bindings:
            self._judgement.leak(value, Flow.PROPERTY, span)
            return
        self._writes.set(V_GLOBAL, name, value, span)

    def op_this(self, instruction: Instruction) -> Value:
        value = self._dataflow.read(self._dataflow.units[instruction[2]].this)
        for atom in value:
            if type(atom) is Known and atom.label is not None:
                self._findings.origin(atom, None, "`this` is the global object here", instruction[5])
        return value

    def op_super(self, instruction: Instruction) -> Value:
        unit = self._dataflow.units[instruction[2]]
        if unit.function is None:
            return V_UNKNOWN
        unit.function.readers[self._dataflow.reader] = None
        home = unit.function.home
        return self._prototypes.get_prototype_of(home) if home is not None else V_UNKNOWN

    def op_new_target(self, instruction: Instruction) -> Value:
        unit = self._dataflow.units[instruction[2]]
        return (
            join(self._dataflow.read(unit.new_target), V_UNDEFINED) if unit.new_target >= 0 else V_UNDEFINED
        )
