"""Handlers of calls: functions, methods, tagged templates, ``new`` and ``super(…)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_key, proto
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    FUNCTION_FROM_TEXT,
    SCHEME_LETTERS,
    SPELLS_ANY_NAME,
    TAINTED_DATA,
    UNKNOWN,
    V_UNDEFINED,
    V_UNKNOWN,
    Host,
    Known,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.named_lists import with_element
from evalward.guard.domain.values import is_tainted, join
from evalward.guard.interpret.atom_order import in_order, objects_of
from evalward.guard.interpret.calls.constructions import possible_objects
from evalward.guard.interpret.handlers.unknown_callbacks import REDUCING
from evalward.guard.interpret.objects.constructors import relabelled

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.constructions import Constructions
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.handlers.decoded_calls import DecodedCalls
    from evalward.guard.interpret.handlers.limited_reads import LimitedReads
    from evalward.guard.interpret.handlers.unknown_callbacks import UnknownCallbacks
    from evalward.guard.interpret.objects.listed_keys import ListedKeys
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.super_reads import SuperReads
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.run_state import RunState

_DEFINITE = frozenset({HeapObject, Known, str, Primitive})  # neither unknown nor the host's own
_STORING = frozenset({"push", "unshift", "splice", "fill", "concat", "with", "toSpliced", "set", "add"})
_SETTLING = frozenset({"then", "catch", "finally"})
_ITERATIONS = frozenset({"forEach", "map", "filter", "find", "findIndex", "some", "every", "flatMap"})


class CallOperations:
    """Instructions that call and construct."""

    def __init__(
        self,
        state: RunState,
        property_keys: PropertyKeys,
        properties: Properties,
        unknown_callbacks: UnknownCallbacks,
        unknown_keys: UnknownKeys,
        listed_keys: ListedKeys,
        iteration: Iteration,
        calls: Calls,
        constructions: Constructions,
        decoded_calls: DecodedCalls,
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
        self._property_keys = property_keys
        self._properties = properties
        self._unknown_callbacks = unknown_callbacks
        self._unknown_keys = unknown_keys
        self._listed_keys = listed_keys
        self._iteration = iteration
        self._calls = calls
        self._constructions = constructions
        self._decoded_calls = decoded_calls
        self._limited_reads = limited_reads
        self._super_reads = super_reads

    def _arguments_of(self, registers: tuple[int, ...], span: Span) -> tuple[list[Value], Value]:
        """Return the values of call arguments, and the join of those whose position is unknown."""
        values = self._values
        args = [values[register] for register in registers if register >= 0]
        if len(args) == len(registers):
            return args, BOTTOM
        args = []
        rest: Value = BOTTOM
        for register in registers:
            if register >= 0:
                if rest:
                    rest = join(rest, self._values[register])
                else:
                    args.append(self._values[register])
                continue
            spread = self._values[~register]
            items = self._store.iterated_items(spread)
            if items is not None and not rest:
                args.extend(items)
            else:
                rest = join(rest, self._iteration.iterate(spread, None, span) or V_UNDEFINED)
        return args, rest

    def op_call(self, instruction: Instruction) -> Value:
        _, _, callee, registers, _, span = instruction
        args, rest = self._arguments_of(registers, span)
        return self._calls.call(self._values[callee], V_UNDEFINED, args, span, rest)

    def op_call_method(self, instruction: Instruction) -> Value:
        _, _, owner_register, key, registers, span = instruction
        args, rest = self._arguments_of(registers, span)
        owner = self._values[owner_register]
        if self._lowered.classes and not (len(owner) == 1 and type(next(iter(owner))) is HeapObject):
            self._limited_reads.take_method(owner, of(key) if type(key) is str else self._values[key])
        twice = owner_register in self._limited_reads.constructors
        if type(key) is int:
            self._judge_dynamic_call(owner, self._values[key], (*args, rest), span)
        elif (
            len(owner) == 1
            and key != "constructor"
            and owner_register not in self._lowered.supers
            and not twice
        ):
            (atom,) = owner
            if type(atom) in _DEFINITE:
                return self._calls.call(self._properties.get(owner, key, span), owner, args, span, rest)
        result: Value = BOTTOM
        asks_constructor = key == "constructor" or (type(key) is int and "constructor" in self._values[key])
        if owner_register in self._lowered.supers:
            function, this = self._super_reads.get(owner_register, key, span)
            result = self._calls.call(function, this, args, span, rest)
        for atom in in_order(owner) if owner_register not in self._lowered.supers else ():
            one = of(atom)
            if (key in _ITERATIONS or (key in REDUCING and args and objects_of(args[0]))) and (
                atom is TAINTED_DATA or atom is UNKNOWN or type(atom) is Host
            ):
                result = join(result, self._unknown_callbacks.iterate(atom, key, args, rest, span))
                if atom is TAINTED_DATA or not self._strict:
                    continue
            if atom is TAINTED_DATA and (key in _STORING or type(key) is int):
                for value in (*args, rest):
                    self._exposure.expect_functions(value)
            function = (
                self._properties.get(one, key, span)
                if type(key) is str
                else self._listed_keys.get_by(one, key, span)
            )
            if twice and asks_constructor:
                function = relabelled(self._findings, function)
            result = join(result, self._calls.call(function, one, args, span, rest))
            if key == "toString" and args and (atom is UNKNOWN or type(atom) is Host):
                result = join(result, of(SCHEME_LETTERS))  # a number's digits, in a radix beyond ten
            if key in _SETTLING and (atom is UNKNOWN or atom is TAINTED_DATA or type(atom) is Host):
                result = join(result, self._unknown_callbacks.settle(args, span))
        if type(key) is int and not SPELLS_ANY_NAME.isdisjoint(self._values[key]):
            result = join(result, self._decoded_calls.call_decoded(owner, (*args, rest), span))
        if asks_constructor:
            # `x.constructor(…)` is called to build something: the result is watched, whatever `x` was found to be.
            self._findings.origin(FUNCTION_FROM_TEXT, None, "`constructor` is called", span)
            result = join(result, of(FUNCTION_FROM_TEXT))
        return result

    def _judge_dynamic_call(self, owner: Value, key: Value, args: tuple[Value, ...], span: Span) -> None:
        """Report a call of a catalogued sink object by an unresolved key, when key or argument come from outside."""
        owner, gives_prototype = with_element(owner), any("__proto__" in value for value in args)
        if not gives_prototype and all(type(atom) is not Known for atom in owner):
            return
        resolved = self._property_keys.to_property_key(key, span)
        if not resolved.unknown or not any(args):
            return
        if gives_prototype:
            note = "what is selected by a key that cannot be resolved is given `__proto__`"
            self._findings.report(proto.LABEL, Rank.BY_KEY, span, None, note)
        for atom in owner:
            if type(atom) is not Known:
                continue
            entry = self._catalogue.get(atom.path)
            outside = resolved.tainted or any(is_tainted(value) for value in args)
            outside = outside or resolved.decoded
            reflects = atom.path == "Object" and (
                (resolved.hidden and self._lead_on(args)) or self._hold_prototype(args)
            )
            if entry.sinks or reflects or (entry.unresolved == "playwright" and (outside or self._strict)):
                note = f"a member of `{atom.path}` is called by a key that cannot be resolved"
                self._findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, atom, note)

    @staticmethod
    def _hold_prototype(args: tuple[Value, ...]) -> bool:
        """Whether an argument is a built-in prototype."""
        return any(
            type(atom) is Known and atom.path.endswith(".prototype") for value in args for atom in value
        )

    @staticmethod
    def _lead_on(args: tuple[Value, ...]) -> bool:
        """Whether an argument is, or holds, a function or an object of the host, which further reflection can use."""
        for value in args:
            for atom in value:
                held = (atom, *atom.everything()) if isinstance(atom, HeapObject) else (atom,)
                if any(a.callable if isinstance(a, HeapObject) else type(a) is Known for a in held):
                    return True
        return False

    def op_tagged(self, instruction: Instruction) -> Value:
        _, _, (callee, key), (strings, raw), registers, span = instruction
        value = self._values[callee]
        this = V_UNDEFINED
        if key is not None and callee in self._lowered.supers:
            value, this = self._super_reads.get(callee, key, span)
        elif key is not None:
            this = value
            value = (
                self._properties.get(this, key, span)
                if type(key) is str
                else self._unknown_keys.get_computed(this, self._values[key], span)
            )
        array = self._values[strings]
        for atom in array:
            if isinstance(atom, HeapObject):
                self._store.put(atom, "raw", self._values[raw])
        args = [array, *(self._values[register] for register in registers)]
        return self._calls.call(value, this, args, span)

    def op_new(self, instruction: Instruction) -> Value:
        _, _, callee, registers, _, span = instruction
        args, rest = self._arguments_of(registers, span)
        return self._constructions.construct(self._values[callee], args, span, rest)

    def op_super_call(self, instruction: Instruction) -> Value:
        dataflow = self._dataflow
        _, _, index, registers, _, span = instruction
        unit = dataflow.units[index]
        args, rest = self._arguments_of(registers, span)
        function = unit.function
        if function is not None:
            function.readers[dataflow.reader] = None
        home = function.home if function is not None else None
        owner = (
            next((a for a in home.properties.get("constructor", BOTTOM) if isinstance(a, HeapObject)), None)
            if home is not None
            else None
        )
        if owner is None:
            return V_UNKNOWN
        replaced = self._constructions.construct_parent(owner, dataflow.read(unit.this), args, rest, span)
        if replaced:
            self._constructions.give_private_members(owner, replaced)
            dataflow.write(unit.this, possible_objects(replaced))
        return dataflow.read(unit.this)
