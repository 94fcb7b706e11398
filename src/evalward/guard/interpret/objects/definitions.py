"""``Object.defineProperty``: values, getters and setters of a descriptor (ECMA-262 §20.1.2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import call_sites, prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import BOTTOM, MARKERS, UNDEFINED, Known, Primitive, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import ELEMENT_PROTOTYPE
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.writes import Writes
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_OF_FUNCTIONS = frozenset({"prototype", "name", "length"})


class Definitions:
    """Definitions of properties."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        coercion: Coercion,
        property_keys: PropertyKeys,
        properties: Properties,
        writes: Writes,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._findings = state.findings
        self._judgement = judgement
        self._coercion = coercion
        self._property_keys = property_keys
        self._properties = properties
        self._writes = writes
        self._machine = machine

    def define_own_property(self, target: Value, key: Value, descriptor: Value, span: Span) -> None:
        """Model ``Object.defineProperty``: the value, the getter and the setter of a descriptor (ECMA-262 §10.1.6)."""
        resolved = self._property_keys.to_property_key(key, span)
        value = self._properties.get(descriptor, "value", span)
        getter, setter = (
            self._properties.get(descriptor, "get", span),
            self._properties.get(descriptor, "set", span),
        )
        callables = frozenset(
            atom for atom in getter if self._coercion.may_be_callable(atom) or isinstance(atom, HeapObject)
        )
        setters = frozenset(
            atom for atom in setter if self._coercion.may_be_callable(atom) or isinstance(atom, HeapObject)
        )
        self._judgement.use(callables | setters, Flow.CALLBACK, span)
        if "prepareStackTrace" in resolved.names and any(
            type(atom) is Known and atom.path == "Error" for atom in target
        ):
            self._findings.report(call_sites.LABEL, Rank.USED, span, None, "`prepareStackTrace` is defined")
        for atom in target:
            self._judgement.change(atom, span)
            if type(atom) is Known and (atom.path.endswith("prototype") or atom is ELEMENT_PROTOTYPE):
                self._findings.report(
                    prototype_tampering.LABEL, Rank.USED, span, atom, f"`{atom.path}` is written"
                )
            if type(atom) is Known and atom.path == "globalThis":
                given = join(value, self._machine.call(callables, of(atom), (), span))
                for name in resolved.names if given - {UNDEFINED} else ():
                    self._writes.set(of(atom), name, given, span)
            if type(atom) is Primitive or type(atom) is str:
                continue  # it throws
            if not isinstance(atom, HeapObject):
                given = join(value, self._machine.call(callables, of(atom), (), span))
                for name in resolved.names:
                    self._exposure.define_on_hosts(atom, name, given - {UNDEFINED}, setters)
                if type(atom) is not Known:
                    for name in resolved.names if given - {UNDEFINED} else ():
                        self._writes.set_on(atom, name, given, span)
                    if atom in MARKERS and resolved.unknown:
                        self._writes.set_dynamic(atom, given, span, numeric=False)
                self._judgement.leak(value | callables | setters, Flow.PROPERTY, span)
                if type(atom) is Known and atom.path != "globalThis":
                    if resolved.unknown or resolved.numeric:
                        self._exposure.expect_removals()
                    self._keep(atom, key, given, span)
                continue
            if atom.kind == "proxy":
                with self._dataflow.nested():
                    self.define_own_property(atom.proxied(), key, descriptor, span)
                self._properties.call_trap(atom, "defineProperty", (key, descriptor), span)
            if resolved.unknown or resolved.numeric:
                self._writes.set_dynamic(atom, value, span, numeric=not resolved.unknown)
                self._judgement.leak(callables | setters, Flow.PROPERTY, span)
                if callables:
                    self._store.put_element(atom, self._machine.call(callables, of(atom), (), span))
            self._doubt(atom, resolved.names)
            for name in resolved.names:
                if callables:
                    self._store.put_accessor(atom, name, callables)
                    if atom.kind in {"array", "arguments"} and is_index(name):
                        self._store.put_element(atom, self._machine.call(callables, of(atom), (), span))
                if setters:
                    self._store.put_accessor(atom, name, setters, setter=True)
                kept = BOTTOM
                if atom.kind == "function" and name in _OF_FUNCTIONS and UNDEFINED in value:
                    kept = self._properties.get(
                        of(atom), name, span
                    )  # a descriptor without a value leaves it alone
                self._writes.set_on(atom, name, join(value, kept), span)

    def _doubt(self, target: HeapObject, names: tuple[str, ...]) -> None:
        """Note that properties may not be among those that are listed or copied: they may not be enumerable."""
        self._store.doubt(target, names)
        if target.kind in {"array", "arguments"} and any(map(is_index, names)):
            self._store.inexact(target)

    def _keep(self, atom: Known, key: Value, value: Value, span: Span) -> None:
        """Let later reads of a host object find what the payload defined; the streams of the console are judged."""
        for name in self._property_keys.to_property_key(key, span).names:
            self._patches.put(f"{atom.path}.{name}", value)
        if atom.path == "console":
            self._writes.set_computed(of(atom), key, value, span)
