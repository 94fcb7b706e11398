"""The interpreter: runs units until nothing changes, then judges what was reached (guard.md §2).

What made the difference, on 10 KB of the benchmark's loaded code: 6,700 instructions ran for 1,131 that there are, and
2,300 do now. A function runs where it is first called (5,600), a call's own copy runs once when it reads only what it
wrote before (4,900), what grows by numbers alone soon is any number (4,000), a counter is that from its first value
on (3,800), what runs again are the instructions that read what changed (2,770), not the functions that they are in,
in a call's own copy too (2,400), and what calls itself gets no copy. Running inner functions or the latest first gave
nothing, nor did handlers that avoid a call, nor members of enumerations by names of their own. What is left are calls
that differ. An instruction costs 4 µs, half of it in reads of properties and in calls of built-in functions; a tenth
of all was the collector's, until an analysis was taken apart at its end.

What an instruction reads is noted where it is read (``readers``), and every operation that looks at an object notes
it, whatever it looks for: an instruction that should run again and does not would hide what it does. An outcome that
is reused stands for its call in that. So running everything once more, outcomes forgotten, must find nothing new;
``tests/guard/test_fixpoint.py`` does that to the corpus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.calls.calls import Calls
from evalward.guard.interpret.calls.constructions import Constructions
from evalward.guard.interpret.calls.entering import Entering
from evalward.guard.interpret.calls.helper_calls import CompiledHelpers
from evalward.guard.interpret.calls.inlining import Inlining
from evalward.guard.interpret.calls.known_calls import KnownCalls
from evalward.guard.interpret.conversion.coercion import Coercion
from evalward.guard.interpret.conversion.iteration import Iteration
from evalward.guard.interpret.conversion.operators import Operators
from evalward.guard.interpret.dataflow import Dataflow
from evalward.guard.interpret.escapes import Escapes
from evalward.guard.interpret.execution import Execution
from evalward.guard.interpret.findings import Findings
from evalward.guard.interpret.handlers.decoded_calls import DecodedCalls
from evalward.guard.interpret.handlers.flow import FlowOperations
from evalward.guard.interpret.handlers.limited_reads import Instances
from evalward.guard.interpret.handlers.makers import Makers
from evalward.guard.interpret.handlers.members import Members
from evalward.guard.interpret.handlers.variables import Names
from evalward.guard.interpret.havoc import Havoc
from evalward.guard.interpret.held import HeldTexts
from evalward.guard.interpret.implicit_calls import ImplicitCalls
from evalward.guard.interpret.judgement import Judgement
from evalward.guard.interpret.key_checks import KeyChecks
from evalward.guard.interpret.object_store import ObjectStore
from evalward.guard.interpret.objects.catalogued import Catalogued
from evalward.guard.interpret.objects.definitions import Definitions
from evalward.guard.interpret.objects.host_objects import HostObjects
from evalward.guard.interpret.objects.listed_keys import ListedKeys
from evalward.guard.interpret.objects.page_sinks import Sinks
from evalward.guard.interpret.objects.properties import Properties
from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
from evalward.guard.interpret.objects.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.values import Value
    from evalward.guard.interpret.machine import Transfer
    from evalward.guard.interpret.surroundings import Surroundings

_HANDLERS = tuple(f"op_{op.name.lower()}" for op in Op)
_MAX_REVIVALS = 3


class Interpreter:
    """Composes the machine, and joins over every order in which a payload's instructions may run, to a fixpoint.

    A function runs where it is first called, and its caller goes on with the result: when it waited in the queue, each
    caller would run twice, once on nothing.
    """

    def __init__(self, surroundings: Surroundings, transfers: Mapping[str, Transfer]) -> None:  # noqa: PLR0915 - composes all
        lowered = surroundings.lowered
        dataflow, findings = Dataflow(lowered, surroundings.steps), Findings()
        dataflow.values[lowered.units[0].this] = surroundings.this
        store = ObjectStore(dataflow)
        judgement = Judgement(dataflow, store, findings, surroundings)
        held = HeldTexts(dataflow, store)
        host_objects = HostObjects(dataflow, store, surroundings)
        coercion = Coercion(dataflow, store, surroundings, judgement, held, self)
        operators = Operators(dataflow, coercion)
        catalogued = Catalogued(dataflow, store, findings, surroundings, held, host_objects)
        properties = Properties(dataflow, store, findings, surroundings, held, host_objects, catalogued, self)
        unknown_keys = UnknownKeys(
            dataflow,
            findings,
            surroundings,
            judgement,
            held,
            host_objects,
            coercion,
            catalogued,
            properties,
            self,
        )
        listed_keys = ListedKeys(dataflow, store, surroundings, properties, unknown_keys)
        sinks = Sinks(dataflow, store, findings, surroundings, judgement, held, host_objects, coercion, self)
        writes = Writes(
            dataflow,
            store,
            findings,
            surroundings,
            judgement,
            held,
            coercion,
            properties,
            unknown_keys,
            sinks,
            self,
        )
        definitions = Definitions(store, findings, judgement, coercion, properties, writes, self)
        inlining = Inlining(dataflow, surroundings, self)
        iteration = Iteration(
            dataflow, store, surroundings, judgement, host_objects, coercion, properties, unknown_keys, self
        )
        helpers = CompiledHelpers(dataflow, store, coercion, unknown_keys, iteration, self)
        entering = Entering(dataflow, store, surroundings, properties, inlining, iteration, helpers, self)
        known_calls = KnownCalls(
            dataflow, store, findings, surroundings, judgement, held, host_objects, coercion, transfers, self
        )
        calls = Calls(
            dataflow,
            store,
            findings,
            surroundings,
            judgement,
            held,
            properties,
            sinks,
            iteration,
            entering,
            known_calls,
        )
        constructions = Constructions(
            dataflow, store, judgement, held, coercion, properties, iteration, entering, known_calls, calls
        )
        variables = Names(
            dataflow, store, findings, surroundings, judgement, host_objects, catalogued, writes, entering
        )
        decoded_calls = DecodedCalls(
            dataflow, store, surroundings, judgement, iteration, calls, transfers, self
        )
        limited_reads = Instances(dataflow, store, surroundings, coercion, properties)
        members = Members(
            dataflow,
            store,
            findings,
            surroundings,
            judgement,
            coercion,
            operators,
            catalogued,
            properties,
            unknown_keys,
            listed_keys,
            writes,
            iteration,
            calls,
            constructions,
            decoded_calls,
            limited_reads,
        )
        makers = Makers(
            dataflow,
            store,
            findings,
            surroundings,
            judgement,
            coercion,
            catalogued,
            properties,
            unknown_keys,
            iteration,
            entering,
            calls,
        )
        flow = FlowOperations(
            dataflow,
            store,
            findings,
            surroundings,
            judgement,
            coercion,
            operators,
            catalogued,
            properties,
            unknown_keys,
            iteration,
            calls,
            makers,
        )
        havoc = Havoc(dataflow, surroundings, judgement, properties, listed_keys, calls)
        escapes = Escapes(dataflow, store, surroundings, judgement, iteration, entering, constructions)
        execution = Execution(dataflow, inlining, havoc, escapes, self)

        self.dataflow, self.findings, self.lowered = dataflow, findings, lowered
        self._surroundings, self._store = surroundings, store
        self._havoc, self._escapes = havoc, escapes
        self._implicit_calls = ImplicitCalls(dataflow, store, calls)
        # The state in which implicit calls changed nothing, or in which they are being made.
        self._called_at = (-1, 0)
        # The operations of ``machine.Machine``.
        self.allocate = store.allocate
        self.answered = held.answered
        self.ask_names = catalogued.ask_names
        self.awaited = iteration.awaited
        self.call = calls.call
        self.changed = dataflow.changed
        self.concatenated = coercion.concatenated
        self.construct = constructions.construct
        self.copy_properties = makers.copy_properties
        self.define = definitions.define
        self.doubt = store.doubt
        self.enumerable_keys = makers.enumerable_keys
        self.escape_object = self.dataflow.escape_object
        self.expect_proxies = store.expect_proxies
        self.extend = store.extend
        self.get = properties.get
        self.get_computed = unknown_keys.get_computed
        self.get_element = unknown_keys.get_element
        self.get_unknown = unknown_keys.get_unknown
        self.inexact = store.inexact
        self.instance = host_objects.instance
        self.items_of = unknown_keys.items_of
        self.iterated = iteration.iterated
        self.joined = coercion.joined
        self.judge_inherited = writes.judge_inherited
        self.key = coercion.key
        self.leak = judgement.leak
        self.materialize = host_objects.materialize
        self.numbers = coercion.numbers
        self.own_or_payload = coercion.own_or_payload
        self.prototype_of = catalogued.prototype_of
        self.put = store.put
        self.put_element = store.put_element
        self.put_item = store.put_item
        self.put_prototype = store.put_prototype
        self.read = self.dataflow.read
        self.report = self.findings.report
        self.resolver = iteration.resolver
        self.run_async = helpers.run_async
        self.set = writes.set
        self.set_attribute = sinks.set_attribute
        self.set_computed = writes.set_computed
        self.sink = sinks.sink
        self.spend = self.dataflow.spend
        self.strings = coercion.strings
        self.tell_thrown = sinks.tell_thrown
        self.trapped = properties.trapped
        self.use = judgement.use
        self.use_conversions = known_calls.use_conversions
        self.wrap = host_objects.wrap
        self.write = self.dataflow.write
        self.thrown, self.patches = dataflow.thrown, store.patches
        self.catalogue, self.strict = surroundings.catalogue, surroundings.strict
        self.observe, self.click = dataflow.observe, findings.click
        self.drain, self.execute_now = execution.drain, execution.execute_now
        handlers = (variables, members, makers, flow)
        self.operations: list[Callable[[Instruction], Value]] = [
            next(getattr(each, name) for each in handlers if hasattr(each, name)) for name in _HANDLERS
        ]

    def run(self) -> None:
        """Run to the fixpoint; functions that nothing calls are run last, as if the host called them."""
        top, findings = self.lowered.units[0], self.findings
        top.ran = True
        self.dataflow.enqueue(top)
        self.drain()
        self._call_implicitly()
        waiting = self.lowered.units
        while waiting:
            # The last one first: it calls those before it, which then are called by nobody else.
            functions = [unit.function for unit in waiting if not unit.ran and unit.function is not None]
            if not functions:
                break
            self._escapes.expect_call(functions[-1])
            self.drain()
            waiting = [unit for unit in waiting if not unit.ran and unit.function is not functions[-1]]
        self._call_implicitly()
        for _ in range(_MAX_REVIVALS):
            if not self._havoc.revive():
                break
            self.drain()
        self._call_implicitly()
        if findings.clicked and self._says("quit"):
            for start, end in findings.clicked:
                findings.report(
                    "electron-lifecycle", 0, start, end, None, "a menu item may have the role `quit`"
                )
        if findings.polluted and findings.key_checks and not self._surroundings.cleared:
            findings.checked = KeyChecks(self.lowered, self.dataflow, self._store, findings).cleared()
        if findings.polluted and not findings.checked:
            for start, end in findings.polluted:
                note = "written through what a key from outside selects"
                findings.report("prototype-tampering", 0, start, end, None, note)

    def _call_implicitly(self) -> None:
        while self._called_at != (self.dataflow.version, len(self._store.objects)):
            self._called_at = self.dataflow.version, len(self._store.objects)
            if not self._implicit_calls.run():
                return
            self.drain()

    def _says(self, word: str) -> bool:
        """Whether any text or pattern of the payload holds a word, in whatever case."""
        patterns = [
            part
            for unit in self.lowered.units
            for instruction in unit.code
            if instruction[0] is Op.REGEXP
            for part in instruction[2:5]
            if type(part) is str
        ]
        texts = [atom for value in self.dataflow.values for atom in value if type(atom) is str]
        return any(word in text.lower() for text in (*patterns, *texts))

    def release(self) -> None:
        """Take the analysis apart at its end, so that it is freed at once.

        Its parts hold one another. What is left to the collector makes it run twice as often, and look through it: that
        was a tenth of the whole.
        """
        self._store.release()
        for unit in self.lowered.units:
            unit.release()
        vars(self).clear()
