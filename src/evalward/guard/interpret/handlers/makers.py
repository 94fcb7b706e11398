"""Handlers of literals, functions and classes, which make objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import proto
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    NULL,
    V_ANY_STRING,
    Known,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    CONSTRUCTOR,
    FIELDS,
    FUNCTION_NAME,
    SYMBOL_PREFIX,
    SYMBOL_SPECIES,
)

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.own_properties import OwnProperties
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.run_state import RunState


_TELLING = frozenset({"__proto__", SYMBOL_SPECIES})  # names with a meaning in an object literal


def _holds_method(value: Value) -> bool:
    """Whether a value holds a method, which may use ``super``."""
    return any(type(atom) is HeapObject and atom.unit is not None and atom.unit.method for atom in value)


class Makers:
    """Instructions that make objects."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        property_keys: PropertyKeys,
        own_properties: OwnProperties,
        properties: Properties,
        iteration: Iteration,
        ordinary_calls: OrdinaryCalls,
        calls: Calls,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._property_keys = property_keys
        self._own_properties = own_properties
        self._properties = properties
        self._iteration = iteration
        self._ordinary_calls = ordinary_calls
        self._calls = calls

    def op_array(self, instruction: Instruction) -> Value:
        array = self._store.allocate("array", instruction[5].start)
        if instruction[3]:
            self._store.inexact(array)  # a hole is skipped by some methods and undefined to others
        index = 0
        for register in instruction[2]:
            if register >= 0:
                if array.exact:
                    self._store.put_item(array, index, self._values[register])
                else:
                    self._store.put_element(array, self._values[register])
                index += 1
                continue
            spread = self._values[~register]
            items = self._store.iterated_items(spread)
            if items is None or (array.items and len(array.items) < index):
                self._store.inexact(array)
                self._store.put_element(array, self._iteration.iterate(spread, None, instruction[5]))
                continue
            for item in list(items):
                self._store.put_item(array, index, item)
                index += 1
        if array.exact and len(array.items) != index:
            self._store.inexact(array)
        return array.value

    def op_object(self, instruction: Instruction) -> Value:
        target = self._store.allocate("object", instruction[5].start)
        span = instruction[5]
        for kind, key, register in instruction[2]:
            value = self._values[register]
            if kind == "init" and type(key) is str and key not in _TELLING and not _holds_method(value):
                self._store.put(target, key, value)
            elif kind == "spread":
                self._own_properties.copy_data_properties(target, value, span)
            else:
                self._define_member(target, kind, key, value, span)
        return target.value

    def _define_member(self, target: HeapObject, kind: str, key: str | int, value: Value, span: Span) -> None:
        for atom in value:
            if isinstance(atom, HeapObject) and atom.unit is not None and atom.unit.method:
                self._store.settle_in(atom, target)
        if type(key) is str:
            names: tuple[str, ...] = (key,)
        else:
            resolved = self._property_keys.to_property_key(self._values[key], span)  # type: ignore[index]  # a register
            names = resolved.names
            if resolved.unknown or resolved.numeric:
                self._store.extend(target)
                self._store.put_element(
                    target, self._calls.call(value, of(target), (), span) if kind == "get" else value
                )
            if len(names) + resolved.unknown + resolved.numeric > 1 and not target.uncertain.issuperset(
                names
            ):
                target.uncertain.update(names)  # it has one of them
                self._dataflow.changed(target)
            self._name_functions(value, kind, names)
        if SYMBOL_SPECIES in names:
            made = self._calls.call(value, of(target), (), span) if kind == "get" else value
            self._judgement.use(value, Flow.CALLBACK, span)
            self._judgement.leak(made, Flow.RETURN, span)  # built-in methods construct it
        for name in names:
            if kind == "init":
                if name == "__proto__":
                    self._findings.report(proto.LABEL, Rank.USED, span, None, "`__proto__` is written")
                    self._store.put_prototype(target, value)
                self._store.put(target, name, value)
            else:
                self._store.put_accessor(target, name, value, setter=kind == "set")
                if target.escaped:
                    self._judgement.leak(value, Flow.CALLBACK, span)

    def _name_functions(self, value: Value, kind: str, names: tuple[str, ...]) -> None:
        """Give functions without a name that of the computed key that they are defined by (ECMA-262 §10.2.9)."""
        prefix = "" if kind == "init" else f"{kind} "
        texts = frozenset(prefix + name for name in names if not name.startswith(SYMBOL_PREFIX))
        for atom in value:
            if isinstance(atom, HeapObject) and atom.unit is not None and not atom.unit.name:
                self._store.put(atom, FUNCTION_NAME, texts)

    def op_regexp(self, instruction: Instruction) -> Value:
        made = self._store.allocate("regexp", instruction[5].start)
        self._store.put_element(made, of(instruction[2]))
        self._store.put(made, "source", of(instruction[2]))
        self._store.put(
            made, "flags", of("".join(sorted(instruction[3])))
        )  # in the order of ECMA-262 §22.2.6.4
        return of(made)

    def op_function(self, instruction: Instruction) -> Value:
        unit = self._dataflow.units[instruction[2]]
        if unit.function is None:
            unit.function = self._store.allocate("function", unit.start)
            unit.function.unit = unit
        return unit.function.value

    def op_class(self, instruction: Instruction) -> Value:
        _, _, (name, parent, constructor, _), members, fields, span = instruction
        instance, static = (self._dataflow.units[each] for each in fields)
        target = self._store.allocate("class", span.start)
        prototype = self._store.allocate("object", span.start, "prototype")
        self._store.put(target, "prototype", of(prototype))
        self._store.put(target, FUNCTION_NAME, of(name) if name else V_ANY_STRING)
        self._store.put(prototype, "constructor", of(target))
        if parent is not None:
            above = self._values[parent]
            self._judgement.use(above, Flow.CONSTRUCT, span)
            if NULL in above:  # the class is a function all the same (ECMA-262 §15.7.14)
                above = above - NULL.value | of(known("Function.prototype"))
                self._store.put_prototype(prototype, NULL.value)
            self._store.put_prototype(target, above)
            self._store.put_prototype(prototype, self._properties.get(above, "prototype", span))
            for atom in above:
                if type(atom) is Known and self._catalogue.get(atom.path).instance:
                    self._store.put_prototype(prototype, of(known(self._catalogue.get(atom.path).instance)))
        if constructor is not None:
            self._store.put(target, CONSTRUCTOR, self._values[constructor])
            for atom in self._values[constructor]:
                if isinstance(atom, HeapObject):
                    self._store.settle_in(atom, prototype)
        for is_static, kind, key, register in members:
            self._define_member(target if is_static else prototype, kind, key, self._values[register], span)
        for unit, owner in ((instance, prototype), (static, target)):
            if not unit.code:
                unit.ran = True
                continue
            if unit.function is None:
                unit.function = self._store.allocate("function", span.start, unit.name)
                unit.function.unit = unit
                unit.function.home = owner
        if instance.code:
            self._store.put(target, FIELDS, of(instance.function))
        for unit in (instance, static):
            if unit.executed:
                self._dataflow.enqueue(unit)  # computed keys are registers of this unit
        if static.code:
            self._ordinary_calls.ordinary_call(static.function, of(target), ())
        return target.value
