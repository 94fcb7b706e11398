"""Handlers of operators, iteration, ``await`` and ``yield``, and completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import with_statement
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    FUNCTION_FROM_TEXT,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_PLAIN,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    MAY_BE_REMOVED,
    RETURNED,
    SYMBOL_ASYNC_ITERATOR,
    SYMBOL_HAS_INSTANCE,
    SYMBOL_ITERATOR,
)
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.interpret.calls.bound_functions import with_targets

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.conversion.concatenation import Concatenation
    from evalward.guard.interpret.conversion.operators import Operators
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.denied_reads import DeniedReads
    from evalward.guard.interpret.objects.own_properties import OwnProperties
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.run_state import RunState

_ITERATORS = (SYMBOL_ITERATOR, SYMBOL_ASYNC_ITERATOR)
_EVERYWHERE = frozenset(  # functions that every engine has had since ECMAScript 2017
    f"{owner}.{name}"
    for owner, names in {
        "Object": "assign create keys values entries freeze is defineProperty defineProperties getPrototypeOf "
        "setPrototypeOf getOwnPropertyNames getOwnPropertySymbols getOwnPropertyDescriptor "
        "getOwnPropertyDescriptors",
        "Array": "isArray from of",
        "Number": "isNaN isFinite isInteger isSafeInteger parseFloat parseInt",
        "Math": "sign trunc hypot cbrt log2 log10 imul",
    }.items()
    for name in names.split()
)


class FlowOperations:
    """Instructions that combine values or pass them on."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        method_lookup: MethodLookup,
        concatenation: Concatenation,
        coercion: Coercion,
        property_keys: PropertyKeys,
        operators: Operators,
        denied_reads: DeniedReads,
        properties: Properties,
        unknown_keys: UnknownKeys,
        iteration: Iteration,
        calls: Calls,
        own_properties: OwnProperties,
    ) -> None:
        self._dataflow = state.dataflow
        self._values = state.dataflow.values
        self._store = state.store
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._findings = state.findings
        self._parameters = state.surroundings.parameters
        self._perhaps_called = state.surroundings.perhaps_called
        self._receiver = state.surroundings.receiver
        self._rest = state.surroundings.rest
        self._judgement = judgement
        self._method_lookup = method_lookup
        self._concatenation = concatenation
        self._coercion = coercion
        self._property_keys = property_keys
        self._operators = operators
        self._denied_reads = denied_reads
        self._properties = properties
        self._unknown_keys = unknown_keys
        self._iteration = iteration
        self._calls = calls
        self._own_properties = own_properties

    def op_binary(self, instruction: Instruction) -> Value:
        operator, left, right = instruction[2], self._values[instruction[3]], self._values[instruction[4]]
        if operator == "instanceof":
            method = BOTTOM
            for atom in with_targets(right):  # `instanceof` asks what a bound function is bound to
                if isinstance(atom, HeapObject):
                    method = join(method, self._method_lookup.get_method(atom, SYMBOL_HAS_INSTANCE))
                elif type(atom) is Known:
                    method = join(method, self._patches.read(f"{atom.path}.@@hasInstance"))
            if method:
                self._judgement.use(method, Flow.CALLBACK, instruction[5])
                self._calls.call(method, right, (left,), instruction[5])
        elif operator == "in":
            self._property_keys.to_property_key(
                frozenset(a for a in left if isinstance(a, HeapObject)), instruction[5]
            )
            self._denied_reads.ask_names(right, left, instruction[5])
            for atom in right:
                if isinstance(atom, HeapObject) and atom.kind == "proxy":
                    self._unknown_keys.get_unknown(atom, instruction[5])
        elif "__proto__" in left or "__proto__" in right:
            self._findings.key_checks[instruction[5]] = 0
        return self._operators.apply_binary_operator(operator, left, right, instruction[5])

    def op_unary(self, instruction: Instruction) -> Value:
        return self._operators.apply_unary_operator(
            instruction[2], self._values[instruction[3]], instruction[5]
        )

    def op_update(self, instruction: Instruction) -> Value:
        _, _, register, step, variable, span = instruction
        return self._operators.update(self._values[register], step, span, variable=variable)

    def op_join(self, instruction: Instruction) -> Value:
        tested = instruction[3]
        if tested is not None and self._is_there(self._values[tested]):
            register: int = instruction[2][0]
            return self._values[register]
        result = BOTTOM
        for register in instruction[2]:
            result = join(result, self._values[register])
        return result

    def _is_there(self, value: Value) -> bool:
        """Whether a feature test is for a function that every engine has and the payload did not delete."""
        if len(value) != 1 or self._patches.has(MAY_BE_REMOVED):
            return False
        (atom,) = value
        return type(atom) is Known and atom.label is None and atom.path in _EVERYWHERE

    def op_template(self, instruction: Instruction) -> Value:
        span = instruction[5]
        return self._concatenation.concatenated(
            [self._coercion.to_string(self._values[register], span) for register in instruction[2]]
        )

    def op_iterate(self, instruction: Instruction) -> Value:
        return self._iteration.iterate(self._values[instruction[2]], instruction[3], instruction[5])

    def op_rest(self, instruction: Instruction) -> Value:
        array = self._store.allocate("array", instruction[5].start)
        items = self._store.iterated_items(self._values[instruction[2]])
        if items is None:
            self._store.inexact(array)
            self._store.put_element(
                array,
                self._iteration.iterate(self._values[instruction[2]], None, instruction[5]),
            )
        else:
            for index, item in enumerate(items[instruction[3] :]):
                self._store.put_item(array, index, item)
        return of(array)

    def op_omit(self, instruction: Instruction) -> Value:
        target = self._store.allocate("object", instruction[5].start)
        self._own_properties.copy_data_properties(target, self._values[instruction[2]], instruction[5])
        self._store.doubt(target, (key for key in instruction[3] if type(key) is str))
        return of(target)

    def op_keys(self, instruction: Instruction) -> Value:
        result: Value = BOTTOM
        for atom in self._values[instruction[2]]:
            result = join(result, self._own_properties.enumerable_keys(atom))
        return result

    def op_await(self, instruction: Instruction) -> Value:
        return self._iteration.await_value(self._values[instruction[2]], instruction[5])

    def op_yield(self, instruction: Instruction) -> Value:
        dataflow = self._dataflow
        value = self._values[instruction[2]]
        if instruction[3]:
            returned = self._returned(value)
            for atom in value:
                if not isinstance(atom, HeapObject) or atom.kind not in {"generator", "array"}:
                    returned = join(returned, V_UNKNOWN)
                elif atom.unit is not None:
                    dataflow.write(atom.unit.sent, dataflow.read(dataflow.unit.sent))
            self._delegate(value, instruction[5])
            value = self._iteration.iterate(value, None, instruction[5])
            dataflow.write(dataflow.unit.yielded, value)
            return join(join(returned, value), V_UNDEFINED)
        dataflow.write(dataflow.unit.yielded, value)
        return join(dataflow.read(dataflow.unit.sent), V_UNDEFINED)

    def _delegate(self, value: Value, span: Span) -> None:
        """Pass values sent into this generator to an iterator of the payload, as ``yield*`` does."""
        sent = join(self._dataflow.read(self._dataflow.unit.sent), V_UNDEFINED)
        for atom in value:
            if isinstance(atom, HeapObject):
                methods = (self._method_lookup.get_method(atom, name) for name in _ITERATORS)
                made = self._calls.call(join(*methods), of(atom), (), span)
                if self._steps_itself(atom, made):
                    self._exposure.expect_results()
                for name in ("next", "throw", "return"):
                    method = self._properties.get(
                        frozenset(a for a in made if isinstance(a, HeapObject)), name, span
                    )
                    step = self._calls.call(method, made, (sent,), span)
                    self._judgement.leak(step, Flow.RETURN, span)  # the caller gets it as it is

    def _steps_itself(self, atom: HeapObject, iterators: Value) -> bool:
        """Whether the payload makes the results of an iteration, which may have other members than ``value``."""
        if atom.kind == "proxy" or self._method_lookup.get_method(atom, "next"):
            return True
        return any(
            each.kind != "generator" or self._method_lookup.get_method(each, "next")
            for each in objects_of(iterators)
        )

    def _returned(self, value: Value) -> Value:
        """Return the return values of generators, which are the value of ``yield*``."""
        result: Value = BOTTOM
        for atom in value:
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                result = join(result, atom.properties.get(RETURNED, BOTTOM))
        return result

    def op_return(self, instruction: Instruction) -> Value:
        dataflow = self._dataflow
        value = self._values[instruction[2]]
        dataflow.write(dataflow.unit.result, value)
        function = dataflow.unit.function
        if function is not None and function.escaped:
            self._judgement.leak(value, Flow.RETURN, instruction[5])
        return value

    def op_throw(self, instruction: Instruction) -> Value:
        value = self._values[instruction[2]]
        self._dataflow.write(self._dataflow.thrown, value)
        self._judgement.leak(value, Flow.THROW, instruction[5])
        return value

    def op_caught(self, _instruction: Instruction) -> Value:
        return join(self._dataflow.read(self._dataflow.thrown), of(UNKNOWN_PLAIN))

    def op_complete(self, instruction: Instruction) -> Value:
        value = self._values[instruction[2]]
        span = instruction[5]
        if self._perhaps_called:
            functions = frozenset(a for a in value if isinstance(a, HeapObject) and a.kind == "function")
            value = join(value, self._called(functions, span))
        elif self._parameters is not None:
            self._judgement.use(
                frozenset(a for a in value if a in {UNKNOWN_CONSTRUCTOR, FUNCTION_FROM_TEXT}),
                Flow.CALLBACK,
                span,
            )
            value = self._called(value, span)
        self._judgement.leak(self._iteration.await_value(value, span), Flow.RETURN, span)
        return value

    def _called(self, value: Value, span: Span) -> Value:
        assert self._parameters is not None  # noqa: S101 - asked only where the sink calls
        return self._calls.call(value, self._receiver, self._parameters, span, self._rest)

    def op_with(self, instruction: Instruction) -> Value:
        self._findings.report(
            with_statement.LABEL,
            Rank.USED,
            instruction[5],
            None,
            "`with` changes what names mean",
        )
        return BOTTOM

    def op_havoc(self, instruction: Instruction) -> Value:
        for register in instruction[2]:
            self._judgement.leak(self._values[register], Flow.ARGUMENT, instruction[5])
        return V_UNKNOWN
