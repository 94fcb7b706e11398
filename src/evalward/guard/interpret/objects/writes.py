"""Property writes: into payload objects, into the host, into built-in prototypes and sinks (guard.md §2, §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs.labels import OFF_BY_DEFAULT_LABELS
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.values import (
    ACTIVE,
    ANY_STRING,
    BOTTOM,
    DATA,
    DECODED,
    HELD,
    HIDDEN,
    PREFIXED,
    SELECTED,
    SELECTED_PROTOTYPE,
    V_STRING,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    of,
)
from evalward.guard.interpret.judgement import MAYBE_CONSTRUCTORS, Flow
from evalward.guard.interpret.objects.catalogued import ELEMENT_PROTOTYPE
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES, Sinks
from evalward.guard.markup import is_active, is_script_scheme
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.values import Atom

_CALLS = frozenset({"call", "apply", "bind"})
_HIDDEN_TEXTS = frozenset({ACTIVE, DECODED, PREFIXED})
# What other code reads of every object; a constant name of the payload's own, as in `counts[tag].n += 1`, is not.
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


def _runs(value: Value) -> bool:
    """Whether a text runs where it is made markup, a URL or its scheme, or the payload hides what it says."""
    return not value.isdisjoint(_HIDDEN_TEXTS) or any(
        type(atom) is str and (is_active(atom) or is_script_scheme(atom)) for atom in value
    )


class Writes(Sinks):
    """Writes of properties, and the sinks behind some of them."""

    def set(self, owner: Value, name: str, value: Value, start: int, end: int) -> None:
        """Write a property by a known name."""
        self.spend(len(owner))
        for atom in owner:
            self._set_on(atom, name, value, start, end)

    def set_computed(self, owner: Value, key: Value, value: Value, start: int, end: int) -> None:
        """Write a property by a computed key."""
        resolved = self.key(key, start, end)
        for name in resolved.names:
            self.set(owner, name, value, start, end)
        if resolved.hidden and any(self.may_judge(atom) for atom in owner) and _runs(value):
            note = "text that may run is written by a name that the payload decodes itself"
            self.report("dynamic-key", 1, start, end, None, note)
        if resolved.numeric or resolved.unknown:
            for atom in owner:
                self._set_dynamic(
                    atom,
                    value,
                    start,
                    end,
                    numeric=not (resolved.unknown or (resolved.elsewhere and type(atom) is Known)),
                )

    def _set_on(self, atom: Atom, name: str, value: Value, start: int, end: int) -> None:
        if name == "@@species":
            self.use(value, Flow.CALLBACK, start, end)  # array methods construct it
        if name == "__proto__" and not isinstance(atom, Host):
            self.report("__proto__", 0, start, end, atom, "`__proto__` is written")
        if isinstance(atom, HeapObject):
            self._set_on_object(atom, name, value, start, end)
        elif type(atom) is Known:
            self._set_on_known(atom, name, value, start, end)
        elif atom is SELECTED:
            if self.strict or name in _SHARED_NAMES:
                self.polluted.append((start, end))
        elif atom is SELECTED_PROTOTYPE:
            self.polluted.append((start, end))
        elif atom is HIDDEN or atom is HELD:
            self.hold((value,))
        elif type(atom) is not str and type(atom) is not Primitive:
            if name == "prepareStackTrace":
                self.report("call-sites", 0, start, end, atom, "`prepareStackTrace` is written")
            kind = "value" if name in ATTRIBUTE_VALUES else self.catalogue.unknown_sinks.get(name)
            if kind is not None:
                self.sink(kind, value, start, end, certain=False)
            if name.startswith("on"):
                self.call_handler(value, start, of(atom))
            if name in _CALLS:
                self.expect_calls()
            elif name == "constructor":
                self.judge_constructor(value)
            if atom is DATA:
                self.expect_functions(value)
            texts = self.hold((value,))
            if texts:
                self.put(self.patches, f"unknown.{name}", texts)
            self.leak(value, Flow.PROPERTY, start, end)

    def _set_on_object(self, target: HeapObject, name: str, value: Value, start: int, end: int) -> None:
        target.readers[self.reader] = None  # a setter may come later
        if target.escaped and not (target.owners and not self.strict):  # a prototype's methods escape as such
            self.leak(value, Flow.RETURN, start, end)
        if target.kind == "proxy":
            self._set_through_proxy(target, of(name), value, start, end)
        if name in target.setters:
            self.call(target.setters[name], of(target), (value,), start, end)
            return
        for parent in target.prototype:
            self._inherited_setter(parent, target, name, value, start, end)
        if target.kind in {"array", "arguments"} and is_index(name):
            # What is appended by an instruction that has run before is appended in a loop: who knows how often.
            room = len(target.items) + (not self.rerunning)
            if len(name) <= 5 and int(name) < room <= MAX_ITEMS:  # noqa: PLR2004 - digits of MAX_ITEMS
                self.put_item(target, int(name), value)
            else:
                self.inexact(target)
                self.put_element(target, value)
            if target.kind == "arguments":
                self.put_element(target, value)
            return
        if target.kind == "array" and name == "length":
            self.inexact(target)
        if name not in target.properties:
            target.uncertain.add(name)
        self.put(target, name, value)

    def _set_through_proxy(self, proxy: HeapObject, key: Value, value: Value, start: int, end: int) -> None:
        """Write through a proxy: to what it stands for, and to its ``set`` trap."""
        inner = proxy.properties.get("@@target", frozenset())
        handler = proxy.properties.get("@@handler", frozenset())
        self.set_computed(frozenset(a for a in inner if a is not proxy), key, value, start, end)
        self.call(self.get(handler, "set", start, end), handler, (inner, key, value, of(proxy)), start, end)

    def judge_inherited(self, target: HeapObject, name: str, value: Value, start: int, end: int) -> None:
        """Judge a write of a property that an object of the host has from its built-in prototype."""
        for parent in target.prototype:
            if type(parent) is Known:
                self._inherited_setter(parent, target, name, value, start, end)

    def _inherited_setter(
        self, parent: Atom, target: HeapObject, name: str, value: Value, start: int, end: int
    ) -> None:
        for _ in range(16):
            if type(parent) is Known:
                kind = self.catalogue.get(parent.path).sinks.get(name)
                if kind is not None:
                    self.sink(kind, value, start, end)
            if not isinstance(parent, HeapObject):
                return
            parent.readers[self.reader] = None
            if name in parent.setters:
                self.call(parent.setters[name], of(target), (value,), start, end)
                return
            above = sorted(parent.prototype, key=lambda atom: isinstance(atom, HeapObject), reverse=True)
            if not above:
                return
            parent = above[0]

    def set_through_super(
        self, above: Value, this: Value, key: Value, value: Value, start: int, end: int
    ) -> None:
        """Write ``super.key``: a setter above is called with ``this``, which else gets the property itself."""
        resolved = self.key(key, start, end)
        for atom in this:
            if not isinstance(atom, HeapObject):
                self.set_computed(of(atom), key, value, start, end)
                continue
            for name in resolved.names:
                for parent in above:
                    self._inherited_setter(parent, atom, name, value, start, end)
                self.put(atom, name, value)
            if resolved.unknown or resolved.numeric:
                for parent in above:
                    if isinstance(parent, HeapObject):
                        for setter in parent.setters.values():
                            self.call(setter, of(atom), (value,), start, end)
                self._set_dynamic(atom, value, start, end, numeric=not resolved.unknown)

    def _set_on_known(self, atom: Known, name: str, value: Value, start: int, end: int) -> None:
        entry = self.catalogue.get(atom.path)
        if name == "prepareStackTrace":
            self.report("call-sites", 0, start, end, atom, "`prepareStackTrace` is written")
            return
        if atom.path.endswith(".prototype") or atom is ELEMENT_PROTOTYPE:
            self.report("prototype-tampering", 0, start, end, atom, f"`{atom.path}` is written")
            return
        member = entry.members.get(name)
        if member is not None and member.label in OFF_BY_DEFAULT_LABELS:
            self.report(member.label, 0, start, end, atom, f"`{name}` of `{atom.path}` is written")
        if (
            atom.label is not None
            and atom.path != "globalThis"
            and (atom.path, name) != ("module", "exports")
        ):
            self.report(atom.label, 0, start, end, atom, f"`{atom.path}` is written")
            return
        if atom.path == "globalThis":
            self.use(value, Flow.GLOBAL, start, end)
            self.put(self.global_object, name, value)
            register = self.lowered.global_registers.get(name)
            if register is not None:
                self.write(register, value)
        if atom.path == "location":
            self.report("navigation", 4, start, end, None, "the page is left")
        if name in ATTRIBUTE_VALUES:
            self.sink("value", value, start, end)
        kind = entry.sinks.get(name) or self.catalogue.get(entry.prototype).sinks.get(name)
        this = BOTTOM if atom.path == "globalThis" else of(atom)
        if kind is not None:
            self.sink(kind, value, start, end, this=this)
        elif name.startswith("on"):
            self.use(value, Flow.CALLBACK, start, end)
            self.call_handler(value, start, this)
        elif (
            self.catalogue.is_standard(atom.path, name)
            or atom.path != "globalThis"
            or (member is not None and not member.result.startswith("@"))
        ):
            self.put(self.patches, f"{atom.path}.{name}", value)  # read back wherever the payload reads it
        if member is not None and member.result == "text":
            texts = self.strings(value, start, end)
            self.put(self.patches, f"{atom.path}.{name}", texts)
            self.hold((texts,))
        self.leak(value, Flow.PROPERTY if atom.path != "globalThis" else Flow.GLOBAL, start, end)

    def _set_dynamic(self, atom: Atom, value: Value, start: int, end: int, *, numeric: bool) -> None:
        if isinstance(atom, HeapObject):
            atom.readers[self.reader] = None
            if atom.escaped:
                self.leak(value, Flow.RETURN, start, end)
            for setter in atom.setters.values():
                self.call(setter, of(atom), (value,), start, end)
            if atom.kind == "proxy":
                self._set_through_proxy(atom, of(ANY_STRING), value, start, end)
            if atom.kind == "array":
                self.inexact(atom)
                if not numeric:
                    self.put(atom, "@@names", V_STRING)
            if atom.kind != "array" or (not numeric and self._holds_function(value)):
                self.extend(atom)
            self.put_element(atom, value)
            return
        if atom is HIDDEN or atom is HELD:
            return
        if atom is SELECTED or atom is SELECTED_PROTOTYPE:
            self.polluted.append((start, end))
            return
        if not numeric:
            self.unresolved(atom, start, end)
            self.expect_calls()
            if not value.isdisjoint(MAYBE_CONSTRUCTORS):
                self.put(self.patches, "@@selected", V_UNDEFINED)  # `constructor`, perhaps
        if atom is DATA:
            self.expect_functions(value)
        if type(atom) is Known:
            self._set_dynamic_on_known(atom, start, end, numeric=numeric)
        self.leak(value, Flow.PROPERTY, start, end)

    @staticmethod
    def _holds_function(value: Value) -> bool:
        """Whether a function is among the values: under an unknown key it may be what the language calls."""
        return any(atom.callable if isinstance(atom, HeapObject) else type(atom) is Known for atom in value)

    def _set_dynamic_on_known(self, atom: Known, start: int, end: int, *, numeric: bool) -> None:
        entry = self.catalogue.get(atom.path)
        if numeric or entry.unresolved == "harmless":
            return
        if entry.unresolved == "dynamic-key" or atom.path.endswith("prototype") or entry.callable:
            label = "dynamic-key" if entry.unresolved == "dynamic-key" else "prototype-tampering"
            self.report(
                label, 1, start, end, atom, f"`{atom.path}` is written by a key that cannot be resolved"
            )
        elif entry.sinks or self.catalogue.get(entry.prototype).sinks:
            self.report(
                "dynamic-key", 1, start, end, atom, "a sink may be written by a key that cannot be resolved"
            )
