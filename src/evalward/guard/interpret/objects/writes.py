"""Property writes: into payload objects, into the host, into built-in prototypes and sinks (guard.md §2, §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import call_sites, dynamic_key, electron, proto
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_STRING,
    HOST_HELD_TEXT,
    OPAQUE_HOST_MEMBER,
    TAINTED_DATA,
    TAINTED_SELECTION,
    TAINTED_SELECTION_PROTOTYPE,
    V_ANY_STRING,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.named_lists import is_named_list, with_element
from evalward.guard.domain.slots import (
    ADDED_NAMES,
    ANY_INDEX,
    MAY_SELECT_CONSTRUCTOR,
    PRIVATE_PREFIX,
    SYMBOL_SPECIES,
)
from evalward.guard.interpret.exposure import may_be_host
from evalward.guard.interpret.judgement import MAYBE_CONSTRUCTORS
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES
from evalward.guard.interpret.objects.private_api import owner_of_private
from evalward.guard.interpret.objects.written_values import is_kept, may_be_prototype, runs
from evalward.guard.interpret.unresolved_sinks import NAME
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.known_writes import KnownWrites
    from evalward.guard.interpret.objects.page_sinks import PageSinks
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.objects.setters import Setters
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_CALLS = frozenset({"call", "apply", "bind"})
# What RegExp.prototype.flags reads (ECMA-262 §22.2.6.4).
_FLAGS = frozenset(
    {"hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"}
)
_TEXTS_OF_NODES = frozenset({"textContent", "innerText", "outerText"})  # no other object has them
# Names that other code reads from any object, unlike a name of the payload's own as in `counts[tag].n += 1`.
_SHARED_NAMES = frozenset(
    {
        "constructor",
        "prototype",
        "toString",
        "valueOf",
        "toJSON",
        "hasOwnProperty",
        "isPrototypeOf",
        "then",
        "get",
    }
    | {
        "set",
        "writable",
        "configurable",
        "enumerable",
        "length",
        "call",
        "apply",
    }
    | {"bind", "exec", "test", "shell", "env", "cwd", "argv0", "NODE_OPTIONS"}
)


class Writes:
    """Writes of properties, and the sinks behind some of them."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        property_keys: PropertyKeys,
        properties: Properties,
        unknown_keys: UnknownKeys,
        sinks: PageSinks,
        setters: Setters,
        known_writes: KnownWrites,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._held = held
        self._property_keys = property_keys
        self._properties = properties
        self._unknown_keys = unknown_keys
        self._sinks = sinks
        self._setters = setters
        self._known_writes = known_writes
        self._machine = machine

    def set(self, owner: Value, name: str, value: Value, span: Span) -> None:
        """Write a property by a known name (ECMA-262 §7.3.4)."""
        self._dataflow.spend(len(owner))
        for atom in owner:
            self.set_on(atom, name, value, span)

    def set_computed(self, owner: Value, key: Value, value: Value, span: Span) -> None:
        """Write a property by a computed key."""
        resolved = self._property_keys.to_property_key(key, span)
        for name in resolved.names:
            self.set(owner, name, value, span)
        if resolved.unknown:
            owner = with_element(owner)
        if resolved.hidden and any(self._unknown_keys.may_judge(atom) for atom in owner) and runs(value):
            note = "text that may run is written by a name that the payload decodes itself"
            self._findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, None, note)
        if resolved.unknown and may_be_prototype(value):
            self._findings.miss(NAME, span)
        if resolved.numeric or resolved.unknown:
            for atom in owner:
                self.set_dynamic(
                    atom,
                    value,
                    span,
                    numeric=not (resolved.unknown or (resolved.elsewhere and type(atom) is Known)),
                )

    def set_on(self, atom: Atom, name: str, value: Value, span: Span) -> None:
        if name == SYMBOL_SPECIES:
            self._judgement.leak(value, Flow.CALLBACK, span)  # built-in methods construct it
        if name == "__proto__" and not isinstance(atom, Host):
            self._findings.report(proto.LABEL, Rank.USED, span, atom, "`__proto__` is written")
        owner = owner_of_private(atom, name)
        if owner is not None:
            self._findings.report(electron.LABEL, Rank.USED, span, None, f"`{name}` is private to `{owner}`")
        private = name[:3] == PRIVATE_PREFIX
        if private:
            self._setters.set_private(atom, name, value, span)
        if isinstance(atom, HeapObject):
            self._set_on_object(atom, name, value, span)
            return
        if private:
            return
        self._setters.call_on_host(atom, name, value, span)
        if type(atom) is Known:
            self._known_writes.set_on_known(atom, name, value, span)
        elif atom is TAINTED_SELECTION:
            if self._strict or name in _SHARED_NAMES:
                self._findings.polluted.append(span)
        elif atom is TAINTED_SELECTION_PROTOTYPE:
            self._findings.polluted.append(span)
        elif atom is OPAQUE_HOST_MEMBER or atom is HOST_HELD_TEXT:
            self._held.hold((value,))
        elif type(atom) is not str and type(atom) is not Primitive:
            if name == "prepareStackTrace":
                self._findings.report(
                    call_sites.LABEL, Rank.USED, span, atom, "`prepareStackTrace` is written"
                )
            self._judgement.change(atom, span)
            self._known_writes.set_on_shared(atom, name, value, span)
            self._judge_unknown(name, value, of(atom), span)
            if name in _CALLS:
                self._exposure.expect_calls()
            elif name == "constructor":
                self._judgement.judge_constructor(value)
            if atom is TAINTED_DATA:
                self._exposure.expect_functions(value)
            texts = self._held.hold((value,))
            if texts:
                self._patches.put(f"unknown.{name}", texts)
            self._judgement.leak(value, Flow.PROPERTY, span)

    def _judge_unknown(self, name: str, value: Value, owner: Value, span: Span) -> None:
        """Judge a write to what may be an element or a window."""
        kind = "value" if name in ATTRIBUTE_VALUES else self._catalogue.unknown_sinks.get(name)
        if kind is not None:
            self._sinks.sink(kind, value, span, certain=False)
        if name in _TEXTS_OF_NODES:
            self._sinks.sink("text", value, span, certain=False)
        if name.startswith("on"):
            self._sinks.call_handler(value, span.start, owner)

    def _set_on_object(self, target: HeapObject, name: str, value: Value, span: Span) -> None:
        target.readers[self._dataflow.reader] = None  # a setter may come later
        self._judgement.change(target, span)
        if target.escaped and not (
            target.owners and not self._strict
        ):  # a prototype's methods escape as such
            self._judgement.leak(value, Flow.RETURN, span)
        elif not name.startswith(PRIVATE_PREFIX) and is_kept(target):
            self._judgement.leak(value, Flow.PROPERTY, span)  # an event's `target` is the same object
        if is_named_list(target):
            self._judge_unknown(name, value, of(target), span)
        if target.kind == "proxy":
            self._set_through_proxy(target, of(name), value, span)
        if name in target.setters:
            self._machine.call(target.setters[name], of(target), (value,), span)
            return
        for parent in target.prototype:
            self._setters.inherited_setter(parent, target, name, value, span)
        if target.kind in {"array", "arguments"} and is_index(name):
            # An instruction that has run before appends in a loop, any number of times.
            room = len(target.items) + (not self._dataflow.rerunning)
            if len(name) <= 5 and int(name) < room <= MAX_ITEMS:  # noqa: PLR2004 - digits of MAX_ITEMS
                if int(name) == len(target.items):
                    self._store.grow(target)
                self._store.put_item(target, int(name), value)
            else:
                self._store.inexact(target)
                self._store.put_element(target, value)
            if target.kind == "arguments":
                self._store.put_element(target, value)
            return
        if target.kind == "array" and name == "length":
            self._store.inexact(target)
        elif target.kind == "regexp" and name in _FLAGS:
            self._store.put(target, "flags", V_ANY_STRING)  # it is composed from these
        if name not in target.properties:
            target.uncertain.add(name)
        self._store.put(target, name, value)

    def _set_through_proxy(self, proxy: HeapObject, key: Value, value: Value, span: Span) -> None:
        """Write through a proxy: to its target and to its ``set`` trap (ECMA-262 §10.5.9)."""
        proxies, wrapped = proxy.proxies()
        with self._dataflow.nested():
            self._dataflow.spend(len(proxies))
            self.set_computed(wrapped, key, value, span)
        for each in proxies:
            self._setters.call_traps(each, key, value, each, span)

    def set_through_super(self, above: Value, this: Value, key: Value, value: Value, span: Span) -> None:
        """Write ``super.key``: an inherited setter is called with ``this``, else ``this`` gets the property.

        That is OrdinarySet with ``this`` as the receiver (ECMA-262 §10.1.9.2): an array gets an element, a mapped
        parameter of ``arguments`` its value, and a proxy calls its traps.
        """
        resolved = self._property_keys.to_property_key(key, span)
        for atom in this:
            for parent in above:
                for name in resolved.names:
                    self._setters.inherited_setter(parent, atom, name, value, span)
                if (resolved.unknown or resolved.numeric) and isinstance(parent, HeapObject):
                    self._setters.call_inherited(parent, atom, value, span)
        self.set_computed(this, key, value, span)

    def set_dynamic(self, atom: Atom, value: Value, span: Span, *, numeric: bool) -> None:
        if isinstance(atom, HeapObject):
            atom.readers[self._dataflow.reader] = None
            self._judgement.change(atom, span)
            if atom.escaped:
                self._judgement.leak(value, Flow.RETURN, span)
            if atom.setters or atom.prototype:
                self._setters.call_inherited(atom, atom, value, span)
            if atom.kind == "proxy":
                self._set_through_proxy(atom, of(ANY_STRING), value, span)
            if atom.kind == "array":
                self._store.inexact(atom)
                if not numeric:
                    self._store.put(atom, ADDED_NAMES, V_ANY_STRING)
            if atom.kind != "array" or (not numeric and self._holds_function(value)):
                self._store.extend(atom)
            self._store.put_element(atom, value)
            return
        if atom is OPAQUE_HOST_MEMBER or atom is HOST_HELD_TEXT:
            return
        if atom is TAINTED_SELECTION or atom is TAINTED_SELECTION_PROTOTYPE:
            self._findings.polluted.append(span)
            return
        if not numeric:
            self._judgement.change(atom, span)
            self._judgement.unresolved(atom, span)
            self._exposure.expect_calls()
            if type(atom) is not Known and may_be_host(atom) and runs(value):
                note = "text that may run is written by a key that cannot be resolved"
                self._findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, atom, note)
            if not value.isdisjoint(MAYBE_CONSTRUCTORS):
                self._patches.put(MAY_SELECT_CONSTRUCTOR, V_UNDEFINED)  # `constructor`, perhaps
        if atom is TAINTED_DATA:
            self._exposure.expect_functions(value)
        if type(atom) is Known:
            if numeric:
                self._patches.put(f"{atom.path}.{ANY_INDEX}", value)
            self._known_writes.set_dynamic_on_known(atom, span, numeric=numeric)
        self._judgement.leak(value, Flow.PROPERTY, span)

    @staticmethod
    def _holds_function(value: Value) -> bool:
        """Whether a value may be a function: under an unknown key it may become a conversion method or an iterator."""
        return any(atom.callable if isinstance(atom, HeapObject) else type(atom) is Known for atom in value)
