"""Own properties of an object as a whole: their keys, and copies of them (ECMA-262 §7.3.23, §7.3.25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.property_key import names_property
from evalward.guard.domain.slots import (
    ADDED_NAMES,
    SYMBOL_PREFIX,
)
from evalward.guard.domain.span import NOWHERE, Span
from evalward.guard.domain.values import join
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.denied_reads import DeniedReads
    from evalward.guard.interpret.objects.elements import Elements
    from evalward.guard.interpret.objects.unknown_keys import UnknownKeys
    from evalward.guard.interpret.run_state import RunState
if TYPE_CHECKING:
    from evalward.guard.interpret.recursion import Recursion

_MAX_COPIED = 64
_LISTED = frozenset({"globalThis", "Element.contentWindow"})  # the names of their members reveal nothing


class OwnProperties:
    """Enumeration and copies of properties."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        denied_reads: DeniedReads,
        elements: Elements,
        unknown_keys: UnknownKeys,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._denied_reads = denied_reads
        self._elements = elements
        self._unknown_keys = unknown_keys
        self._machine = machine

    def copy_data_properties(self, target: HeapObject, source: Value, span: Span) -> None:
        """Copy own enumerable properties, as a spread and ``Object.assign`` do (ECMA-262 §7.3.25)."""
        for atom in source:
            if isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                self._dataflow.spend(len(atom.properties) >> 1)
                listed = target.kind in {"array", "arguments"}
                for name, value in list(atom.properties.items()):
                    if listed and (name == "length" or is_index(name)):
                        self._put_or_add(target, name, value)
                    elif names_property(name):
                        if name not in target.properties:
                            target.uncertain.add(name)
                        self._store.put(target, name, value)
                for name, getter in list(atom.getters.items()):
                    if name not in target.properties:
                        target.uncertain.add(name)
                    self._store.put(
                        target, name, self._machine.call(getter, of(atom), (), span) or V_UNDEFINED
                    )
                if atom.items and not atom.exact:
                    self._add_unnamed(target, atom.contents())
                for index, item in enumerate(atom.items if atom.exact else ()):
                    self._put_or_add(target, str(index), item)
                for parent in atom.prototype:
                    if type(parent) is Known and self._catalogue.has_elements(parent.path):
                        self._add_unnamed(target, self._elements.get_element(atom, span.start))
                if atom.elements or atom.escaped:
                    self._add_unnamed(target, join(atom.elements, V_UNKNOWN if atom.escaped else BOTTOM))
            elif type(atom) is Known and atom.label is not None:
                self._judgement.use(of(atom), Flow.ARGUMENT, span)
                self._add_unnamed(target, V_TAINTED_DATA)
            elif type(atom) is str:
                for index, character in enumerate(atom[:_MAX_COPIED]):
                    self._put_or_add(target, str(index), of(character))
                if len(atom) > _MAX_COPIED:
                    self._add_unnamed(target, frozenset(atom[_MAX_COPIED:]))
            elif type(atom) is not Primitive:
                copied = self._unknown_keys.get_unknown(atom, span) if type(atom) is Known else V_TAINTED_DATA
                self._add_unnamed(target, copied)

    def _add_unnamed(self, target: HeapObject, value: Value) -> None:
        """Put properties under names that are not known; an array is then of any length."""
        self._store.extend(target)
        self._store.inexact(target)
        self._store.put_element(target, value)

    def _put_or_add(self, target: HeapObject, name: str, value: Value) -> None:
        """Put a property that was copied; an array's elements lose their order."""
        if target.kind in {"array", "arguments"}:
            self._store.inexact(target)
            self._store.put_element(target, value if name != "length" else BOTTOM)
        else:
            self._store.put(target, name, value)

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
