"""Members and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    BUILT,
    DATA,
    SPELLING,
    U0,
    U1,
    V_DATA,
    V_NUMBER,
    V_U1,
    V_UNDEFINED,
    W0,
    Host,
    Known,
    Primitive,
    Value,
    is_tainted,
    join,
    of,
)
from evalward.guard.interpret.calls.calls import in_order, objects_of
from evalward.guard.interpret.handlers.limited_reads import Instances
from evalward.guard.interpret.judgement import Flow

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.values import Atom

_DEFINITE = frozenset({HeapObject, Known, str, Primitive})  # neither unknown nor the host's own
_LEADING = frozenset({U0, U1, W0, BUILT})
_MAX_ROUNDS = 4
_STORING = frozenset({"push", "unshift", "splice", "fill", "concat", "with", "toSpliced", "set", "add"})
_REDUCING = frozenset({"reduce", "reduceRight"})
_MAPPING = frozenset({"map", "flatMap"})  # give what the callback gives
_SETTLING = frozenset({"then", "catch", "finally"})
_ITERATIONS = frozenset({"forEach", "map", "filter", "find", "findIndex", "some", "every", "flatMap"})


class Members(Instances):
    """Instructions that read, write and call members."""

    def op_get(self, instruction: Instruction) -> Value:
        owner, key = self.values[instruction[2]], instruction[3]
        if self.lowered.classes and not (len(owner) == 1 and type(next(iter(owner))) is HeapObject):
            self.take_method(owner, of(key) if type(key) is str else self.values[key])
        super_unit = self.lowered.supers.get(instruction[2])
        if super_unit is not None and type(key) is str:
            this, result = self.read(self.units[super_unit].this), BOTTOM
            for atom in owner:
                result = join(result, self.get_from(atom, key, this, instruction[5], instruction[6]))
            return result or V_UNDEFINED
        if key == "constructor":
            if instruction[4] is None:
                made = self.get(owner, key, instruction[5], instruction[6])
            else:
                classes = self.values[instruction[4]]
                made = self.get_constructor(owner, classes, instruction[5], instruction[6])
            self._asks_constructor(instruction[1])
            return self.relabelled(made) if instruction[2] in self.constructors else made
        if type(key) is str:
            return self.get(owner, key, instruction[5], instruction[6])
        if instruction[4] and not self.strict and any(type(a) is not str for a in self.values[key]):
            owner = frozenset(
                atom for atom in owner if not self.is_capability(atom) or self._holds_data(atom)
            )  # its type is no use of it, unless whether it is there tells something
        if "constructor" in self.values[key]:
            self._asks_constructor(instruction[1])
            made = self.get_by(owner, key, instruction[5], instruction[6])
            return self.relabelled(made) if instruction[2] in self.constructors else made
        return self.get_by(owner, key, instruction[5], instruction[6])

    def _holds_data(self, atom: Atom) -> bool:
        return type(atom) is Known and self.catalogue.denied_data.holds_data(atom.path)

    def _asks_constructor(self, register: int) -> None:
        """Note that a register holds what was read by the name ``constructor``."""
        if register not in self.constructors:
            self.constructors.add(register)
            self.feed(self.unit, register)

    def op_set(self, instruction: Instruction) -> Value:
        super_unit = self.lowered.supers.get(instruction[2])
        owner = self.values[instruction[2]] if super_unit is None else self.read(self.units[super_unit].this)
        key, value = instruction[3], self.values[instruction[4]]
        if super_unit is not None:
            names = of(key) if type(key) is str else self.values[key]
            self.set_through_super(
                self.values[instruction[2]], owner, names, value, instruction[5], instruction[6]
            )
        elif type(key) is str:
            self.set(owner, key, value, instruction[5], instruction[6])
        else:
            self.set_computed(owner, self.values[key], value, instruction[5], instruction[6])
        return value

    def op_delete(self, instruction: Instruction) -> Value:
        owner, key = self.values[instruction[2]], instruction[3]
        if type(key) is str:
            names: tuple[str, ...] = (key,)
        else:
            resolved = self.key(self.values[key], instruction[5], instruction[6])
            names = resolved.names
            if resolved.unknown or resolved.elsewhere:
                self.expect_deletions()
        if "constructor" in names:
            self.expect_deletions()
        for atom in owner:
            if isinstance(atom, HeapObject):
                self.doubt(atom, names)
                if type(key) is not str:
                    atom.readers[self.reader] = None
                    self.doubt(atom, atom.properties)
                self.inexact(atom)
                continue
            if type(atom) is Known:
                self.expect_removals()
            if type(atom) is Known and atom.label is not None and atom.path != "globalThis":
                self.report(atom.label, 0, instruction[5], instruction[6], atom, f"`{atom.path}` is changed")
            elif type(atom) is Known and atom.path.endswith(".prototype"):
                self.report(
                    "prototype-tampering",
                    0,
                    instruction[5],
                    instruction[6],
                    atom,
                    f"`{atom.path}` is changed",
                )
        return self.unary("delete", V_U1, instruction[5], instruction[6])

    def _arguments_of(self, registers: tuple[int, ...], start: int, end: int) -> tuple[list[Value], Value]:
        """Return the values of call arguments, and the join of those whose position is unknown."""
        values = self.values
        args = [values[register] for register in registers if register >= 0]
        if len(args) == len(registers):
            return args, BOTTOM
        args = []
        rest: Value = BOTTOM
        for register in registers:
            if register >= 0:
                if rest:
                    rest = join(rest, self.values[register])
                else:
                    args.append(self.values[register])
                continue
            spread = self.values[~register]
            items = self.iterated_items(spread)
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
        if self.lowered.classes and not (len(owner) == 1 and type(next(iter(owner))) is HeapObject):
            self.take_method(owner, of(key) if type(key) is str else self.values[key])
        twice = owner_register in self.constructors
        super_unit = self.lowered.supers.get(owner_register)
        if type(key) is int:
            self._judge_dynamic_call(owner, self.values[key], (*args, rest), start, end)
        elif len(owner) == 1 and key != "constructor" and super_unit is None and not twice:
            (atom,) = owner
            if type(atom) in _DEFINITE:
                return self.call(self.get(owner, key, start, end), owner, args, start, end, rest)
        result: Value = BOTTOM
        asks_constructor = key == "constructor" or (type(key) is int and "constructor" in self.values[key])
        for atom in in_order(owner):
            one = of(atom)
            this = one if super_unit is None else self.read(self.units[super_unit].this)
            if (key in _ITERATIONS or (key in _REDUCING and args and objects_of(args[0]))) and (
                atom is DATA or (not self.strict and (atom is U1 or type(atom) is Host))
            ):
                result = join(result, self._iterate_unknown(atom, key, args, rest, start, end))
                continue
            if atom is DATA and (key in _STORING or type(key) is int):
                for value in (*args, rest):
                    self.expect_functions(value)
            function = (
                self.get(one, key, start, end) if type(key) is str else self.get_by(one, key, start, end)
            )
            if twice and asks_constructor:
                function = self.relabelled(function)
            result = join(result, self.call(function, this, args, start, end, rest))
            if key in _SETTLING and (atom is U1 or atom is DATA or type(atom) is Host):
                result = join(result, self._then_unknown(args, start, end))
        if type(key) is int and not SPELLING.isdisjoint(self.values[key]):
            result = join(result, self.call_decoded(owner, (*args, rest), start, end))
        if asks_constructor:
            # Nobody calls `x.constructor(…)` but to build something: whatever x was found to be, the result is watched.
            self.origin(BUILT, None, "`constructor` is called", start, end)
            result = join(result, of(BUILT))
        return result

    def _then_unknown(self, args: list[Value], start: int, end: int) -> Value:
        """Return a promise of what the callbacks give that a promise of the host is told."""
        given: Value = BOTTOM
        for value in args:
            functions = frozenset(a for a in value if isinstance(a, HeapObject) and a.kind == "function")
            given = join(
                given, self.awaited(self.call(functions, V_UNDEFINED, (V_U1,), start, end), start, end)
            )
        if not given:
            return BOTTOM
        made = self.allocate("promise", start, "of the host")
        self.put_element(made, join(given, V_U1))
        return made.value

    def _iterate_unknown(
        self, atom: Atom, key: str, args: list[Value], rest: Value, start: int, end: int
    ) -> Value:
        """Call back as the array method of the name would: with an element, its index and the array."""
        element = self.get_element(atom, start) or V_U1
        given: Value = BOTTOM
        result = V_DATA if atom is DATA else V_U1
        for value in (*args, rest):
            functions = frozenset(a for a in value if isinstance(a, HeapObject) and a.kind == "function")
            each: tuple[Value, ...] = (element, V_NUMBER, of(atom))
            if key in _REDUCING:
                given = join(
                    given, self._reduce(functions, each, args[1] if len(args) > 1 else rest, start, end)
                )
            else:
                given = join(given, self.call(functions, V_U1, each, start, end))
            self.leak(value - functions, Flow.ARGUMENT, start, end)
        if key in _REDUCING:
            return join(join(result, given), args[1] if len(args) > 1 else rest)
        if key not in _MAPPING or not given:
            return result
        if key == "flatMap":
            given = join(given, self.iterated(given, None, start, end))
        made = self.allocate("array", start, "iterated")
        self.inexact(made)
        self.put_element(made, given)
        return result | of(made)

    def _reduce(
        self, functions: Value, each: tuple[Value, ...], initial: Value, start: int, end: int
    ) -> Value:
        """Return what reducing gives, which is what the function is given next."""
        given: Value = BOTTOM
        leads_on = any(a.callable if isinstance(a, HeapObject) else a in _LEADING for a in initial)
        for _ in range(_MAX_ROUNDS):
            # Methods of data, called one after another, lead to no function; read, they do.
            before = given if leads_on else given - {BUILT}
            made = self.call(functions, V_U1, (join(join(each[0], initial), before), *each), start, end)
            if made <= given:
                break
            given = join(given, made)
        return given

    def _judge_dynamic_call(
        self, owner: Value, key: Value, args: tuple[Value, ...], start: int, end: int
    ) -> None:
        """Report a call of a catalogued sink object by an unresolved key, when key or argument come from outside."""
        if all(type(atom) is not Known for atom in owner):
            return
        resolved = self.key(key, start, end)
        if not resolved.unknown or not any(args):
            return
        for atom in owner:
            if type(atom) is not Known:
                continue
            entry = self.catalogue.get(atom.path)
            outside = resolved.tainted or any(is_tainted(value) for value in args)
            outside = outside or resolved.decoded
            reflects = atom.path == "Object" and (
                (resolved.hidden and self._lead_on(args)) or self._hold_prototype(args)
            )
            if entry.sinks or reflects or (entry.unresolved == "playwright" and (outside or self.strict)):
                note = f"a member of `{atom.path}` is called by a key that cannot be resolved"
                self.report("dynamic-key", 1, start, end, atom, note)

    @staticmethod
    def _hold_prototype(args: tuple[Value, ...]) -> bool:
        """Whether a built-in prototype is handed over."""
        return any(
            type(atom) is Known and atom.path.endswith(".prototype") for value in args for atom in value
        )

    @staticmethod
    def _lead_on(args: tuple[Value, ...]) -> bool:
        """Whether what is given is, or holds, a function or an object of the host: reflection goes on from there."""
        for value in args:
            for atom in value:
                held = (atom, *atom.everything()) if isinstance(atom, HeapObject) else (atom,)
                if any(a.callable if isinstance(a, HeapObject) else type(a) is Known for a in held):
                    return True
        return False

    def op_tagged(self, instruction: Instruction) -> Value:
        _, _, (callee, key), (strings, raw), registers, start, end = instruction
        value = self.values[callee]
        this = V_UNDEFINED
        if key is not None:
            this = value
            value = (
                self.get(this, key, start, end)
                if type(key) is str
                else self.get_computed(this, self.values[key], start, end)
            )
        array = self.values[strings]
        for atom in array:
            if isinstance(atom, HeapObject):
                self.put(atom, "raw", self.values[raw])
        args = [array, *(self.values[register] for register in registers)]
        return self.call(value, this, args, start, end)

    def op_new(self, instruction: Instruction) -> Value:
        _, _, callee, registers, _, start, end = instruction
        args, rest = self._arguments_of(registers, start, end)
        return self.construct(self.values[callee], args, start, end, rest)

    def op_super_call(self, instruction: Instruction) -> Value:
        _, _, index, registers, _, start, end = instruction
        unit = self.units[index]
        args, rest = self._arguments_of(registers, start, end)
        function = unit.function
        if function is not None:
            function.readers[self.reader] = None
        home = function.home if function is not None else None
        owner = (
            next((a for a in home.properties.get("constructor", BOTTOM) if isinstance(a, HeapObject)), None)
            if home is not None
            else None
        )
        if owner is None:
            return V_U1
        replaced = self.construct_parent(owner, self.read(unit.this), args, rest, start, end)
        if replaced:
            self.initialise_fields(owner, replaced)
            self.write(
                unit.this,
                frozenset(a for a in replaced if isinstance(a, (HeapObject, Known)) or a in {U0, U1, BUILT}),
            )
        return self.read(unit.this)

    def op_import(self, instruction: Instruction) -> Value:
        self.report("import()", 0, instruction[5], instruction[6], None, "a module is imported")
        return V_U1

    def op_import_meta(self, instruction: Instruction) -> Value:
        self.report("import.meta", 0, instruction[5], instruction[6], None, "`import.meta` is read")
        return V_U1

    def op_static_import(self, instruction: Instruction) -> Value:
        self.report(
            "static-import", 0, instruction[5], instruction[6], None, "a module is imported or exported"
        )
        return V_U1
