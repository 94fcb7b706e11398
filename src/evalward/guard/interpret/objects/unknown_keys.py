"""Reads by computed keys: known names, numeric keys, unknown keys by the distance rule (guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_key
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_NUMBER,
    ANY_STRING,
    BOTTOM,
    CONSTRUCTOR_OF_DATA,
    FUNCTION_FROM_TEXT,
    HOST_HELD_TEXT,
    MARKERS,
    NULL,
    OPAQUE_HOST_MEMBER,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_SELECTION,
    TAINTED_SELECTION_PROTOTYPE,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    UNKNOWN_PLAIN,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.named_lists import with_element
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import (
    PROTOTYPES,
    UNKNOWN_PRIMITIVE_PROTOTYPES,
)
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.property_keys import PropertyKeys
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.objects.properties import Properties
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState


_NOTHING = frozenset({"undefined", "NaN"})  # initial values of a key
_WITHOUT_NAMES = frozenset(PROTOTYPES.values())  # they have no enumerable property


class UnknownKeys:
    """Reads by keys that are not literals."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        host_objects: HostObjects,
        property_keys: PropertyKeys,
        properties: Properties,
        elements: Elements,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._cleared = state.surroundings.cleared
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._held = held
        self._host_objects = host_objects
        self._property_keys = property_keys
        self._properties = properties
        self._elements = elements
        self._machine = machine

    def get_computed(self, owner: Value, key: Value, span: Span, *, closed: bool = True) -> Value:
        """Return a read by a computed key."""
        result: Value
        if len(key) == 1:
            (only,) = key
            if type(only) is str and (closed or is_index(only)):
                return self._properties.get(owner, only, span)
            if only is ANY_NUMBER:
                result = BOTTOM
                for atom in owner:
                    result = join(result, self._elements.get_element(atom, span.start))
                return result
        resolved = self._property_keys.to_property_key(key, span)
        result = BOTTOM
        if resolved.unknown:
            owner = with_element(owner)
        if resolved.unknown and not self._is_bare(owner):
            checked = span in self._cleared
            if resolved.decoded or resolved.tainted:
                self._findings.selecting.add(span)
            if resolved.decoded:
                # The payload hides the key: a write through it is intentional.
                result = BOTTOM if checked else of(TAINTED_SELECTION_PROTOTYPE)
                if resolved.hidden and any(self.may_judge(atom) for atom in owner):
                    result |= of(OPAQUE_HOST_MEMBER)
            elif resolved.tainted and not checked:
                result = of(TAINTED_SELECTION)
            if any(
                type(atom) is Known and f"{atom.path}.prototype" in self._catalogue.entries for atom in owner
            ):
                # A built-in constructor: its prototype is the only target of a write.
                result |= of(TAINTED_SELECTION_PROTOTYPE)
        for name in resolved.names:
            asked = owner
            if name == "undefined" and (len(resolved.names) > 1 or resolved.numeric or resolved.unknown):
                asked = frozenset(a for a in owner if not (type(a) is Known and a.label is not None))
            result = join(result, self._properties.get(asked, name, span))
        if (
            not closed
            and resolved.names
            and any(type(atom) is HeapObject and atom.kind == "function" for atom in owner)
            and any(not is_index(name) and name not in _NOTHING for name in resolved.names)
        ):
            # A computed key of a function is not trusted to stay one of the constants found, because
            # one more name reaches a function constructor.
            self._findings.origin(UNKNOWN_CONSTRUCTOR, None, "read from a function by a computed key", span)
            result = join(result, of(UNKNOWN_CONSTRUCTOR))
        if resolved.numeric:
            for atom in owner:
                if resolved.elsewhere:
                    result = join(result, self.get_elsewhere(atom, span))
                else:
                    result = join(result, self._elements.get_element(atom, span.start))
        if resolved.unknown:
            self._dataflow.spend(len(owner))
            for atom in owner if len(owner) == 1 else sorted(owner, key=repr):
                result = join(result, self.get_unknown(atom, span))
                if resolved.decoded and type(atom) is Known:
                    result = join(result, self._get_decoded(atom, span))
        return result

    def get_elsewhere(self, atom: Atom, span: Span, *, listed: bool = False) -> Value:
        """Return a read by a key whose first letters match no inherited name: only own properties of the payload."""
        if not isinstance(atom, HeapObject) or atom.kind == "proxy":
            return of(UNKNOWN) if atom is UNKNOWN else self.get_unknown(atom, span)
        result: Value = V_UNDEFINED
        pending, seen = [atom], {atom}
        while pending:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            result = join(result, join(current.everything(), of(UNKNOWN) if current.escaped else BOTTOM))
            for getter in current.getters.values():
                result = join(result, self._machine.call(getter, of(atom), (), span))
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    if not (listed and type(parent) is Known and parent.path in _WITHOUT_NAMES):
                        result = join(result, self.get_unknown(parent, span))
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result

    def _get_decoded(self, atom: Known, span: Span) -> Value:
        """Return every member: the payload computes the key from its own text, and it may be any name."""
        entry = self._catalogue.get(atom.path)
        if entry.unresolved in {dynamic_key.LABEL, "harmless"} or not entry.members:
            return BOTTOM
        result: Value = BOTTOM
        for name, member in entry.members.items():
            if member.label is not None:
                self._findings.report(
                    dynamic_key.LABEL,
                    Rank.BY_KEY,
                    span,
                    atom,
                    f"`{atom.path}` may be asked for `{name}`",
                )
            elif member.result.startswith(("@", "array:@", "collection:@", "new:")) and name != "constructor":
                result = join(result, self._host_objects.materialize(member.result, span.start))
        return result

    def may_judge(self, atom: Atom) -> bool:
        """Whether a method of the object may run the text that it is given."""
        if type(atom) is Known:
            entry = self._catalogue.get(atom.path)
            return bool(entry.sinks) or entry.unresolved == "playwright"
        return isinstance(atom, Host) or atom is UNKNOWN or atom is UNKNOWN_NESTED_DATA

    @staticmethod
    def _is_bare(owner: Value) -> bool:
        """Whether every object has no prototype, so that no key leads to a shared one."""
        return all(isinstance(atom, HeapObject) and atom.prototype == of(NULL) for atom in owner)

    def get_unknown(self, atom: Atom, span: Span) -> Value:
        """Return a read by a key that may be anything; d falls by one."""
        if atom in MARKERS:
            return BOTTOM
        if atom is HOST_HELD_TEXT:
            return self._held.given_back()
        self._judgement.unresolved(atom, span)
        if isinstance(atom, HeapObject):
            return self._get_unknown_from_object(atom, span)
        if type(atom) is Known:
            return self._get_unknown_from_known(atom, span)
        if type(atom) is Primitive and atom.type in {"undefined", "object"}:
            return BOTTOM
        if atom is TAINTED_DATA:
            return of(TAINTED_DATA, UNKNOWN) | self._of_data(atom, span)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return of(UNKNOWN, ANY_STRING)
        if isinstance(atom, Host):
            return self._get_unknown_from_host(atom, span)
        if atom is UNKNOWN_PLAIN or type(atom) is Primitive or atom in UNKNOWN_PRIMITIVE_PROTOTYPES:
            return of(UNKNOWN)
        made = (
            UNKNOWN_CONSTRUCTOR
            if atom is UNKNOWN_CONSTRUCTOR or atom is CONSTRUCTOR_OF_DATA
            else FUNCTION_FROM_TEXT
            if atom is FUNCTION_FROM_TEXT
            else UNKNOWN_NESTED_DATA
        )
        self._findings.origin(made, atom, "read by a key that cannot be resolved", span)
        return of(made)

    def _get_unknown_from_object(self, target: HeapObject, span: Span) -> Value:
        result: Value = BOTTOM
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            self._dataflow.spend(1 + (len(result) >> 3))
            current.readers[self._dataflow.reader] = None
            if current.kind == "proxy":
                with self._dataflow.nested():
                    for inner in current.proxied() - seen:
                        if isinstance(inner, HeapObject) and inner.kind == "proxy":
                            self._judgement.unresolved(inner, span)
                            seen.add(inner)
                            pending.append(inner)
                        else:
                            result = join(result, self.get_unknown(inner, span))
            result = join(result, current.everything())
            for getter in current.getters.values():
                result = join(result, self._machine.call(getter, of(target), (), span))
            if current.callable or current.kind == "prototype":
                self._findings.origin(
                    UNKNOWN_CONSTRUCTOR, None, "read from a function by a key that cannot be resolved", span
                )
                result = join(result, of(UNKNOWN_CONSTRUCTOR))
            elif not current.prototype or current.escaped:
                result = join(result, of(UNKNOWN))
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    result = join(result, self.get_unknown(parent, span))
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result

    def _get_unknown_from_host(self, atom: Host, span: Span) -> Value:
        """Return what an object that no catalogue names gives: an interface is a function, others may be one."""
        if not self._catalogue.is_of_interface(atom.path):
            return of(UNKNOWN) | self._of_data(atom, span)
        note = "read from an interface by a key that cannot be resolved"
        self._findings.origin(UNKNOWN_CONSTRUCTOR, atom, note, span)
        return of(UNKNOWN, UNKNOWN_CONSTRUCTOR)

    def _of_data(self, atom: Atom, span: Span) -> Value:
        """Return what may be a function constructor: the host's data may be one of its functions."""
        self._findings.origin(UNKNOWN_NESTED_DATA, atom, "read by a key that cannot be resolved", span)
        return of(UNKNOWN_NESTED_DATA)

    def _get_unknown_from_known(self, atom: Known, span: Span) -> Value:
        if atom.label is not None and atom.path not in self._catalogue.entries:
            self._findings.report(
                atom.label,
                Rank.BY_KEY,
                span,
                atom,
                f"`{atom.path}` is read by a key that cannot be resolved",
            )
        entry = self._catalogue.get(atom.path)
        match entry.unresolved:
            case "harmless":
                return self._host_objects.materialize(
                    entry.others if entry.others != "undefined" else "text", span.start
                ) | of(UNKNOWN)
            case dynamic_key.LABEL:
                self._findings.report(
                    dynamic_key.LABEL,
                    Rank.BY_KEY,
                    span,
                    atom,
                    f"`{atom.path}` is read by a key that cannot be resolved",
                )
                return of(UNKNOWN_CONSTRUCTOR)
            case "function":
                pass
            case _ if not entry.callable and atom.path != "Function.prototype":
                if self._strict and any(member.label for member in entry.members.values()):
                    self._findings.report(
                        dynamic_key.LABEL,
                        Rank.BY_KEY,
                        span,
                        atom,
                        f"`{atom.path}` is read by a key that cannot be resolved",
                    )
                return of(UNKNOWN)
        self._findings.origin(
            UNKNOWN_CONSTRUCTOR, None, "read from a function by a key that cannot be resolved", span
        )
        return of(UNKNOWN_CONSTRUCTOR)
