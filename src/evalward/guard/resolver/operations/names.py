"""Names: variables, globals, ``this``, ``super``, ``arguments``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.resolver.constructions import Constructions
from evalward.guard.resolver.heap import Readers
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.values import (
    BOTTOM,
    V_GLOBAL,
    V_NUMBER,
    V_U1,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    host,
    join,
    of,
)

if TYPE_CHECKING:
    from evalward.guard.resolver.heap import HeapObject
    from evalward.guard.resolver.ir import Instruction, Unit
    from evalward.guard.resolver.scope import Reference


class Names(Constructions):
    """Instructions that read and write names."""

    def op_load(self, instruction: Instruction) -> Value:
        reference: Reference = instruction[2]
        register = reference.register
        if not reference.is_global:
            if (
                register in self.local
            ):  # as `read` does, without a call: two instructions in five are this one
                self.loaded.add(register)
            else:
                readers = self.readers.get(register)
                if readers is None:
                    readers = self.readers[register] = Readers()
                readers[self.reader] = None
            return self.values[register]
        if register < 0:
            return self.load_global(reference, instruction[5], instruction[6])
        result = self.read(register)
        name = reference.name
        if name not in self.catalogue.globals and name not in self.bindings:
            return result if not reference.implicit else join(result, of(host(name)))
        return join(result, self.load_global(reference, instruction[5], instruction[6]))

    def load_global(self, reference: Reference, start: int, end: int) -> Value:
        """Return a name that the payload does not bind."""
        name = reference.name
        if name == "arguments":
            unit = self._arguments_unit(reference.scope.unit)
            if unit is not None:
                return of(self._arguments(unit))
            return self._sink_arguments()
        bound = self.bindings.get(name)
        if bound is not None:
            return bound
        member = self.catalogue.globals.get(name)
        stored = self.global_value(name)
        if stored and member is None:
            return join(stored, of(host(name)))
        if member is None:
            inherited = self.get_builtin("Object.prototype", name, start, end)
            return inherited or of(host(name))
        made = self.constant(member.result, member.label)
        if made is None:
            made = self.materialize(member.result, start, member.label, name)
        for atom in made:
            if type(atom) is Known and atom.label is not None:
                self.origin(atom, None, f"`{atom.path}` is read here", start, end)
        return join(made, stored) if stored else made

    def global_value(self, name: str) -> Value:
        """Return what the payload itself put on the global object under a name."""
        self.global_object.readers[self.reader] = None
        result = self.global_object.properties.get(name, BOTTOM)
        register = self.lowered.global_registers.get(name)
        return join(result, self.read(register)) if register is not None else result

    @staticmethod
    def _arguments_unit(unit: Unit) -> Unit | None:
        current: Unit | None = unit
        while current is not None and current.arrow:
            current = current.outer
        return current if current is not None and current.outer is not None else None

    def _sink_arguments(self) -> Value:
        """Return the ``arguments`` of the sink's own function: in any order, what it binds.

        A sink that runs the text in an arrow function within ``Function('electronApp', ...)`` shows it these.
        """
        bound = frozenset(
            atom
            for value in self.bindings.values()
            for atom in value
            if type(atom) is Known and atom.label is None
        )
        if not bound:
            return of(host("arguments"))
        holder = self.allocate("arguments", -1, "sink")
        self.put_element(holder, bound)
        holder.readers[self.reader] = None
        return of(holder, host("arguments"))

    def _arguments(self, unit: Unit) -> HeapObject:
        """Return a function's ``arguments``; in sloppy code it writes through to the parameters."""
        holder = self.arguments_of(unit)
        holder.readers[self.reader] = None
        if not unit.strict:
            written, items = holder.elements, holder.items
            for index, register in enumerate(unit.parameters):
                self.write(register, join(written, items[index]) if index < len(items) else written)
                self.put_item(holder, index, self.read(register))
        return holder

    def op_store(self, instruction: Instruction) -> Value:
        reference: Reference = instruction[2]
        value = self.values[instruction[3]]
        if reference.register >= 0:
            # A number that `++` will make any number is so from the start: what reads it need not run twice.
            if reference.register in self.lowered.counters and any(
                type(atom) is Primitive and atom.type == "number" for atom in value
            ):
                value = join(value, V_NUMBER)
            self.write(reference.register, value)
        if reference.is_global:
            start, end = instruction[5], instruction[6]
            if reference.register < 0 or reference.implicit:
                self._store_global(reference.name, value, start, end)
            elif value:
                self.store_script_binding(value, start, end)
        return value

    def store_script_binding(self, value: Value, start: int, end: int) -> None:
        """Judge what a script's own ``var`` keeps: it outlives the payload, the global object aside."""
        self.use(
            frozenset(
                a for a in value if not (type(a) is Known and (a.path == "globalThis" or a.label is None))
            ),
            Flow.GLOBAL,
            start,
            end,
        )

    def _store_global(self, name: str, value: Value, start: int, end: int) -> None:
        if name in self.bindings:
            self.leak(value, Flow.PROPERTY, start, end)
            return
        self.set(V_GLOBAL, name, value, start, end)

    def op_this(self, instruction: Instruction) -> Value:
        value = self.read(instruction[2].this)
        for atom in value:
            if type(atom) is Known and atom.label is not None:
                self.origin(atom, None, "`this` is the global object here", instruction[5], instruction[6])
        return value

    def op_super(self, instruction: Instruction) -> Value:
        unit: Unit = instruction[2]
        if unit.function is None:
            return V_U1
        unit.function.readers[self.reader] = None
        home = unit.function.home
        return self.prototype_of(home) if home is not None else V_U1

    def op_new_target(self, instruction: Instruction) -> Value:
        unit: Unit = instruction[2]
        return join(self.read(unit.new_target), V_UNDEFINED) if unit.new_target >= 0 else V_UNDEFINED
