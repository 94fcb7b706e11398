"""The interpreter: runs units until nothing changes, then judges what was reached (guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.guard.resolver.calls import V_GLOBAL, Calls
from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.ir import Op
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.values import (
    BOTTOM,
    BUILT,
    DATA,
    NULL,
    TEXT,
    U0,
    U1,
    U2,
    UNDEFINED,
    V_DATA,
    V_NUMBER,
    V_STRING,
    V_U1,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    host,
    join,
    known,
    of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.resolver.ir import Instruction, Lowered, Unit
    from evalward.guard.resolver.scope import Reference


class Interpreter(Calls):
    """Joins over every order in which a payload's instructions may run, to a fixpoint."""

    def __init__(
        self,
        lowered: Lowered,
        catalogue: Catalogue,
        *,
        steps: int,
        strict: bool,
        bindings: Mapping[str, Value],
        parameter: Value | None,
        module: bool,
    ) -> None:
        super().__init__(lowered, catalogue, steps=steps, strict=strict)
        self.bindings = bindings
        self.parameter = parameter
        self.active = []
        self.constructors: set[int] = set()  # registers of reads by the name `constructor`
        top = lowered.units[0]
        self.values[top.this] = V_UNDEFINED if module else V_GLOBAL
        self.operations: list[Callable[[Instruction], Value]] = [
            getattr(self, f"op_{op.name.lower()}") for op in Op
        ]

    def run(self) -> None:
        """Run to the fixpoint; functions that nothing calls are run last, as if the host called them."""
        top = self.lowered.units[0]
        top.ran = True
        self.enqueue(top)
        self._drain()
        for unit in self.lowered.units:
            if not unit.ran and unit.function is not None:
                self.escape_object(unit.function)
                self._drain()
        if not self.guarded:
            for start, end in self.polluted:
                note = "written through what a key from outside selects"
                self.report("prototype-tampering", 0, start, end, None, note)

    def _drain(self) -> None:
        while self.queue or self.pending_escapes:
            while self.pending_escapes:
                self._escape(self.pending_escapes.pop())
            if self.queue:
                unit = self.queue.popleft()
                unit.queued = False
                self._execute(unit)

    def _execute(self, unit: Unit) -> None:
        self.unit = unit
        operations, values = self.operations, self.values
        self.spend(len(unit.code))
        for instruction in unit.code:
            values[instruction[1]] = operations[instruction[0]](instruction)

    def _escape(self, target: HeapObject) -> None:
        """Let the host do what it may with an object: read and replace its properties, call it with anything."""
        for value in list(target.properties.values()) + [target.elements] + list(target.items):
            self.leak(value, Flow.ARGUMENT, target.start, target.start)
        for accessor in (*target.getters.values(), *target.setters.values()):
            self.leak(accessor, Flow.CALLBACK, target.start, target.start)
        if target.bound is not None:
            self.leak(target.bound[0], Flow.CALLBACK, target.start, target.start)
        unit = target.unit
        if target.kind == "class":
            self.leak(self.construct(of(target), (), target.start, target.start, V_U1), Flow.RETURN, target.start, target.start)
        elif unit is not None and target.kind == "function":
            previous, self.unit = self.unit, unit
            self.enter(target, V_U1, [V_U1] * len(unit.parameters), V_U1)
            self.unit = previous
            self.leak(self.values[unit.result], Flow.RETURN, target.start, target.start)

    # Names

    def op_load(self, instruction: Instruction) -> Value:
        reference: Reference = instruction[2]
        result = self.read(reference.register) if reference.register >= 0 else BOTTOM
        if not reference.is_global:
            return result
        name = reference.name
        if reference.register >= 0 and name not in self.catalogue.globals and name not in self.bindings:
            return result if not reference.implicit else join(result, of(host(name)))
        return join(result, self.load_global(reference, instruction[5], instruction[6]))

    def load_global(self, reference: Reference, start: int, end: int) -> Value:
        """Return a name that the payload does not bind."""
        name = reference.name
        if name == "arguments":
            unit = self._arguments_unit(reference.scope.unit)
            if unit is not None:
                return of(self._arguments(unit))
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
        made = self.materialize(member.result, start, member.label)
        for atom in made:
            if type(atom) is Known and atom.label is not None:
                self.origin(atom, None, f"`{atom.path}` is read here", start, end)
        return join(made, stored)

    def global_value(self, name: str) -> Value:
        """Return what the payload itself put on the global object under a name."""
        self.global_object.readers.add(self.unit)
        result = self.global_object.properties.get(name, BOTTOM)
        register = self.lowered.global_registers.get(name)
        return join(result, self.read(register)) if register is not None else result

    @staticmethod
    def _arguments_unit(unit: Unit) -> Unit | None:
        current: Unit | None = unit
        while current is not None and current.arrow:
            current = current.outer
        return current if current is not None and current.outer is not None else None

    def _arguments(self, unit: Unit) -> HeapObject:
        """Return a function's ``arguments``; in sloppy code it writes through to the parameters."""
        holder = self.arguments_of(unit)
        holder.readers.add(self.unit)
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
        self.use(frozenset(a for a in value if not (type(a) is Known and a.path == "globalThis")), Flow.GLOBAL, start, end)

    def _store_global(self, name: str, value: Value, start: int, end: int) -> None:
        if name in self.bindings:
            self.leak(value, Flow.PROPERTY, start, end)
            return
        self.set(V_GLOBAL, name, value, start, end)

    def op_typeof_name(self, instruction: Instruction) -> Value:
        return self.op_load(instruction)

    def op_this(self, instruction: Instruction) -> Value:
        value = self.read(instruction[2].this)
        for atom in value:
            if type(atom) is Known and atom.label is not None:
                self.origin(atom, None, "`this` is the global object here", instruction[5], instruction[6])
        return value

    def op_super(self, instruction: Instruction) -> Value:
        unit: Unit = instruction[2]
        home = unit.function.home if unit.function is not None else None
        return self.prototype_of(home) if home is not None else V_U1

    def op_new_target(self, instruction: Instruction) -> Value:
        unit: Unit = instruction[2]
        return join(self.read(unit.new_target), V_UNDEFINED) if unit.new_target >= 0 else V_UNDEFINED

    op_arguments = op_typeof_name

    # Members

    def op_get(self, instruction: Instruction) -> Value:
        owner, key = self.values[instruction[2]], instruction[3]
        if key == "constructor":
            made = self.get(owner, key, instruction[5], instruction[6])
            self.constructors.add(instruction[1])
            return self.relabelled(made) if instruction[2] in self.constructors else made
        if type(key) is str:
            return self.get(owner, key, instruction[5], instruction[6])
        if "constructor" in self.values[key]:
            self.constructors.add(instruction[1])
            made = self.get_computed(owner, self.values[key], instruction[5], instruction[6])
            return self.relabelled(made) if instruction[2] in self.constructors else made
        return self.get_computed(owner, self.values[key], instruction[5], instruction[6])

    def op_set(self, instruction: Instruction) -> Value:
        owner, key, value = self.values[instruction[2]], instruction[3], self.values[instruction[4]]
        if type(key) is str:
            self.set(owner, key, value, instruction[5], instruction[6])
        else:
            self.set_computed(owner, self.values[key], value, instruction[5], instruction[6])
        return value

    def op_delete(self, instruction: Instruction) -> Value:
        owner, key = self.values[instruction[2]], instruction[3]
        names = (key,) if type(key) is str else self.key(self.values[key], instruction[5], instruction[6]).names
        for atom in owner:
            if isinstance(atom, HeapObject):
                atom.uncertain.update(names)
                if type(key) is not str:
                    atom.uncertain.update(atom.properties)
                self.inexact(atom)
            elif type(atom) is Known and atom.label is not None and atom.path != "globalThis":
                self.report(atom.label, 0, instruction[5], instruction[6], atom, f"`{atom.path}` is changed")
            elif type(atom) is Known and atom.path.endswith(".prototype"):
                self.report("prototype-tampering", 0, instruction[5], instruction[6], atom, f"`{atom.path}` is changed")
        return self.unary("delete", V_U1, instruction[5], instruction[6])

    # Calls

    def _arguments_of(self, registers: tuple[int, ...], start: int, end: int) -> tuple[list[Value], Value]:
        """Return the values of call arguments, and the join of those whose position is unknown."""
        args: list[Value] = []
        rest: Value = BOTTOM
        for register in registers:
            if register >= 0:
                if rest:
                    rest = join(rest, self.values[register])
                else:
                    args.append(self.values[register])
                continue
            spread = self.values[~register]
            items = self.items_of(spread)
            if items is not None and not rest:
                args.extend(items)
            else:
                rest = join(rest, self.iterated(spread, None, start, end) or V_UNDEFINED)
        return args, rest

    def op_call(self, instruction: Instruction) -> Value:
        _, _, callee, registers, _, start, end = instruction
        args, rest = self._arguments_of(registers, start, end)
        return self.call(self.values[callee], V_UNDEFINED, args, start, end, rest)

    def op_call_method(self, instruction: Instruction) -> Value:
        _, _, owner_register, key, registers, start, end = instruction
        args, rest = self._arguments_of(registers, start, end)
        owner = self.values[owner_register]
        twice = owner_register in self.constructors
        result: Value = BOTTOM
        for atom in owner:
            one = of(atom)
            function = self.get(one, key, start, end) if type(key) is str else self.get_computed(one, self.values[key], start, end)
            if twice and (key == "constructor" or (type(key) is int and "constructor" in self.values[key])):
                function = self.relabelled(function)
            result = join(result, self.call(function, one, args, start, end, rest))
        return result

    def op_tagged(self, instruction: Instruction) -> Value:
        _, _, (callee, key), strings, registers, start, end = instruction
        value = self.values[callee]
        this = V_UNDEFINED
        if key is not None:
            this = value
            value = self.get(this, key, start, end) if type(key) is str else self.get_computed(this, self.values[key], start, end)
        array = self.values[strings]
        for atom in array:
            if isinstance(atom, HeapObject):
                self.put(atom, "raw", array)
        args = [array, *(self.values[register] for register in registers)]
        return self.call(value, this, args, start, end)

    def op_new(self, instruction: Instruction) -> Value:
        _, _, callee, registers, _, start, end = instruction
        args, rest = self._arguments_of(registers, start, end)
        return self.construct(self.values[callee], args, start, end, rest)

    def op_super_call(self, instruction: Instruction) -> Value:
        _, _, unit, registers, _, start, end = instruction
        args, rest = self._arguments_of(registers, start, end)
        function = unit.function
        home = function.home if function is not None else None
        owner = next((a for a in home.properties.get("constructor", BOTTOM) if isinstance(a, HeapObject)), None) if home is not None else None
        if owner is None:
            return V_U1
        replaced = self.construct_parent(owner, self.read(unit.this), args, rest, start, end)
        if replaced:
            self.write(unit.this, frozenset(a for a in replaced if isinstance(a, (HeapObject, Known)) or a in {U0, U1, BUILT}))
        return self.read(unit.this)

    def op_import(self, instruction: Instruction) -> Value:
        self.report("import()", 0, instruction[5], instruction[6], None, "a module is imported")
        return V_U1

    def op_import_meta(self, instruction: Instruction) -> Value:
        self.report("import.meta", 0, instruction[5], instruction[6], None, "`import.meta` is read")
        return V_U1

    def op_static_import(self, instruction: Instruction) -> Value:
        self.report("static-import", 0, instruction[5], instruction[6], None, "a module is imported or exported")
        return V_U1

    # Operators and literals

    def op_binary(self, instruction: Instruction) -> Value:
        operator, left, right = instruction[2], self.values[instruction[3]], self.values[instruction[4]]
        if operator == "instanceof":
            method = BOTTOM
            for atom in right:
                if isinstance(atom, HeapObject):
                    method = join(method, self.own_or_payload(atom, "@@hasInstance"))
            if method:
                self.use(method, Flow.CALLBACK, instruction[5], instruction[6])
                self.call(method, right, (left,), instruction[5], instruction[6])
        elif operator == "in":
            for atom in right:
                if isinstance(atom, HeapObject) and atom.kind == "proxy":
                    self.get_unknown(atom, instruction[5], instruction[6])
        elif "__proto__" in left or "__proto__" in right:
            self.guarded = True
        return self.binary(operator, left, right, instruction[5], instruction[6])

    def op_unary(self, instruction: Instruction) -> Value:
        return self.unary(instruction[2], self.values[instruction[3]], instruction[5], instruction[6])

    def op_update(self, instruction: Instruction) -> Value:
        _, _, register, step, variable, start, end = instruction
        return self.update(self.values[register], step, start, end, variable=variable)

    def op_join(self, instruction: Instruction) -> Value:
        result = BOTTOM
        for register in instruction[2]:
            result = join(result, self.values[register])
        return result

    def op_template(self, instruction: Instruction) -> Value:
        start, end = instruction[5], instruction[6]
        return self.concatenated([self.strings(self.values[register], start, end) for register in instruction[2]])

    def op_array(self, instruction: Instruction) -> Value:
        array = self.allocate("array", instruction[5])
        index = 0
        for register in instruction[2]:
            if register >= 0:
                if array.exact:
                    self.put_item(array, index, self.values[register])
                else:
                    self.put_element(array, self.values[register])
                index += 1
                continue
            spread = self.values[~register]
            items = self.items_of(spread)
            if items is None or (array.items and len(array.items) < index):
                self.inexact(array)
                self.put_element(array, self.iterated(spread, None, instruction[5], instruction[6]))
                continue
            for item in list(items):
                self.put_item(array, index, item)
                index += 1
        if array.exact and len(array.items) != index:
            self.inexact(array)
        return of(array)

    def op_object(self, instruction: Instruction) -> Value:
        target = self.allocate("object", instruction[5])
        start, end = instruction[5], instruction[6]
        for kind, key, register in instruction[2]:
            value = self.values[register]
            if kind == "spread":
                self.copy_properties(target, value, start, end)
            else:
                self._define_member(target, kind, key, value, start, end)
        return of(target)

    def _define_member(self, target: HeapObject, kind: str, key: str | int, value: Value, start: int, end: int) -> None:
        for atom in value:
            if isinstance(atom, HeapObject) and atom.unit is not None and atom.unit.method:
                atom.home = target
        if type(key) is str:
            names: tuple[str, ...] = (key,)
        else:
            resolved = self.key(self.values[key], start, end)  # type: ignore[index]  # a register
            names = resolved.names
            if resolved.unknown or resolved.numeric:
                target.extensible = target.extensible or resolved.unknown
                self.put_element(target, self.call(value, of(target), (), start, end) if kind == "get" else value)
        for name in names:
            if kind == "init":
                if name == "__proto__":
                    self.report("__proto__", 0, start, end, None, "`__proto__` is written")
                    self.put_prototype(target, value)
                self.put(target, name, value)
            else:
                self.put_accessor(target, name, value, setter=kind == "set")
                if target.escaped:
                    self.leak(value, Flow.CALLBACK, start, end)

    def copy_properties(self, target: HeapObject, source: Value, start: int, end: int) -> None:
        """Copy own enumerable properties, as a spread and ``Object.assign`` do."""
        for atom in source:
            if isinstance(atom, HeapObject):
                atom.readers.add(self.unit)
                for name, value in list(atom.properties.items()):
                    if not name.startswith("@@") or name == "@@toPrimitive":
                        target.uncertain.add(name) if name not in target.properties else None
                        self.put(target, name, value)
                for name, getter in list(atom.getters.items()):
                    self.put(target, name, self.call(getter, of(atom), (), start, end) or V_UNDEFINED)
                for index, item in enumerate(atom.items):
                    self.put(target, str(index), item)
                if atom.elements or atom.escaped:
                    target.extensible = True
                    self.put_element(target, join(atom.elements, V_U1 if atom.escaped else BOTTOM))
            elif type(atom) is Known and atom.label is not None:
                self.use(of(atom), Flow.ARGUMENT, start, end)
            elif not (type(atom) is Primitive or type(atom) is str):
                copied = self.get_unknown(atom, start, end) if type(atom) is Known else V_DATA
                target.extensible = True
                self.put_element(target, copied)

    def op_regexp(self, instruction: Instruction) -> Value:
        made = self.allocate("regexp", instruction[5])
        self.put_element(made, of(instruction[2]))
        self.put(made, "source", of(instruction[2]))
        self.put(made, "flags", of(instruction[3]))
        return of(made)

    # Functions and classes

    def op_function(self, instruction: Instruction) -> Value:
        unit: Unit = instruction[2]
        if unit.function is None:
            unit.function = self.allocate("function", unit.start)
            unit.function.unit = unit
        return of(unit.function)

    def op_class(self, instruction: Instruction) -> Value:
        _, _, (name, parent, constructor), members, (instance, static), start, end = instruction
        target = self.allocate("class", start)
        prototype = self.allocate("object", start, "prototype")
        self.put(target, "prototype", of(prototype))
        self.put(target, "@@name", of(name) if name else V_STRING)
        self.put(prototype, "constructor", of(target))
        if parent is not None:
            above = self.values[parent]
            self.use(above, Flow.CONSTRUCT, start, end)
            self.put_prototype(target, above)
            self.put_prototype(prototype, self.get(above, "prototype", start, end))
            for atom in above:
                if type(atom) is Known and self.catalogue.get(atom.path).instance:
                    self.put_prototype(prototype, of(known(self.catalogue.get(atom.path).instance)))
        if constructor is not None:
            self.put(target, "@@constructor", self.values[constructor])
            for atom in self.values[constructor]:
                if isinstance(atom, HeapObject):
                    atom.home = prototype
        for is_static, kind, key, register in members:
            self._define_member(target if is_static else prototype, kind, key, self.values[register], start, end)
        for unit, owner in ((instance, prototype), (static, target)):
            if not unit.code:
                unit.ran = True
                continue
            if unit.function is None:
                unit.function = self.allocate("function", start, unit.name)
                unit.function.unit = unit
                unit.function.home = owner
        if instance.code:
            self.put(target, "@@fields", of(instance.function))
        if static.code:
            self.enter(static.function, of(target), ())
        return of(target)

    # Iteration, asynchrony, exits

    def op_spread(self, instruction: Instruction) -> Value:
        return self.iterated(self.values[instruction[2]], None, instruction[5], instruction[6])

    def op_iterate(self, instruction: Instruction) -> Value:
        return self.iterated(self.values[instruction[2]], instruction[3], instruction[5], instruction[6])

    def op_rest(self, instruction: Instruction) -> Value:
        array = self.allocate("array", instruction[5])
        items = self.items_of(self.values[instruction[2]])
        if items is None:
            self.inexact(array)
            self.put_element(array, self.iterated(self.values[instruction[2]], None, instruction[5], instruction[6]))
        else:
            for index, item in enumerate(items[instruction[3] :]):
                self.put_item(array, index, item)
        return of(array)

    def op_omit(self, instruction: Instruction) -> Value:
        target = self.allocate("object", instruction[5])
        self.copy_properties(target, self.values[instruction[2]], instruction[5], instruction[6])
        return of(target)

    def op_keys(self, instruction: Instruction) -> Value:
        result: Value = BOTTOM
        for atom in self.values[instruction[2]]:
            result = join(result, self.enumerable_keys(atom))
        return result

    def op_await(self, instruction: Instruction) -> Value:
        return self.awaited(self.values[instruction[2]], instruction[5], instruction[6])

    def op_yield(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        if instruction[3]:
            value = self.iterated(value, None, instruction[5], instruction[6])
        self.write(self.unit.yielded, value)
        return join(self.read(self.unit.sent), V_UNDEFINED)

    def op_return(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        self.write(self.unit.result, value)
        function = self.unit.function
        if function is not None and function.escaped:
            self.leak(value, Flow.RETURN, instruction[5], instruction[6])
        return value

    def op_throw(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        self.write(self.thrown, value)
        self.use(value, Flow.THROW, instruction[5], instruction[6])
        return value

    def op_caught(self, _instruction: Instruction) -> Value:
        return join(self.read(self.thrown), of(U2))

    def op_complete(self, instruction: Instruction) -> Value:
        value = self.values[instruction[2]]
        start, end = instruction[5], instruction[6]
        if self.parameter is not None:
            self.use(frozenset(a for a in value if a in {U0, BUILT}), Flow.CALLBACK, start, end)
            value = self.call(value, V_UNDEFINED, (self.parameter,), start, end, V_DATA)
        self.leak(self.awaited(value, start, end), Flow.RETURN, start, end)
        return value

    def op_with(self, instruction: Instruction) -> Value:
        self.report("with", 0, instruction[5], instruction[6], None, "`with` changes what names mean")
        return BOTTOM

    def op_havoc(self, instruction: Instruction) -> Value:
        for register in instruction[2]:
            self.leak(self.values[register], Flow.ARGUMENT, instruction[5], instruction[6])
        return V_U1

    def enumerable_keys(self, atom: Any) -> Value:
        """Return the keys that ``for … in`` and ``Object.keys`` may give."""
        if not isinstance(atom, HeapObject):
            if atom is UNDEFINED or atom is NULL:
                return BOTTOM
            return of(TEXT) if atom is DATA else V_STRING
        atom.readers.add(self.unit)
        names = frozenset(name for name in (*atom.properties, *atom.getters) if not name.startswith(("@@", "#")))
        if atom.kind in {"array", "arguments"}:
            return V_NUMBER
        return join(names, V_STRING) if atom.extensible or atom.escaped or atom.prototype else names
