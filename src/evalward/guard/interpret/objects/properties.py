"""Property reads by a known name: own properties, prototypes, accessors, proxies (ECMA-262 §7.3.2, §10.1.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.catalogue.any_receiver import TIMERS
from evalward.guard.constructs import proto
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_SYMBOL,
    BOTTOM,
    NULL,
    TAINTED_DATA,
    UNDEFINED,
    UNKNOWN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    known,
    number,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.named_lists import is_named_list
from evalward.guard.domain.slots import (
    ANY_OWN_SYMBOL,
    CONSTRUCTOR,
    FUNCTION_NAME,
    MAY_HAVE_FOREIGN_CONSTRUCTOR,
    MAY_HAVE_OWN_CALL,
    PRIVATE_PREFIX,
    PROXY_HANDLER,
    PROXY_TARGET,
    REGISTERED_PREFIX,
    SYMBOL_PREFIX,
    SYMBOL_SPECIES,
)
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.intrinsics import PRIMITIVE_PROTOTYPES, PROTOTYPES
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.objects.catalogued import Catalogued
    from evalward.guard.interpret.objects.prototypes import Prototypes
    from evalward.guard.interpret.objects.unknown_owners import UnknownOwners
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_MAX_TRAPS = 6
_INDEX_DIGITS = 10  # no array has as many items
_PLAIN = frozenset({"object", "array"})  # without a prototype of the payload's
_CALLS = frozenset({"call", "apply", "bind"})
# Properties that link an object to its class; a host that gets the object does not change them.
_OF_CLASSES = {"constructor": {"object"}, "prototype": {"function", "class"}}


class Properties:
    """Reads of properties."""

    def __init__(
        self,
        state: RunState,
        prototypes: Prototypes,
        catalogued: Catalogued,
        unknown_owners: UnknownOwners,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._findings = state.findings
        self._strict = state.surroundings.strict
        self._prototypes = prototypes
        self._catalogued = catalogued
        self._unknown_owners = unknown_owners
        self._machine = machine
        # Nested calls of traps: a handler may be a proxy, and inherit from its own proxy.
        self._traps = 0
        self._in_custom_element = False

    def get(self, owner: Value, name: str, span: Span) -> Value:
        """Return a read by a known name (ECMA-262 §7.3.2)."""
        dataflow = self._dataflow
        count = len(owner)
        dataflow.steps += count
        if dataflow.steps > dataflow.budget:
            dataflow.spend(0)
        if count == 1:
            (atom,) = owner
            if name != "__proto__":
                if type(atom) is HeapObject:
                    return self._get_from_object(atom, name, owner, span) or V_UNDEFINED
                if type(atom) is Known and name[:3] != PRIVATE_PREFIX:
                    return self.get_from(atom, name, owner, span) or V_UNDEFINED
            if atom is UNDEFINED or atom is NULL:
                return BOTTOM
            return self.get_from(atom, name, owner, span) or V_UNDEFINED
        # Joined once: joining as many values one by one takes the square of the time.
        found: set[Atom] = set()
        for atom in owner:
            if atom is not UNDEFINED and atom is not NULL:
                found |= self.get_from(atom, name, of(atom), span) or V_UNDEFINED
        return join(BOTTOM, frozenset(found))

    def get_from(self, atom: Atom, name: str, this: Value, span: Span) -> Value:
        """Return one atom's property, BOTTOM when it has none."""
        if type(atom) is Known and name != "__proto__" and name[:3] != PRIVATE_PREFIX:
            found = self._catalogued.get_from_known(atom, name, span) | self._of_payload(atom, name, span)
            return found | this if name == SYMBOL_SPECIES else found  # an accessor that gives its receiver
        if name == "__proto__" and not (isinstance(atom, HeapObject) and name in atom.properties):
            self._findings.report(proto.LABEL, Rank.USED, span, atom, "`__proto__` is read")
            return self._prototypes.get_prototype_of(atom)
        if isinstance(atom, HeapObject):
            return self._get_from_object(atom, name, this, span)
        if name.startswith(PRIVATE_PREFIX):  # `super()` may have returned an object of the host
            return self._get_private(name, this, span)
        if type(atom) is str:
            return self._get_from_string(atom, name, span)
        if type(atom) is Primitive:
            if atom.type == "symbol" and name == "description":
                return self._description(atom.text)
            return self._catalogued.get_builtin(PRIMITIVE_PROTOTYPES.get(atom.type, ""), name, span)
        return self._unknown_owners.get_from_unknown(atom, name, span) | self._of_payload(atom, name, span)

    def _get_private(self, name: str, this: Value, span: Span) -> Value:
        """Return a private member that an object did not get from its class: the class may have given it to any."""
        private = self._store.private
        private.readers[self._dataflow.reader] = None
        result = private.properties.get(name, BOTTOM)
        if name in private.getters:
            result = join(result, self._machine.call(private.getters[name], this, (), span))
        return result

    def _of_payload(self, atom: Atom, name: str, span: Span) -> Value:
        """Return what an object of the host has from the payload: a definition on it, or the class of an element."""
        found = self._exposure.defined_on(atom, name)
        elements = self._exposure.custom_elements(atom)
        if not elements or self._in_custom_element:  # a class of elements inherits from an object of the host
            return found
        self._in_custom_element = True
        try:
            return found | self.get(elements, name, span)
        finally:
            self._in_custom_element = False

    @staticmethod
    def _description(text: str) -> Value:
        if text == ANY_OWN_SYMBOL:
            return join(V_ANY_STRING, V_UNDEFINED)
        if text == REGISTERED_PREFIX:
            return join(of(""), V_UNDEFINED)
        return of(text[3:] if text.startswith(REGISTERED_PREFIX) else f"Symbol.{text[2:]}")

    def _get_from_string(self, atom: str, name: str, span: Span) -> Value:
        if name == "length":
            return number(len(atom)).value if atom.isascii() else V_ANY_NUMBER
        if is_index(name):
            if not atom.isascii() or len(name) > 6:  # noqa: PLR2004 - longer than any string that is followed
                return V_ANY_STRING
            return of(atom[int(name)]) if int(name) < len(atom) else V_UNDEFINED
        return self._catalogued.get_builtin("String.prototype", name, span)

    def _get_from_object(self, target: HeapObject, name: str, this: Value, span: Span) -> Value:
        """Join the reads along every branch of the prototype chain (OrdinaryGet, ECMA-262 §10.1.8.1)."""
        dataflow = self._dataflow
        if not (target.escaped or target.extensible or target.getters or target.kind == "proxy"):
            own = target.properties.get(name)
            if own is not None:
                if name != "name" and name not in target.uncertain:
                    dataflow.steps += 1
                    target.readers[dataflow.reader] = None
                    return own
            elif (
                not target.prototype
                and name != "name"
                and (kind := target.kind) in _PLAIN
                and name[:3] != PRIVATE_PREFIX
            ):
                dataflow.steps += 1
                target.readers[dataflow.reader] = None
                if kind == "array" and (name == "length" or is_index(name)):
                    return self._own(target, name, this, span)[0]
                return self._catalogued.get_builtin(PROTOTYPES[kind], name, span)
        result: Value = BOTTOM
        pending, seen, absent = [target], {target}, False
        while pending:
            current = pending.pop()
            dataflow.steps += 1
            current.readers[dataflow.reader] = None
            if current.escaped and not self._is_intact(current, name, span):
                result = join(result, of(UNKNOWN))
            elif current.escaped and name == "constructor":
                result = join(result, self._patches.read(CONSTRUCTOR))
            found, certain = self._own(current, name, this, span)
            result = join(result, found)
            if certain:
                continue
            if not current.prototype:
                builtin = self._catalogued.get_builtin(
                    PROTOTYPES.get(current.kind, "Object.prototype"), name, span
                )
                result = join(result, builtin)
                absent = absent or not builtin
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    inherited = self.get_from(parent, name, this, span) if parent is not NULL else BOTTOM
                    result = join(result, inherited)
                    absent = absent or not inherited
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        if absent and name[:3] == PRIVATE_PREFIX:
            return join(result, self._get_private(name, this, span))
        return join(result, V_UNDEFINED) if absent and result else result

    def _get_from_proxy(self, proxy: HeapObject, name: str, this: Value, span: Span) -> Value:
        """Return a read from the target and what the ``get`` trap gives (ECMA-262 §10.5.8)."""
        proxies, wrapped = proxy.proxies()
        key = of(ANY_SYMBOL if name.startswith(SYMBOL_PREFIX) else name)
        with self._dataflow.nested():
            self._dataflow.spend(len(proxies))
            found = self.get(wrapped, name, span)
            for each in proxies:
                receiver = this if each is proxy else this | of(each)
                found = join(found, self.call_trap(each, "get", (key, receiver), span))
        return found

    def call_trap(self, proxy: HeapObject, trap: str, args: tuple[Value, ...], span: Span) -> Value:
        """Return what a trap of a proxy's handler gives, BOTTOM when the handler has none (ECMA-262 §10.5)."""
        if self._traps >= _MAX_TRAPS:
            return of(UNKNOWN)
        proxy.readers[self._dataflow.reader] = None
        inner = proxy.properties.get(PROXY_TARGET, BOTTOM)
        result: Value = BOTTOM
        self._traps += 1
        try:
            for atom in proxy.properties.get(PROXY_HANDLER, BOTTOM):
                if isinstance(atom, HeapObject):
                    function = self.get(of(atom), trap, span)
                    result = join(result, self._machine.call(function, of(atom), (inner, *args), span))
        finally:
            self._traps -= 1
        return result

    def _is_intact(self, target: HeapObject, name: str, span: Span) -> bool:
        """Whether a host that holds the object cannot change a member: private names, the methods of containers."""
        if name.startswith(PRIVATE_PREFIX):
            return True
        kinds = _OF_CLASSES.get(name)
        if kinds is not None and target.kind in kinds and not self._strict:
            return not self._patches.has(MAY_HAVE_FOREIGN_CONSTRUCTOR)
        if name in _CALLS and target.callable:
            return not self._patches.has(MAY_HAVE_OWN_CALL)
        contained = target.kind not in {"object", "function", "class", "proxy"}
        return contained and bool(self._catalogued.get_builtin(PROTOTYPES.get(target.kind, ""), name, span))

    def _own(self, target: HeapObject, name: str, this: Value, span: Span) -> tuple[Value, bool]:
        """Return an object's own property, and whether the object certainly has it (ECMA-262 §10.1.5)."""
        result: Value = target.elements if target.extensible else BOTTOM
        certain = False
        if name in TIMERS and TAINTED_DATA in result:  # a copy of what may be a window
            result = join(result, of(known(name)))
        if is_named_list(target):
            result = join(result, self._unknown_owners.get_from_list(name, span))
        if target.kind == "proxy" and PROXY_TARGET in target.properties and name[:3] != PRIVATE_PREFIX:
            return join(result, self._get_from_proxy(target, name, this, span)), False
        if name in target.getters:
            result = join(result, self._machine.call(target.getters[name], this, (), span))
            certain = name not in target.uncertain
        if name in target.properties:
            result = join(result, target.properties[name])
            certain = name not in target.uncertain
            if name == "name" and FUNCTION_NAME in target.properties:
                result, certain = join(result, target.properties[FUNCTION_NAME]), True
        elif name == "prototype" and target.kind == "function":
            named = frozenset(atom for atom in result if isinstance(atom, (HeapObject, Known, Host)))
            constructs = target.unit is None or not (target.unit.arrow or target.unit.method)
            absent = BOTTOM if constructs else V_UNDEFINED
            return named | absent | of(self._prototypes.prototype_object(target)), True
        elif target.kind in {"array", "arguments"}:
            if name == "length":
                length = number(len(target.items)).value if target.exact else V_ANY_NUMBER
                return (length | V_UNDEFINED if name in target.uncertain else length), True  # of `arguments`
            if is_index(name):
                result = join(result, target.elements)
                if len(name) < _INDEX_DIGITS and int(name) < len(target.items):
                    result = join(result, target.items[int(name)] if target.exact else target.contents())
                if target.prototype and not result:
                    return BOTTOM, False  # a hole, which reads the prototype
                result = join(result, V_UNDEFINED) if not target.exact else result or V_UNDEFINED
                return result, not target.prototype
        elif name in target.getters:
            pass  # its own accessor replaces the built-in property of a function or class
        elif name == "name" and target.unit is not None and target.kind == "function":
            computed = target.properties.get(FUNCTION_NAME, BOTTOM) | V_ANY_STRING
            text = of(target.unit.name) if target.unit.name else computed
            return (join(text, of("")) if name in target.uncertain else text), True
        elif name == "name" and FUNCTION_NAME in target.properties:
            text = target.properties[FUNCTION_NAME]
            return (join(text, of("")) if name in target.uncertain else text), True
        elif name == "length" and target.kind == "function" and target.unit is not None:
            return V_ANY_NUMBER, True
        return result, certain
