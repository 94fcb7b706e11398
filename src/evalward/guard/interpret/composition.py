"""The composition: every part of a run, made once, each with the state and the lower parts that it uses.

The order of the lines is the order of the layers: a part depends on parts made before it. A call of a later part,
JavaScript's recursion, goes through the machine, which is this object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.interpret.calls.calls import Calls
from evalward.guard.interpret.calls.conditions import Conditions
from evalward.guard.interpret.calls.constructions import Constructions
from evalward.guard.interpret.calls.helper_calls import CompiledHelpers
from evalward.guard.interpret.calls.inlining import Inlining
from evalward.guard.interpret.calls.iteration import Iteration
from evalward.guard.interpret.calls.known_calls import KnownCalls
from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
from evalward.guard.interpret.conversion.coercion import Coercion
from evalward.guard.interpret.conversion.concatenation import Concatenation
from evalward.guard.interpret.conversion.host_primitives import HostPrimitives
from evalward.guard.interpret.conversion.operators import Operators
from evalward.guard.interpret.conversion.property_keys import PropertyKeys
from evalward.guard.interpret.dataflow import Dataflow
from evalward.guard.interpret.escapes import Escapes
from evalward.guard.interpret.execution import Execution
from evalward.guard.interpret.exposure import Exposure
from evalward.guard.interpret.findings import Findings
from evalward.guard.interpret.handlers.call_operations import CallOperations
from evalward.guard.interpret.handlers.decoded_calls import DecodedCalls
from evalward.guard.interpret.handlers.flow_operations import FlowOperations
from evalward.guard.interpret.handlers.limited_reads import LimitedReads
from evalward.guard.interpret.handlers.makers import Makers
from evalward.guard.interpret.handlers.members import Members
from evalward.guard.interpret.handlers.module_operations import ModuleOperations
from evalward.guard.interpret.handlers.short_circuits import LINKS, ShortCircuits
from evalward.guard.interpret.handlers.unknown_callbacks import UnknownCallbacks
from evalward.guard.interpret.handlers.variables import Variables
from evalward.guard.interpret.havoc import Havoc
from evalward.guard.interpret.held_texts import HeldTexts
from evalward.guard.interpret.implicit_calls import ImplicitCalls
from evalward.guard.interpret.judgement import Judgement
from evalward.guard.interpret.method_lookup import MethodLookup
from evalward.guard.interpret.object_store import ObjectStore
from evalward.guard.interpret.objects.catalogued import Catalogued
from evalward.guard.interpret.objects.definitions import Definitions
from evalward.guard.interpret.objects.denied_reads import DeniedReads
from evalward.guard.interpret.objects.elements import Elements
from evalward.guard.interpret.objects.host_objects import HostObjects
from evalward.guard.interpret.objects.known_writes import KnownWrites
from evalward.guard.interpret.objects.listed_keys import ListedKeys
from evalward.guard.interpret.objects.own_properties import OwnProperties
from evalward.guard.interpret.objects.page_sinks import PageSinks
from evalward.guard.interpret.objects.properties import Properties
from evalward.guard.interpret.objects.prototypes import Prototypes
from evalward.guard.interpret.objects.setters import Setters
from evalward.guard.interpret.objects.super_reads import SuperReads
from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
from evalward.guard.interpret.objects.unknown_owners import UnknownOwners
from evalward.guard.interpret.objects.writes import Writes
from evalward.guard.interpret.run_state import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.interpret.machine import Transfer
    from evalward.guard.interpret.surroundings import Surroundings


class Composition:
    """The machine (``machine.Machine``): its operations are those of its parts, without a call in between."""

    def __init__(  # noqa: PLR0915 - every part is made here
        self, surroundings: Surroundings, transfers: Mapping[str, Transfer]
    ) -> None:
        lowered = surroundings.lowered
        dataflow, findings = Dataflow(lowered, surroundings.steps), Findings()
        dataflow.values[lowered.units[0].this] = surroundings.this
        store = ObjectStore(dataflow)
        exposure = Exposure(dataflow, store)
        state = RunState(dataflow, store, exposure, findings, surroundings)
        judgement = Judgement(state)
        held = HeldTexts(state)
        host_objects = HostObjects(state)
        method_lookup = MethodLookup(dataflow, self)
        concatenation = Concatenation(dataflow)
        host_primitives = HostPrimitives(state, judgement, self)
        coercion = Coercion(state, judgement, held, method_lookup, concatenation, host_primitives, self)
        property_keys = PropertyKeys(state, held, coercion, host_primitives)
        operators = Operators(dataflow, concatenation, coercion)
        denied_reads = DeniedReads(state)
        prototypes = Prototypes(state, denied_reads)
        catalogued = Catalogued(state, held, host_objects, denied_reads)
        unknown_owners = UnknownOwners(state, held, host_objects, catalogued)
        properties = Properties(state, prototypes, catalogued, unknown_owners, self)
        elements = Elements(dataflow, held, catalogued, unknown_owners, self)
        unknown_keys = UnknownKeys(
            state, judgement, held, host_objects, property_keys, properties, elements, self
        )
        own_properties = OwnProperties(state, judgement, denied_reads, elements, unknown_keys, self)
        listed_keys = ListedKeys(state, unknown_owners, unknown_keys)
        sinks = PageSinks(state, judgement, held, host_objects, coercion, self)
        setters = Setters(state, sinks, self)
        known_writes = KnownWrites(state, judgement, held, coercion, sinks)
        writes = Writes(
            state,
            judgement,
            held,
            property_keys,
            properties,
            unknown_keys,
            sinks,
            setters,
            known_writes,
            self,
        )
        definitions = Definitions(state, judgement, coercion, property_keys, properties, writes, self)
        inlining = Inlining(state, self)
        iteration = Iteration(
            state, judgement, host_objects, method_lookup, coercion, properties, elements, self
        )
        helpers = CompiledHelpers(state, method_lookup, elements, iteration, self)
        ordinary_calls = OrdinaryCalls(state, properties, inlining, iteration, helpers, self)
        conditions = Conditions(state, judgement, method_lookup, self)
        known_calls = KnownCalls(
            state, judgement, conditions, held, host_objects, method_lookup, transfers, self
        )
        calls = Calls(state, judgement, held, properties, sinks, iteration, ordinary_calls, known_calls)
        constructions = Constructions(
            state, judgement, held, method_lookup, properties, iteration, ordinary_calls, known_calls, calls
        )
        variables = Variables(state, judgement, host_objects, prototypes, catalogued, writes, ordinary_calls)
        decoded_calls = DecodedCalls(state, judgement, iteration, calls, transfers, self)
        limited_reads = LimitedReads(state, method_lookup, properties)
        super_reads = SuperReads(state, property_keys, properties, elements, listed_keys, self)
        members = Members(
            state,
            judgement,
            property_keys,
            operators,
            properties,
            listed_keys,
            writes,
            limited_reads,
            super_reads,
        )
        unknown_callbacks = UnknownCallbacks(state, judgement, elements, iteration, calls)
        call_operations = CallOperations(
            state,
            property_keys,
            properties,
            unknown_callbacks,
            unknown_keys,
            listed_keys,
            iteration,
            calls,
            constructions,
            decoded_calls,
            limited_reads,
            super_reads,
        )
        module_operations = ModuleOperations(findings)
        makers = Makers(
            state, judgement, property_keys, own_properties, properties, iteration, ordinary_calls, calls
        )
        flow = FlowOperations(
            state,
            judgement,
            method_lookup,
            concatenation,
            coercion,
            property_keys,
            operators,
            denied_reads,
            properties,
            unknown_keys,
            iteration,
            calls,
            own_properties,
        )
        havoc = Havoc(state, judgement, properties, listed_keys, calls)
        escapes = Escapes(state, judgement, iteration, ordinary_calls, constructions, held)
        execution = Execution(dataflow, inlining, havoc, escapes, self)

        self.dataflow, self.findings, self.store, self.exposure = dataflow, findings, store, exposure
        self.escapes, self.havoc, self.execution = escapes, havoc, execution
        self.implicit_calls = ImplicitCalls(state, calls)
        # By the number of the operation (``instructions.Op``).
        self.operations: list[Callable[[Instruction], Value]] = [
            variables.op_load,
            variables.op_store,
            variables.op_this,
            variables.op_super,
            variables.op_new_target,
            members.op_get,
            members.op_set,
            members.op_delete,
            call_operations.op_call,
            call_operations.op_call_method,
            call_operations.op_super_call,
            call_operations.op_new,
            call_operations.op_tagged,
            module_operations.op_import,
            module_operations.op_import_meta,
            module_operations.op_static_import,
            flow.op_binary,
            flow.op_unary,
            flow.op_update,
            flow.op_join,
            flow.op_template,
            makers.op_array,
            makers.op_object,
            makers.op_regexp,
            makers.op_function,
            makers.op_class,
            flow.op_iterate,
            flow.op_keys,
            flow.op_rest,
            flow.op_omit,
            flow.op_await,
            flow.op_yield,
            flow.op_return,
            flow.op_throw,
            flow.op_caught,
            flow.op_complete,
            flow.op_with,
            flow.op_havoc,
            variables.op_narrow,
        ]
        if lowered.optional:
            short_circuits = ShortCircuits(dataflow.values, lowered.optional)
            for operation in LINKS:
                self.operations[operation] = short_circuits.around(self.operations[operation])
        self.activations = dataflow.units
        self.bound_names = frozenset(surroundings.bindings) | frozenset(surroundings.modules)
        self.thrown, self.patches = dataflow.thrown, store.patches
        self.catalogue, self.strict, self.lowered = surroundings.catalogue, surroundings.strict, lowered
        self.in_page = surroundings.in_page

        self.read = dataflow.read
        self.write = dataflow.write
        self.observe = dataflow.observe
        self.spend = dataflow.spend
        self.execute_now = execution.execute_now

        self.allocate = store.allocate
        self.put = store.put
        self.put_element = store.put_element
        self.put_item = store.put_item
        self.put_prototype = store.put_prototype
        self.extend = store.extend
        self.inexact = store.inexact
        self.fix = store.fix
        self.doubt = store.doubt
        self.changed = dataflow.changed
        self.escape_object = dataflow.escape_object
        self.expect_elements = exposure.expect_elements
        self.expect_frames = exposure.expect_frames
        self.custom_elements = exposure.custom_elements
        self.expect_proxies = exposure.expect_proxies
        self.items_of = store.items_of

        self.get = properties.get
        self.get_computed = unknown_keys.get_computed
        self.get_element = elements.get_element
        self.get_unknown = unknown_keys.get_unknown
        self.set = writes.set
        self.set_computed = writes.set_computed
        self.define_own_property = definitions.define_own_property
        self.judge_inherited_setter = setters.judge_inherited_setter
        self.call_inherited = setters.call_inherited
        self.inherited_names = prototypes.inherited_names
        self.get_prototype_of = prototypes.get_prototype_of
        self.call_trap = properties.call_trap
        self.ask_names = denied_reads.ask_names
        self.enumerable_keys = own_properties.enumerable_keys
        self.copy_data_properties = own_properties.copy_data_properties

        self.to_property_key = property_keys.to_property_key
        self.to_string = coercion.to_string
        self.to_number = coercion.to_number
        self.joined = coercion.joined
        self.concatenated = concatenation.concatenated
        self.get_method = method_lookup.get_method
        self.inherits_only_from = method_lookup.inherits_only_from
        self.use_conversions = known_calls.use_conversions

        self.call = calls.call
        self.construct = constructions.construct
        self.run_async = helpers.run_async
        self.iterate = iteration.iterate
        self.await_value = iteration.await_value
        self.create_resolving_function = iteration.create_resolving_function

        self.instance = host_objects.instance
        self.materialize = host_objects.materialize
        self.wrap = host_objects.wrap
        self.answered = held.answered
        self.hold = held.hold
        self.held = held.read
        self.tell = held.tell
        self.told = held.told

        self.report = findings.report
        self.use = judgement.use
        self.leak = judgement.leak
        self.sink = sinks.sink
        self.set_attribute = sinks.set_attribute
        self.tell_thrown = sinks.tell_thrown
        self.click = findings.click
        self.name_element = findings.name_element
        self.miss = findings.miss
        self.change = judgement.change

    def release(self) -> None:
        """Break the reference cycles of the analysis at its end, so that reference counting frees it at once.

        Without this the garbage collector runs twice as often and takes a tenth of the time.
        """
        self.store.release()
        self.exposure.release()
        for unit in self.dataflow.units:
            unit.release()
        vars(self).clear()
