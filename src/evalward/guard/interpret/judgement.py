"""Judgement: which flows of which values are uses that policy decides about (guard.md §2, use)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import (
    arguments_callee,
    dynamic_key,
    electron,
    function_call,
    function_constructor,
    function_new,
    process,
    prototype_tampering,
    reflection,
    string_timer,
)
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    CONSTRUCTOR_OF_DATA,
    CONSTRUCTOR_OF_UNKNOWN,
    COPY_OR_FUNCTION,
    FUNCTION_FROM_TEXT,
    OPAQUE_HOST_MEMBER,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    Known,
    Primitive,
    Value,
    is_prototype,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import NAMESPACES, REFLECTING
from evalward.guard.interpret.exposure import may_be_host

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.run_state import RunState


REFLECTIVE = frozenset(
    {"Reflect", "Reflect.get", "Reflect.construct", "Reflect.apply", "Object.getOwnPropertyDescriptor"}
    | {"Object.getOwnPropertyDescriptors", "Object.setPrototypeOf", "Object.defineProperty"}
)
# Their functions run nothing, and what they give is no text of the payload's.
_HARMLESS = frozenset({"console", "Math", "Number", "Boolean", "isNaN", "isFinite", "parseInt", "parseFloat"})
# The methods of a collection: an index that is not known gives them too, so that much code hands them on.
_OF_COLLECTIONS = frozenset(f"Element.{name}" for name in ("item", "namedItem", "add", "remove"))
_BY_NAME = frozenset({"unknown", "playwright", "puppeteer", "selenium"})
MAYBE_CONSTRUCTORS: Value = frozenset({UNKNOWN_CONSTRUCTOR, UNKNOWN_NESTED_DATA, CONSTRUCTOR_OF_UNKNOWN})
_CONSTRUCTORS: Value = frozenset({UNKNOWN_CONSTRUCTOR, CONSTRUCTOR_OF_UNKNOWN, CONSTRUCTOR_OF_DATA})
_ANSWERED: Value = frozenset({UNKNOWN_CONSTRUCTOR, CONSTRUCTOR_OF_UNKNOWN})  # of what a caller gives
_KEPT = {Flow.CALL, Flow.CONSTRUCT, Flow.COERCE}  # no other code gets the value
_TIMERS = frozenset({"setTimeout", "setInterval"})  # what is handed them may be text
_HANDED_ON = {Flow.ARGUMENT, Flow.PROPERTY, Flow.GLOBAL}
_LENDING = _HANDED_ON | {Flow.RETURN, Flow.THROW}
_EXERCISED = {Flow.CALL, Flow.CONSTRUCT, Flow.CALLBACK}
_GIVEN_AWAY = {Flow.ARGUMENT, Flow.PROPERTY, Flow.THROW}
# Data that is passed on or stored is what ordinary code does with `table[row][column]`; a function that may be
# Function itself, read from a certain function, is not.
_STRONG_LEAKS = {Flow.CALLBACK, Flow.ARGUMENT, Flow.PROPERTY, Flow.GLOBAL, Flow.THROW}
_BUILT_LEAKS = {
    Flow.CALL,
    Flow.CONSTRUCT,
    Flow.COERCE,
    Flow.CALLBACK,
    Flow.ARGUMENT,
    Flow.PROPERTY,
    Flow.GLOBAL,
    Flow.THROW,
}


class Judgement:
    """The rules for uses; every other part of the interpreter calls ``use``."""

    def __init__(self, state: RunState) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._strict = state.surroundings.strict

    def use(self, value: Value, flow: Flow, span: Span) -> None:
        """Report the uses that a flow of this value makes."""
        for atom in value:
            if type(atom) is str or type(atom) is Primitive or isinstance(atom, HeapObject):
                continue
            if type(atom) is Known:
                if flow is Flow.ARGUMENT and (atom.path in NAMESPACES or atom.path == "globalThis"):
                    self._exposure.expect_removals()
                if flow in _LENDING:
                    self._lend(atom)
                if atom.label is not None:
                    self._use_capability(atom, flow, span)
                elif self._strict and flow is not Flow.THROW and self._names_are_secret(atom):
                    self._findings.report(
                        atom.path,
                        Rank.LEAVES,
                        span,
                        atom,
                        f"`{atom.path}`, whose names are secret, {flow.value}",
                    )
                elif flow in _HANDED_ON and atom.path in REFLECTIVE:
                    self._findings.report(
                        reflection.LABEL, Rank.LEAVES, span, atom, f"`{atom.path}` {flow.value}"
                    )
                elif atom.path == "Proxy":
                    self._exposure.expect_proxies()
                elif atom.path in _TIMERS and (
                    flow is Flow.ARGUMENT or (self._strict and flow is Flow.RETURN)
                ):
                    self._findings.report(
                        string_timer.LABEL, Rank.MAY_LEAVE, span, atom, f"`{atom.path}` {flow.value}"
                    )
                elif flow is Flow.GLOBAL and atom.path.startswith("electron"):
                    self._findings.report(
                        electron.LABEL, Rank.LEAVES, span, atom, f"`{atom.path}` {flow.value}"
                    )
                continue
            if atom in _CONSTRUCTORS and flow not in _KEPT:
                self._exposure.expect_constructors()
            if atom is OPAQUE_HOST_MEMBER:
                if flow is Flow.CALLBACK:
                    note = f"what a name that the payload decodes itself selects {flow.value}"
                    self._findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, atom, note)
            elif atom is FUNCTION_FROM_TEXT or atom is COPY_OR_FUNCTION:
                if flow in (_BUILT_LEAKS if atom is FUNCTION_FROM_TEXT else _EXERCISED):
                    self._findings.report(
                        function_constructor.LABEL, Rank.USED, span, atom, f"the result {flow.value}"
                    )
            elif (atom is UNKNOWN_CONSTRUCTOR and flow in _STRONG_LEAKS) or (
                flow is Flow.GLOBAL and (atom is UNKNOWN_NESTED_DATA or atom is CONSTRUCTOR_OF_UNKNOWN)
            ):
                note = f"what may be a function constructor {flow.value}"
                self._findings.report(function_constructor.LABEL, Rank.MAY_LEAVE, span, atom, note)
            elif (self._is_strict and flow in _EXERCISED and atom in MAYBE_CONSTRUCTORS) or (
                flow in _GIVEN_AWAY and atom in _ANSWERED
            ):
                self._findings.report(
                    function_constructor.LABEL,
                    Rank.BY_KEY,
                    span,
                    atom,
                    f"what may be a function constructor {flow.value}",
                )

    def _lend(self, atom: Known) -> None:
        """Note what other code may give back (guard.md §2): it keeps the value, and no list names all that do."""
        if atom.path in self._catalogue.shared or is_prototype(atom):
            self._exposure.lend_builtin(atom)
        if atom.path in self._catalogue.lenders or atom.path in REFLECTING:
            self._exposure.lend(atom)
            return
        family = atom.path.partition(".")[0]
        # A function of a driver's, or of an unknown owner's, is known by its name alone.
        if family in _HARMLESS or family in _BY_NAME or atom.path in _OF_COLLECTIONS:
            return
        if self._catalogue.get(atom.path).callable:
            self._exposure.lend_function(atom)

    @property
    def _is_strict(self) -> bool:
        """Whether what is not proven counts: not in code that nothing calls, where no other code could call it."""
        return self._strict and not self._findings.uncalled

    def _names_are_secret(self, atom: Known) -> bool:
        return self._catalogue.denied_data.has_secret_names(atom.path)

    def judge_constructor(self, value: Value) -> None:
        """Note that other code may read a possible function constructor as ``constructor``."""
        if not value.isdisjoint(MAYBE_CONSTRUCTORS):
            self._exposure.expect_constructors()

    def judge_answer(self, result: Value, span: Span) -> None:
        """Report what other code gets from the payload when it may be a constructor of what that code handed in.

        A function that answers so turns any function into ``Function``: it is a capability (guard.md §2, use).
        """
        for atom in result & _ANSWERED:
            note = "what may be a function constructor is an answer to other code"
            self._findings.report(function_constructor.LABEL, Rank.MAY_LEAVE, span, atom, note)

    def change(self, atom: Atom, span: Span) -> bool:
        """Report a change of an object of `process`, of which a payload may only read; say whether it is one.

        An unknown object may be a built-in prototype that the payload gave to other code.
        """
        if type(atom) is not Known and may_be_host(atom):
            for lent in filter(is_prototype, self._exposure.lent_builtins()):
                note = f"what may be `{lent.path if type(lent) is Known else lent}` is changed"
                self._findings.report(prototype_tampering.LABEL, Rank.BY_KEY, span, lent, note)
            return False
        path = atom.path if type(atom) is Known and atom.label is None else ""
        if self._store.is_of_process(atom):
            path = "process.argv"
        if not path.startswith("process."):
            return False
        self._findings.report(process.LABEL, Rank.LEAVES, span, None, f"`{path}` is changed")
        return True

    def _use_capability(self, atom: Known, flow: Flow, span: Span) -> None:
        label = atom.label or ""
        if label == function_call.LABEL and flow is Flow.CONSTRUCT:
            label = function_new.LABEL
        rank = Rank.USED if flow in _EXERCISED else Rank.LEAVES
        if label == arguments_callee.LABEL:
            rank = rank.lowered()  # two accessors of every function's prototype, among others that say more
        self._findings.report(label, rank, span, atom, f"`{atom.path}` {flow.value}")

    def unresolved(self, atom: Atom, span: Span) -> None:
        """In ``strict``, report an unresolved key on a receiver that is not proven plain."""
        if self._is_strict and atom in {
            UNKNOWN,
            UNKNOWN_CONSTRUCTOR,
            UNKNOWN_NESTED_DATA,
            FUNCTION_FROM_TEXT,
            CONSTRUCTOR_OF_UNKNOWN,
            CONSTRUCTOR_OF_DATA,
        }:
            self._findings.report(
                dynamic_key.LABEL, Rank.BY_KEY, span, atom, "read by a key that cannot be resolved"
            )

    def leak(self, value: Value, flow: Flow, span: Span) -> None:
        """Treat a value as passed to code that is not modelled: capabilities are used, objects escape."""
        self.use(value, flow, span)
        objects = [
            atom for atom in value if isinstance(atom, HeapObject) and (not atom.escaped or atom.holders)
        ]
        if len(objects) > 1:
            objects.sort(key=lambda target: target.serial)
        for target in objects:
            self._dataflow.escape_object(target)
        if flow is not Flow.RETURN:
            for atom in value:
                if isinstance(atom, HeapObject) and atom.owners and not atom.handed:
                    atom.handed = True
                    self._dataflow.changed(atom)
