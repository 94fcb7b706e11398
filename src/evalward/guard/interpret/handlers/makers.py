"""What makes objects: literals, functions, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import proto
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    DECODED_STRING,
    NULL,
    TAINTED_DATA,
    TAINTED_STRING,
    UNDEFINED,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Host,
    Known,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    ADDED_NAMES,
    CONSTRUCTOR,
    FIELDS,
    FUNCTION_NAME,
    REGISTERED_PREFIX,
    SYMBOL_PREFIX,
    SYMBOL_SPECIES,
)
from evalward.guard.domain.span import NOWHERE, Span
from evalward.guard.domain.values import join
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.denied_reads import DeniedReads
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.run_state import RunState


_MAX_COPIED = 64
_LISTED = frozenset(
    {"globalThis", "Element.contentWindow"}
)  # whose members' names are asked for, and are just names


# The symbols that the language itself asks for; other names with @@ are the resolver's own.
_SYMBOL_NAMES = """
    asyncDispose asyncIterator dispose hasInstance isConcatSpreadable iterator match matchAll replace search species
    split toPrimitive toStringTag unscopables
"""
_SYMBOLS = frozenset(f"@@{name}" for name in _SYMBOL_NAMES.split())


_TELLING = frozenset({"__proto__", SYMBOL_SPECIES})  # what an object literal does not only hold


def _holds_method(value: Value) -> bool:
    """Whether there is a function that may ask for ``super``."""
    return any(type(atom) is HeapObject and atom.unit is not None and atom.unit.method for atom in value)


class Makers:
    """Instructions that make objects."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        property_keys: PropertyKeys,
        denied_reads: DeniedReads,
        properties: Properties,
        elements: Elements,
        unknown_keys: UnknownKeys,
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
        self._denied_reads = denied_reads
        self._properties = properties
        self._elements = elements
        self._unknown_keys = unknown_keys
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
                self.copy_data_properties(target, value, span)
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
        if SYMBOL_SPECIES in names:
            self._judgement.use(value, Flow.CALLBACK, span)  # array methods construct it
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

    def copy_data_properties(self, target: HeapObject, source: Value, span: Span) -> None:
        """Copy own enumerable properties, as a spread and ``Object.assign`` do (ECMA-262 §7.3.25)."""
        for atom in source:
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                self._dataflow.spend(len(atom.properties) >> 1)
                listed = target.kind in {"array", "arguments"}
                for name, value in list(atom.properties.items()):
                    if listed and (name == "length" or is_index(name)):
                        self.put_or_add(target, name, value)
                    elif name[:2] != SYMBOL_PREFIX or name[:3] == REGISTERED_PREFIX or name in _SYMBOLS:
                        if name not in target.properties:
                            target.uncertain.add(name)
                        self._store.put(target, name, value)
                for name, getter in list(atom.getters.items()):
                    if name not in target.properties:
                        target.uncertain.add(name)
                    self._store.put(target, name, self._calls.call(getter, of(atom), (), span) or V_UNDEFINED)
                for index, item in enumerate(atom.items):
                    self.put_or_add(target, str(index), item)
                for parent in atom.prototype:
                    if type(parent) is Known and self._catalogue.get(parent.path).element != "unknown":
                        self._store.extend(target)
                        self._store.put_element(target, self._elements.get_element(atom, span.start))
                if atom.elements or atom.escaped:
                    self._store.extend(target)
                    self._store.put_element(
                        target, join(atom.elements, V_UNKNOWN if atom.escaped else BOTTOM)
                    )
            elif type(atom) is Known and atom.label is not None:
                self._judgement.use(of(atom), Flow.ARGUMENT, span)
            elif type(atom) is str:
                for index, character in enumerate(atom[:_MAX_COPIED]):
                    self.put_or_add(target, str(index), of(character))
            elif type(atom) is not Primitive:
                copied = self._unknown_keys.get_unknown(atom, span) if type(atom) is Known else V_TAINTED_DATA
                self._store.extend(target)
                self._store.put_element(target, copied)

    def put_or_add(self, target: HeapObject, name: str, value: Value) -> None:
        """Put a property that was copied; an array's elements lose their order."""
        if target.kind in {"array", "arguments"}:
            self._store.inexact(target)
            self._store.put_element(target, value if name != "length" else BOTTOM)
        else:
            self._store.put(target, name, value)

    def op_regexp(self, instruction: Instruction) -> Value:
        made = self._store.allocate("regexp", instruction[5].start)
        self._store.put_element(made, of(instruction[2]))
        self._store.put(made, "source", of(instruction[2]))
        self._store.put(made, "flags", of(instruction[3]))
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

    def enumerable_keys(self, atom: Atom) -> Value:
        """Return the keys that ``for … in`` and ``Object.keys`` may give."""
        if not isinstance(atom, HeapObject):
            if atom is UNDEFINED or atom is NULL:
                return BOTTOM
            if type(atom) is Known and atom.label is not None and atom.path not in _LISTED:
                self._judgement.use(of(atom), Flow.ARGUMENT, NOWHERE)
            if isinstance(atom, (Known, Host)) and atom.path.startswith("playwright."):
                return of(
                    DECODED_STRING
                )  # the names of its methods: code that lists them is about to call one
            return of(TAINTED_STRING) if atom is TAINTED_DATA else V_ANY_STRING
        atom.readers[self._dataflow.reader] = None
        if atom.prototype:
            self._denied_reads.ask_names(
                of(atom), V_ANY_STRING, Span.at(atom.start)
            )  # `for … in` gives inherited ones too
        self._dataflow.spend(len(atom.properties) >> 3)
        names = frozenset(
            name for name in (*atom.properties, *atom.getters) if not name.startswith((SYMBOL_PREFIX, "#"))
        )
        others = V_ANY_STRING if atom.extensible or atom.escaped or atom.prototype else BOTTOM
        others = join(others, atom.properties.get(ADDED_NAMES, BOTTOM))
        return join(names, join(others, V_ANY_NUMBER if atom.kind in {"array", "arguments"} else BOTTOM))
