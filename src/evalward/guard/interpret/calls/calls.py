"""Call: payload functions, host functions, and callees that may be a function constructor (guard.md §2, use)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_key
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    DECODED_STRING,
    FUNCTION_FROM_TEXT,
    HOST_HELD_TEXT,
    NEVER_CALLABLE,
    NULL,
    OPAQUE_HOST_MEMBER,
    TAINTED_DATA,
    UNKNOWN,
    V_UNDEFINED,
    V_UNKNOWN,
    Host,
    Known,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.call import Call
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.limit import AnalysisLimitError
from evalward.guard.domain.slots import READ_NAME, SYMBOL_SPECIES
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import in_order, objects_of
from evalward.guard.interpret.calls.bound_functions import unbound
from evalward.guard.interpret.calls.built_functions import built
from evalward.guard.interpret.calls.conditions import UNMODELLED_CLASSES
from evalward.guard.interpret.calls.shared_receivers import judge_shared_receiver
from evalward.guard.interpret.calls.unlisted_methods import judge_unlisted
from evalward.guard.interpret.dataflow import MAX_DEPTH
from evalward.guard.interpret.judgement import MAYBE_CONSTRUCTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.iteration import Iteration
    from evalward.guard.interpret.calls.known_calls import KnownCalls
    from evalward.guard.interpret.calls.ordinary_calls import OrdinaryCalls
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.page_sinks import PageSinks
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.run_state import RunState

_FUNCTION = "Function.prototype"
_ELEMENT_MAKERS = frozenset({"$", "jQuery", "host.$", "host.jQuery"})
_WINDOW_OF_JQUERY: Value = of(known("jQueryWindow"))


def _names_constructor(values: Sequence[Value]) -> bool:
    """Whether arguments hold a name by which a function gives ``Function``, or a function and what may spell that."""
    inside = dict.fromkeys(atom for value in values for atom in value)
    pending = list(inside)
    for atom in pending:
        if isinstance(atom, HeapObject) and atom.kind == "array":  # a path
            pending.extend(inner for inner in atom.contents() if inner not in inside)
            inside.update(dict.fromkeys(atom.contents()))
    return "constructor" in inside or (
        DECODED_STRING in inside and any(isinstance(atom, HeapObject) and atom.callable for atom in inside)
    )


class Calls:
    """Calls and constructions."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        properties: Properties,
        sinks: PageSinks,
        iteration: Iteration,
        ordinary_calls: OrdinaryCalls,
        known_calls: KnownCalls,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._held = held
        self._properties = properties
        self._sinks = sinks
        self._iteration = iteration
        self._ordinary_calls = ordinary_calls
        self._known_calls = known_calls
        self._answering = False

    def call(
        self, callee: Value, this: Value, args: Sequence[Value], span: Span, rest: Value = BOTTOM
    ) -> Value:
        """Return the result of a call (ECMA-262 §7.3.13)."""
        dataflow = self._dataflow
        dataflow.steps += 1 + len(callee) + len(args)
        if dataflow.steps > dataflow.budget:
            dataflow.spend(0)
        if dataflow.depth > MAX_DEPTH:  # what the call would give and do is not known
            raise AnalysisLimitError(dataflow.budget)
        dataflow.depth += 1
        result: Value = BOTTOM
        try:
            for atom in callee if len(callee) == 1 else in_order(callee):
                if type(atom) is HeapObject:
                    plain = atom.kind == "function" and atom.bound is None
                    made = (
                        self._ordinary_calls.ordinary_call(atom, this, args, rest)
                        if plain
                        else self._call_object(atom, this, args, rest, span)
                    )
                elif type(atom) is Known:
                    made = self._known_calls.call_known(atom, Call(atom.path, this, args, rest, span))
                else:
                    made = self._call_other(atom, this, args, rest, span)
                result = join(result, made)
        finally:
            dataflow.depth -= 1
        return result

    def _call_other(self, atom: Atom, this: Value, args: Sequence[Value], rest: Value, span: Span) -> Value:
        """Call an atom that is neither a payload function nor a catalogued one."""
        if atom is OPAQUE_HOST_MEMBER:
            self.call_hidden((*args, rest), span)
        elif atom is HOST_HELD_TEXT:
            self._held.hold((*args, rest))
            self._tell(args, span)
            return self._held.given_back()
        elif not (type(atom) is str or type(atom) is Primitive or atom in NEVER_CALLABLE):
            self._judgement.leak(objects_of(this), Flow.ARGUMENT, span)
            self.judge_receiver(this)
            # A function in data is called by `call` and `apply` of no list: their first argument is the receiver.
            receiver = this.union(*args[:1], rest) if atom is TAINTED_DATA else this
            judge_shared_receiver(self._findings, receiver, span)
            return self.call_unknown(atom, args, rest, span) | self._call_lent(this, args, rest, span)
        return BOTTOM

    def _call_lent(self, this: Value, args: Sequence[Value], rest: Value, span: Span) -> Value:
        """Call the built-in functions that the payload gave to other code: what that gives back may be one of them."""
        lent = BOTTOM if self._answering else self._exposure.lent_functions()
        if not lent:
            return BOTTOM
        self._answering = True
        try:
            return self.call(lent, this, args, span, rest)
        finally:
            self._answering = False

    def judge_receiver(self, this: Value) -> None:
        """Note that an unknown callee, which may be a payload method, has a function or an heir of one as receiver."""
        for atom in this:
            if type(atom) is Known:
                functional = self._catalogue.get(atom.path).callable
            elif isinstance(atom, HeapObject):
                functional = atom.callable or atom.kind == "proxy" or not self._is_instance(atom)
            else:
                continue
            if functional:
                self._exposure.expect_receivers()

    def _is_instance(self, atom: HeapObject) -> bool:
        """Whether an object inherits only from prototypes of payload classes and functions or from built-in ones."""
        atom.readers[self._dataflow.reader] = None
        return all(
            bool(a.owners) if isinstance(a, HeapObject) else type(a) is Known or a is NULL
            for a in atom.prototype
        )

    def call_hidden(self, given: Sequence[Value], span: Span) -> None:
        """Report a call with arguments of a host member selected by a decoded name: it may evaluate text."""
        if any(given):
            note = "what is called is selected by a name that the payload decodes itself"
            self._findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, OPAQUE_HOST_MEMBER, note)

    def call_unknown(
        self,
        atom: Atom,
        args: Sequence[Value],
        rest: Value,
        span: Span,
        *,
        constructing: bool = False,
    ) -> Value:
        """Call an unknown callee: its arguments escape, and a d of 0 builds a function."""
        self._judgement.use(of(atom), Flow.CALL, span)
        judge_unlisted(self._catalogue, self._findings, atom, (*args, rest), span)
        if isinstance(atom, Host) and atom.path in UNMODELLED_CLASSES:
            self._findings.outside = True
        texts = wrapped = BOTTOM
        if isinstance(atom, Host) and atom.path in _ELEMENT_MAKERS and args:
            windows = frozenset(each for each in args[0] if type(each) is Known and each.path == "globalThis")
            if windows:  # `$(this)`: jQuery keeps it, and gives it back
                args, wrapped = (args[0] - windows, *args[1:]), _WINDOW_OF_JQUERY
            self._sinks.sink("html", args[0], span, certain=False)
        for value in (*args, rest):
            self._judgement.leak(value, Flow.ARGUMENT, span)
        if not isinstance(atom, Host):
            texts = self._held.hold((*args, rest), inside=False)
        elif not self._held.asked(atom.path):
            texts = self._held.hold((*args, rest))
        if texts:
            self._tell(args, span)
            texts |= of(HOST_HELD_TEXT)
        if atom is TAINTED_DATA:
            return texts | of(TAINTED_DATA, UNKNOWN) | self._answer(args, rest, span)
        made = built(self._findings, atom, args, rest, span, told=bool(texts), constructing=constructing)
        if FUNCTION_FROM_TEXT in made:
            return texts | made
        return texts | wrapped | made | self._answer(args, rest, span)

    def _answer(self, args: Sequence[Value], rest: Value, span: Span) -> Value:
        """Return the capabilities that an unknown callee makes of a name, if it is a function of the payload.

        The host may have kept ``(x, k) => x[k]``, and hand it back (guard.md §7).
        """
        if self._answering or not _names_constructor((*args, rest)):
            return BOTTOM
        self._answering = True
        try:
            kept = objects_of(self._dataflow.read(self._exposure.escaped_functions))
            made = self.call(kept, V_UNKNOWN, args, span, rest)
        finally:
            self._answering = False
        return frozenset(atom for atom in made if type(atom) is Known or atom in MAYBE_CONSTRUCTORS)

    def _tell(self, args: Sequence[Value], span: Span) -> None:
        """Call the payload's callbacks with a value that may hold the texts passed in the same call."""
        for value in args:
            functions = frozenset(a for a in objects_of(value) if a.kind == "function")
            if functions:
                held = of(HOST_HELD_TEXT, UNKNOWN)
                self.call(functions, V_UNKNOWN, (held, held), span)

    def _call_object(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value, span: Span
    ) -> Value:
        dataflow = self._dataflow
        if target.bound is not None:
            function, bound_this, given, rest = unbound(dataflow, target, args, rest)
            return self.call(function, bound_this or this, given, span, rest)
        if target.kind in {"resolver", "rejecter"}:
            for value in (*args[:1], rest):
                self._iteration.resolve_promise(target, value, span)
                if target.kind == "rejecter":
                    dataflow.write(dataflow.thrown, value)
            return V_UNDEFINED
        if target.kind == "proxy":
            return self.call_proxy(target, this, args, rest, span)
        if target.kind == "native":
            self._held.tell((*args, rest))
            target.readers[dataflow.reader] = None
            return join(target.elements, self._read_by(target, this, span))
        if target.kind == "class":
            return BOTTOM
        if target.unit is None:
            target.readers[dataflow.reader] = None
            return self.call_unknown(UNKNOWN, args, rest, span) if self._is_functional(target) else BOTTOM
        return self._ordinary_calls.ordinary_call(target, this, args, rest)

    def _read_by(self, accessor: HeapObject, this: Value, span: Span) -> Value:
        """Return what an accessor of a built-in object gives for a receiver: species are the receiver itself."""
        result: Value = BOTTOM
        for name in accessor.properties.get(READ_NAME, BOTTOM):
            if type(name) is str and name != SYMBOL_SPECIES:
                result = join(result, self._properties.get(this, name, span))
            else:
                result = join(result, this)
            for target in objects_of(this) if type(name) is not str else ():  # any of its members
                target.readers[self._dataflow.reader] = None
                result = join(result, target.everything())
        return result

    def _is_functional(self, target: HeapObject) -> bool:
        """Whether an object may inherit from a function: where its prototype chains leave the payload's objects."""
        seen, pending = {target}, [target]
        while pending:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            above = current.prototype
            parents = objects_of(above)
            if any(
                (type(atom) is not Known or atom.path == _FUNCTION) and atom is not NULL
                for atom in above - parents
            ):
                return True
            fresh = parents - seen
            seen |= fresh
            pending.extend(fresh)
            self._dataflow.spend(len(fresh))
        return False

    def call_proxy(
        self,
        target: HeapObject,
        this: Value,
        args: Sequence[Value],
        rest: Value,
        span: Span,
        trap: str = "apply",
    ) -> Value:
        """Call or construct a proxy: its trap and its target get the receiver and the arguments (ECMA-262 §10.5.12)."""
        target.readers[self._dataflow.reader] = None
        everything = join(rest, BOTTOM)
        for value in args:
            everything = join(everything, value)
        self._judgement.leak(everything, Flow.ARGUMENT, span)
        given = self._store.allocate("array", span.start, "trapped")
        self._store.inexact(given)
        self._store.put_element(given, join(everything, V_UNDEFINED))
        trapped_args = (this, of(given)) if trap == "apply" else (of(given), of(target))
        made = join(self._properties.call_trap(target, trap, trapped_args, span), V_UNKNOWN)
        made = join(made, self.call(target.elements, this, args, span, rest))
        return join(made, target.elements)  # a trap's result is among the elements
